"""Dagster wiring and the command line."""
