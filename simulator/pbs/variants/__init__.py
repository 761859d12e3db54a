"""PBS that begins with what ran and waited."""
