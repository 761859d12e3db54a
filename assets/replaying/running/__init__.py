"""How one replay of a log is made: its settings, way, run and rows."""
