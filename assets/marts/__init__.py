"""Assets `marts/...`: what people read: figures of the real system, verdicts, the report."""
