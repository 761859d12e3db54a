"""The replay engines."""
