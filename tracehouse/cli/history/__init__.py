"""Commands about what a log says of the past."""
