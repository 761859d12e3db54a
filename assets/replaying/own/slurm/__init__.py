"""Replays of a log under the Slurm that its cluster's description is of."""
