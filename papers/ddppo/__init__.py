"""Decentralised PPO for scheduling (Sgambati et al. 2025): policies of large logs, judged on others."""
