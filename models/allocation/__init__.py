"""Nodes for the jobs of one window: the problem, its exact optimum, and the annealing of Neural Simulated Annealing."""
