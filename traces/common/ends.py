"""How jobs end: the values of `core.jobs.status`, whatever the scheduler calls them."""

END_STATES = {
    "completed": "completed",
    "failed": "failed",
    "timeout": "timed out",
    "out_of_memory": "ran out of memory",
    "node_failure": "node failed",
    "preempted": "preempted",
    "requeued": "requeued",
    "deadline": "missed their deadline",
    "cancelled": "cancelled",
    "unknown": "unknown",
}
"""Every end, in the order of reports, and its words."""
FAULTS = ("failed", "timeout", "out_of_memory", "node_failure", "preempted", "requeued", "deadline")
"""Ends of jobs that neither completed nor were cancelled by somebody."""
