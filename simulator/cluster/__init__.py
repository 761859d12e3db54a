"""A described cluster, and what jobs ask of it, as arrays that compiled code takes."""
