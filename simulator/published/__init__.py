"""The replay rules of other codes, for their published tables."""
