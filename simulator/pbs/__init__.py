"""PBS as it decides: the cycle of its scheduler over queues, limits, shares, nodes and reservations."""
