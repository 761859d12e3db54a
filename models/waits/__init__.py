"""How long jobs wait, and which wall time to request."""
