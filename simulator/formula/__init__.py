"""Scheduling priorities given as text."""
