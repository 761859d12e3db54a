"""Neural Simulated Annealing (Lan et al., 2023): a network that repairs assignments, its training, and the search that uses it."""
