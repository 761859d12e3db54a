"""The source's own PBS as a way to replay."""
