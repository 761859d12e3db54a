"""Scheduling policies: names, scores, networks and plug-ins."""
