"""A cluster as data, whichever scheduler runs it."""
