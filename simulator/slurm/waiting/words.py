"""What keeps jobs, in words, and as Slurm's own reasons."""

from __future__ import annotations

from simulator.slurm.waiting import ahead, kept, missing

_RESOURCE, _FACTOR = kept.FIRST_RESOURCE, kept.FIRST_FACTOR
KEPT_WORDS = {
    _RESOURCE + missing.CORES: "cores are missing",
    _RESOURCE + missing.MEMORY: "memory is missing",
    _RESOURCE + missing.GPUS: "GPUs are missing",
    _RESOURCE + missing.WHOLE_NODES: "whole nodes are missing",
    _RESOURCE + missing.FRAGMENTS: "enough in sum, but on no node",
    kept.NODES_AWAY: "nodes are down or drained",
    _FACTOR + ahead.AGE: "behind older jobs (age)",
    _FACTOR + ahead.FAIR_SHARE: "behind jobs of a better fair share",
    _FACTOR + ahead.JOB_SIZE: "behind jobs of a better size",
    _FACTOR + ahead.PARTITION: "behind jobs of a better partition",
    _FACTOR + ahead.QOS: "behind jobs of a better QOS",
    _FACTOR + ahead.OTHER: "behind jobs preferred by hand or account",
    _FACTOR + ahead.EARLIER: "behind jobs submitted earlier",
    kept.SHARED_NODES: "nodes are kept for another partition's job",
    kept.LIMIT: "a limit",
    kept.ARRAY_LIMIT: "the tasks of its array at a time",
    kept.LICENCES: "licences are missing",
    kept.RESERVATION: "a reservation",
    kept.DEPENDENCY: "a job that it depends on",
    kept.BEGIN_TIME: "not to start yet: a time, a hold or a dependency",
    kept.HELD: "held by hand",
    kept.PACE: "the scheduler's pace",
    kept.UNKNOWN: "could have started, no rule that is known",
}
"""In the order of the tables of `tracehouse why`."""
KEPT_NAMES = {
    _RESOURCE + missing.CORES: "cores",
    _RESOURCE + missing.MEMORY: "memory",
    _RESOURCE + missing.GPUS: "gpus",
    _RESOURCE + missing.WHOLE_NODES: "whole_nodes",
    _RESOURCE + missing.FRAGMENTS: "fragments",
    kept.NODES_AWAY: "nodes_away",
    _FACTOR + ahead.AGE: "behind_age",
    _FACTOR + ahead.FAIR_SHARE: "behind_fair_share",
    _FACTOR + ahead.JOB_SIZE: "behind_size",
    _FACTOR + ahead.PARTITION: "behind_partition",
    _FACTOR + ahead.QOS: "behind_qos",
    _FACTOR + ahead.OTHER: "behind_other",
    _FACTOR + ahead.EARLIER: "behind_earlier",
    kept.SHARED_NODES: "shared_nodes",
    kept.LIMIT: "limit",
    kept.ARRAY_LIMIT: "array_limit",
    kept.LICENCES: "licences",
    kept.RESERVATION: "reservation",
    kept.DEPENDENCY: "dependency",
    kept.BEGIN_TIME: "begin_time",
    kept.HELD: "held",
    kept.PACE: "pace",
    kept.UNKNOWN: "unknown",
}
"""As columns."""
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
