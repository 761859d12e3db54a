"""Group `ingest`: log files into raw tables and canonical jobs."""
