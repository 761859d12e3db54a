"""The assets: `GROUP/NAME` is defined in `GROUP/NAME.py`, each read, call, write, describe."""
