"""Replays of a source under given settings, and as its own Slurm or PBS would run it: what `assets/replay` and the commands call."""
