"""Which nodes a job may have, and when: what it can use on each, how they are chosen, plans and reservations."""
