"""Assets `experiments/...`: held-out comparisons, and what papers share; they run on request."""
