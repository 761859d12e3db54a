"""Why jobs wait under Slurm: what keeps each of them, from a schedule that is given."""
