"""Changes of cluster and jobs that a what-if replay may ask for."""
