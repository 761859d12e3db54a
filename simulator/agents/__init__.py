"""Many windows of a trace at once, for learners and sweeps."""
