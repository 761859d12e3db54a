"""Assets `core/...`: one row a job, whatever the format of the log."""
