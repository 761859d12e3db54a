"""What keeps jobs, in words, and as Slurm's own reasons."""

from __future__ import annotations

from typing import NamedTuple

from simulator.slurm.waiting import ahead, kept, missing

_RESOURCE, _FACTOR = kept.FIRST_RESOURCE, kept.FIRST_FACTOR
_DOWN = "Nodes required for job are DOWN"
_LIMITS = ("Assoc", "QOS", "MaxJobs", "PartitionTimeLimit")


class Cause(NamedTuple):
    """name: as a column. words: as tables print it. reasons: how squeue's reasons begin that mean it, none for what Slurm
    does not have."""

    name: str
    words: str
    reasons: tuple[str, ...]


CAUSES: dict[int, Cause] = {
    _RESOURCE + missing.CORES: Cause("cores", "cores are missing", ("Resources",)),
    _RESOURCE + missing.MEMORY: Cause("memory", "memory is missing", ("Resources",)),
    _RESOURCE + missing.GPUS: Cause("gpus", "GPUs are missing", ("Resources",)),
    _RESOURCE + missing.WHOLE_NODES: Cause("whole_nodes", "whole nodes are missing", ("Resources",)),
    _RESOURCE + missing.FRAGMENTS: Cause("fragments", "enough in sum, but on no node", ("Resources",)),
    kept.NODES_AWAY: Cause("nodes_away", "nodes are down or drained", (_DOWN, "ReqNodeNotAvail", "Resources")),
    _FACTOR + ahead.AGE: Cause("behind_age", "behind older jobs (age)", ("Priority",)),
    _FACTOR + ahead.FAIR_SHARE: Cause("behind_fair_share", "behind jobs of a better fair share", ("Priority",)),
    _FACTOR + ahead.JOB_SIZE: Cause("behind_size", "behind jobs of a better size", ("Priority",)),
    _FACTOR + ahead.PARTITION: Cause("behind_partition", "behind jobs of a better partition", ("Priority",)),
    _FACTOR + ahead.QOS: Cause("behind_qos", "behind jobs of a better QOS", ("Priority",)),
    _FACTOR + ahead.OTHER: Cause("behind_other", "behind jobs preferred by hand, account or formula", ("Priority",)),
    _FACTOR + ahead.EARLIER: Cause("behind_earlier", "behind jobs submitted earlier", ("Priority",)),
    kept.SHARED_NODES: Cause(
        "shared_nodes", "nodes are kept for another partition's job", (_DOWN, "Resources", "Priority")
    ),
    kept.LIMIT: Cause("limit", "a limit", _LIMITS),
    kept.ARRAY_LIMIT: Cause("array_limit", "the tasks of its array at a time", ("JobArrayTaskLimit",)),
    kept.LICENCES: Cause("licences", "licences are missing", ("Licenses",)),
    kept.RESERVATION: Cause("reservation", "a reservation", ("Reservation", "ReqNodeNotAvail, Reserved")),
    kept.CLOSED_HOURS: Cause("closed_hours", "hours in which it may not start", ()),
    kept.DEPENDENCY: Cause("dependency", "a job that it depends on", ("Dependency",)),
    kept.BEGIN_TIME: Cause("begin_time", "not to start yet: a time, a hold or a dependency", ("BeginTime",)),
    kept.HELD: Cause("held", "held by hand", ("JobHeld",)),
    kept.PACE: Cause("pace", "the scheduler's pace", ("Resources",)),
    kept.UNKNOWN: Cause("unknown", "could have started, no rule that is known", ("Resources",)),
}
"""By what keeps a job, in the order of the tables of `tracehouse why`."""
CAUSE_WORDS = {cause.name: cause.words for cause in CAUSES.values()}
