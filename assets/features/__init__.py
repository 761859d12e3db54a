"""Assets `features/...`: what was known of a job when it was submitted."""
