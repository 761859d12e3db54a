"""Neural Simulated Annealing (Lan et al. 2023): its protocol, training, tables and figures. The annealer is in models/allocation/neural."""
