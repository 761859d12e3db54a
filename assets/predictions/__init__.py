"""Assets `predictions/...`: models of run times and remaining times, and predicted waits."""
