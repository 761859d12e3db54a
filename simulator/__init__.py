"""The replay engine: jobs, priorities, backfilling, metrics and recorded trajectories. Compiled with numba."""
