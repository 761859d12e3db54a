"""Several what-if replays of one source from a small file, each compared with a base."""
