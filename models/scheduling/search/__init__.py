"""Programs that order a queue, searched on whole replays."""
