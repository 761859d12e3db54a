"""What is fast, and how we know. `make bench` runs everything; docs/results/benchmarks.md says what came out."""
