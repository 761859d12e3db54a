"""What learns: run-time models and scheduling policies. Knows neither Dagster nor DuckDB."""
