"""Rules that held jobs back, found in the log of a cluster whose configuration is lost. See docs/guides/identification.md."""
