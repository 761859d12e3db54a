"""Preemption: running jobs that make room for jobs of a better QOS or partition. Rules: docs/reference/slurm.md, "Preemption"."""

from __future__ import annotations

import numpy as np

from simulator.cluster.requests import NOT_GIVEN
from simulator.compiled import referring, referring_apart
from simulator.slurm.nodes.selection import choose_nodes
from simulator.slurm.nodes.suspended import CANCEL, OFF, REQUEUE, SUSPEND
from simulator.slurm.nodes.usable import copy_free
from simulator.slurm.settings import requeues_jobs
from simulator.slurm.starting import hold
from simulator.slurm.state import Preemption
from traces.cluster.accounts import ServiceQuality
from traces.cluster.description import ClusterDescription, Partition, SchedulerSettings

NOBODY, BY_QOS, BY_PARTITION = range(3)
"""Whose jobs may preempt others."""
REQUEUE_DELAY = 121
"""Seconds from which on a job that was requeued may start again."""
_MODES = {"requeue": REQUEUE, "cancel": CANCEL, "suspend": SUSPEND}


def preemption_of(cluster: ClusterDescription, num_jobs: int) -> Preemption:
    """The rules of a cluster, before anybody was preempted."""
    values = cluster.scheduler.values
    kind = {"preempt/qos": BY_QOS, "preempt/partition_prio": BY_PARTITION}.get(_text(values.get("preempttype")), NOBODY)
    common = _mode(cluster.scheduler)
    by_qos = kind == BY_QOS
    parts: list[tuple[int, ServiceQuality | Partition]]
    names = [quality.name for quality in cluster.qualities]
    preempts = np.array(
        [[other in quality.preempts for other in names] for quality in cluster.qualities], dtype=np.bool_
    ).reshape(len(names), len(names))
    if by_qos:
        parts = [(quality.priority, quality) for quality in cluster.qualities]
    else:
        parts = [(partition.tier, partition) for partition in cluster.queues]
    if not requeues_jobs(cluster.scheduler):  # jobs that cannot be requeued are cancelled
        common = CANCEL if common == REQUEUE else common
    modes = [
        _MODES.get(_text(one.preempt_mode).split(",")[0], OFF)
        if _text(one.preempt_mode) not in ("", "cluster")
        else common
        for _, one in parts
    ]
    if by_qos:
        modes = [OFF if mode == SUSPEND else mode for mode in modes]
    return Preemption(
        kind=np.array([kind]),
        preempts=preempts,
        rank=np.array([rank for rank, _ in parts], dtype=np.int64),
        mode=np.array(modes, dtype=np.int64),
        grace_s=np.array([one.grace_s for _, one in parts], dtype=np.int64),
        exempt_s=np.array([max(int(float(values.get("preemptexempttime", 0))), 0)]),
        youngest_first=np.array([int(_text(values.get("preempt_youngest_first", "no")) not in ("no", "0", "false"))]),
        length=np.zeros(1, dtype=np.int64),
        victims=np.zeros(num_jobs, dtype=np.int64),
        doomed=np.zeros(num_jobs, dtype=np.bool_),
        released=np.zeros(num_jobs, dtype=np.bool_),
        candidates=np.zeros(num_jobs, dtype=np.int64),
        suspends=np.array([int(kind == BY_PARTITION and SUSPEND in modes)]),
        suspended=np.full(num_jobs, NOT_GIVEN, dtype=np.int64),
        num_suspended=np.zeros(1, dtype=np.int64),
    )


def unmodelled_preemption(scheduler: SchedulerSettings) -> str:
    """The mode of preemption that this replay does not know, "" where there is none: suspension by QOS."""
    mode, by = _text(scheduler.values.get("preemptmode")), _text(scheduler.values.get("preempttype"))
    return mode if "suspend" in mode and by == "preempt/qos" else ""


def _mode(scheduler: SchedulerSettings) -> int:
    words = _text(scheduler.values.get("preemptmode")).split(",")
    return next((_MODES[word] for word in words if word in _MODES), OFF)


def _text(value: object) -> str:
    return "" if value is None else str(value).lower()


