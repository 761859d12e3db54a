"""SchedInspector (Zhang et al., HPDC 2022): inspectors by its own rules and by ours. Its event loop is that of papers/rlscheduler."""
