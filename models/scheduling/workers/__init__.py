"""Learning on many workers at once: decentralised distributed PPO, and population-based training."""
