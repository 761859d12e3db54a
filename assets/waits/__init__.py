"""When jobs start that wait, or would be submitted: replays of queues by the site of a source, and how good they are."""
