"""What other people's tools read: files of jobs and schedules, a read-only copy of the warehouse, figures for Prometheus."""
