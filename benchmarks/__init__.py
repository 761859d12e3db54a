"""What is fast, and how we know. `make bench` runs everything; docs/benchmarks.md says what came out."""
