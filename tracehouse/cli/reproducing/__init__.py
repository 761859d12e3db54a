"""The command `tracehouse reproduce`: the tables of the papers, by name."""
