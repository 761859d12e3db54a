"""The commands: `tracehouse NAME` is in `NAME.py`."""
