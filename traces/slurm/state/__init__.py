"""What Slurm says of a moment: fair shares, priorities of waiting jobs, and how long its cycles take."""
