"""Replays in which limits and gates hold jobs back: by user, account, group, queue or all jobs, and by hour."""
