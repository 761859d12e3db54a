"""How long jobs wait, predicted from the state of the machine, and which wall time to request."""
