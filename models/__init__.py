"""What learns: run-time models and scheduling policies. Knows neither Dagster nor DuckDB."""


class NothingToLearn(ValueError):
    """There are too few examples to learn from. The message says how many there are, and what is needed."""