@referring_apart
def preempt_for(engine, job, partition, now):
    """Preempts running jobs so that this one fits on the allowed nodes. Returns the number of its nodes, with them in the scratch, 0
    where that does not help.

    Candidates are taken away in the order of their rank, then of their starts, until the job fits. The last one taken is then tried
    first, which spares others. Those go that are on the chosen nodes. Jobs that go already are taken away before all others.
    """
    rules = engine.preemption
    if not may_preempt(engine, job, partition):
        return 0
    candidates = rules.candidates
    count = _candidates(engine, job, partition, now, candidates)
    taken, chosen = _take_away(engine, job, partition, candidates, count)
    if chosen == 0:
        return 0
    last = candidates[taken - 1]
    for k in range(taken - 1, 0, -1):
        candidates[k] = candidates[k - 1]
    candidates[0] = last
    taken, chosen = _take_away(engine, job, partition, candidates, taken)
    for k in range(taken):
        victim = candidates[k]
        if not rules.doomed[victim] and _is_on(engine, victim, chosen):
            rules.victims[rules.length[0]] = victim
            rules.length[0] += 1
            rules.doomed[victim] = True
    return chosen


@referring
def may_preempt(engine, job, partition):
    """Whether there are QOS or partitions whose jobs the job may preempt."""
    rules = engine.preemption
    mine = engine.jobs.qos[job] if rules.kind[0] == BY_QOS else partition
    if rules.kind[0] == NOBODY or mine < 0:
        return False
    may = False
    for group in range(len(rules.mode)):
        goes = rules.mode[group] == REQUEUE or rules.mode[group] == CANCEL
        may = may or (goes and _is_below(rules, group, mine))
    return may


@referring
def _is_below(rules, group, mine):
    """Whether jobs of a group may be preempted by mine."""
    if rules.kind[0] == BY_QOS:
        return rules.preempts[mine, group]
    return rules.rank[mine] > rules.rank[group]


@referring_apart
def release_candidates(engine, trial, job, partition, now):
    """Gives back in the trial what all jobs hold that this one may preempt, and marks them. Returns how many there are."""
    rules = engine.preemption
    for k in range(engine.running.length[0]):
        rules.released[engine.running.job[k]] = False
    count = _candidates(engine, job, partition, now, rules.candidates)
    for k in range(count):
        hold(engine, trial, rules.candidates[k], -1)
        rules.released[rules.candidates[k]] = True
    return count


@referring
def group_of(engine, job):
    """The QOS or the partition of a running job."""
    if engine.preemption.kind[0] == BY_QOS:
        return engine.jobs.qos[job]
    return engine.running.partition[job]


@referring
def _candidates(engine, job, partition, now, candidates):
    """Fills in the running jobs that the job may preempt, in the order in which they are taken. Returns how many."""
    rules, running = engine.preemption, engine.running
    mine = engine.jobs.qos[job] if rules.kind[0] == BY_QOS else partition
    count = 0
    for k in range(running.length[0]):
        other = running.job[k]
        group = group_of(engine, other)
        if mine < 0 or group < 0 or rules.mode[group] == OFF or rules.mode[group] == SUSPEND:
            continue
        if now - running.start[other] < rules.exempt_s[0]:
            continue
        if not _is_below(rules, group, mine):
            continue
        place = count
        while place > 0 and _goes_first(engine, other, candidates[place - 1]):
            candidates[place] = candidates[place - 1]
            place -= 1
        candidates[place] = other
        count += 1
    return count


@referring
def _goes_first(engine, job, other):
    rules, running = engine.preemption, engine.running
    if rules.doomed[job] != rules.doomed[other]:
        return rules.doomed[job]
    mine, theirs = rules.rank[group_of(engine, job)], rules.rank[group_of(engine, other)]
    if mine != theirs:
        return mine < theirs
    if rules.youngest_first[0] > 0:
        return running.start[job] > running.start[other]
    return running.start[job] < running.start[other]


@referring
def _take_away(engine, job, partition, candidates, count):
    """Takes candidates away until the job fits. Returns how many, and the number of nodes that the job gets, 0 for never."""
    trial, free = engine.scratch.trial, engine.free
    copy_free(free, trial)
    for k in range(count):
        hold(engine, trial, candidates[k], -1)
        chosen = choose_nodes(engine, trial, job, partition)
        if chosen > 0:
            return k + 1, chosen
    return count, 0


@referring
def _is_on(engine, job, chosen):
    """Whether a running job has one of the first `chosen` nodes of the scratch."""
    running, scratch = engine.running, engine.scratch
    for row in range(running.first[job], running.first[job] + running.nodes[job]):
        for k in range(chosen):
            if running.node[row] == scratch.chosen[k]:
                return True
    return False
