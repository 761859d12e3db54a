"""Group `replay`: replays of a source under given settings."""
