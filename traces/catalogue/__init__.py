"""The catalogue of sources."""
