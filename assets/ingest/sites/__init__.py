"""Logs of the bundled clusters."""
