"""Group `experiments`: tables of the papers and held-out comparisons; they run on request."""
