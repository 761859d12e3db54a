"""RLScheduler (Zhang et al., SC 2020): the rules of its code, its tables and figures."""
