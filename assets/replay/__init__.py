"""Assets `replay/...`: replays of a source under given settings, and policies replayed on jobs that no training has seen."""
