"""Group `predictions`: features, run-time models and predicted waits."""
