"""A key that orders a queue, searched on whole replays."""
