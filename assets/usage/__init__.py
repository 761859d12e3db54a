"""What happened on the real system: figures that commands and pages read, and drawings of `marts/operations`."""
