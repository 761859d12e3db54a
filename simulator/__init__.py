"""The replay engine: jobs, priorities, EASY backfilling, metrics and recorded trajectories. Compiled with numba."""
