"""Protocols of published experiments: which windows, which jobs, which rules."""
