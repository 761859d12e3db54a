"""What all assets share: partitions, storage, the trace of a source, descriptions for the UI."""
