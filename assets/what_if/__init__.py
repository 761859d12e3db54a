"""Group `what_if`: replays of a source under given settings."""
