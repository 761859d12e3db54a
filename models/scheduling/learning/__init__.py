"""The ways of learning a scheduling policy."""
