"""What commands take: sources, names, lengths of time, shares, files."""
