"""Slurm accounting (`sacct`)."""
