"""Rules of a cluster, from its log."""
