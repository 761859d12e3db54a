"""RLSchert: schedulers that learn to select jobs, and to kill them, in a cluster whose run times are predicted while they run."""
