"""Policies that learn to order the queue: training, search, imitation, and what they are compared with."""
