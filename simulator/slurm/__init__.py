"""Slurm as it decides: the main scheduler, the backfill cycle, priorities, limits and reservations, over nodes."""
