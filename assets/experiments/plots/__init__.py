"""Pictures of the experiments, apart from their assets."""
