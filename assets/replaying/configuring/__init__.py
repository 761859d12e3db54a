"""What a what-if replay may ask of the cluster and its jobs."""
