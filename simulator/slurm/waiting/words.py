"""What keeps jobs, in words, and as Slurm's own reasons."""

from __future__ import annotations

from simulator.slurm.waiting import ahead, kept, missing

KEPT_WORDS = {
    kept.DEPENDENCY: "another job that it depends on",
    kept.BEGIN_TIME: "not to start before a time",
    kept.HELD: "held",
    kept.ARRAY_LIMIT: "tasks of its array at a time",
    kept.LIMIT: "a limit",
    kept.LICENCES: "licences",
    kept.RESERVATION: "a reservation",
    kept.NODES_AWAY: "nodes down or drained",
    kept.SHARED_NODES: "nodes kept for a job of another partition",
    kept.PACE: "the scheduler's pace",
    kept.UNKNOWN: "no rule that is known",
    kept.FIRST_RESOURCE + missing.MEMORY: "memory",
    kept.FIRST_RESOURCE + missing.GPUS: "GPUs",
    kept.FIRST_RESOURCE + missing.WHOLE_NODES: "whole nodes",
    kept.FIRST_RESOURCE + missing.FRAGMENTS: "enough in sum, but not on the nodes",
    kept.FIRST_RESOURCE + missing.CORES: "cores",
    kept.FIRST_FACTOR + ahead.AGE: "priority: age",
    kept.FIRST_FACTOR + ahead.FAIR_SHARE: "priority: fair share",
    kept.FIRST_FACTOR + ahead.JOB_SIZE: "priority: job size",
    kept.FIRST_FACTOR + ahead.PARTITION: "priority: partition",
    kept.FIRST_FACTOR + ahead.QOS: "priority: QOS",
    kept.FIRST_FACTOR + ahead.OTHER: "priority: by hand or by account",
    kept.FIRST_FACTOR + ahead.EARLIER: "priority: submitted earlier",
}
"""In the order of the tables of `tracehouse why`."""
_LIMITS = ("Assoc", "QOS", "MaxJobs", "PartitionTimeLimit")
_AWAY = ("Nodes required for job are DOWN", "ReqNodeNotAvail", "Resources")
SLURM_REASONS: dict[int, tuple[str, ...]] = {
    kept.DEPENDENCY: ("Dependency",),
    kept.BEGIN_TIME: ("BeginTime",),
    kept.HELD: ("JobHeld",),
    kept.ARRAY_LIMIT: ("JobArrayTaskLimit",),
    kept.LIMIT: _LIMITS,
    kept.LICENCES: ("Licenses",),
    kept.RESERVATION: ("Reservation", "ReqNodeNotAvail, Reserved"),
    kept.NODES_AWAY: _AWAY,
    kept.SHARED_NODES: ("Nodes required for job are DOWN", "Resources", "Priority"),
    kept.PACE: ("Resources",),
    kept.UNKNOWN: ("Resources",),
    **{kept.FIRST_RESOURCE + k: ("Resources",) for k in range(missing.CORES + 1)},
    **{kept.FIRST_FACTOR + k: ("Priority",) for k in range(ahead.EARLIER + 1)},
}
"""How squeue's reasons begin for what keeps a job."""
