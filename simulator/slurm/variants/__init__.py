"""Replays under Slurm that begin on the way, or in which an order of ours takes the place of its priority."""
