"""Limits, hours, reservations and absences of a described cluster in replays by an order."""
