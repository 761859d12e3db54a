"""Standard Workload Format."""
