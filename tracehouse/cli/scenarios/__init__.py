"""The command `tracehouse what-if`."""
