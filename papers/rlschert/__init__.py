"""RLSchert (Guo et al. 2021): its cluster of slots, its schedulers that learn when to kill, and its tables and figures."""
