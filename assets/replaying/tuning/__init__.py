"""Which settings of a cluster serve its users better: a search by whole replays, confirmed on later jobs."""
