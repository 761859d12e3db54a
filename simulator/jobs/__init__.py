"""Jobs, cluster and schedule: what goes into a replay and what comes out."""
