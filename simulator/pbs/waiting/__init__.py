"""Why jobs wait under PBS: what keeps each of them, from a schedule that is given."""
