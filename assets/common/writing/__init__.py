"""What users asked for, as files."""
