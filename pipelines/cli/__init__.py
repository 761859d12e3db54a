"""The command line, `tracehouse`."""
