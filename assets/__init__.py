"""The assets: one module per stage, each read, call, write, describe."""
