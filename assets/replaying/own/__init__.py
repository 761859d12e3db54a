"""Replays of a log under its cluster's own scheduler: Slurm or PBS, as the cluster's description has it."""
