"""Faults on purpose, and what is left after them. `python -m benchmarks.faults` prints the tables of docs/explanation/testing.md."""
