"""Warm starts: what ran, who waited and what accounts had used when a replay begins. Rules: docs/reference/slurm.md, "Warm start"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.requests import Requests, joined_requests
from simulator.compiled import referring
from simulator.jobs.cluster import HeldNodes
from simulator.slurm.clockwork import BEGIN, PERIOD_DUE, Replay
from simulator.slurm.limits import CPUS, GPUS, JOBS, MEMORY, NODES, TIME, USED, count_submitted, limits_of
from simulator.slurm.loop import note_end
from simulator.slurm.nodes.selection import choose_now, reset_weights
from simulator.slurm.priority import PriorityRules, add_usage
from simulator.slurm.starting import begin_job
from simulator.slurm.state import Limits
from traces.cluster.description import ClusterDescription

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
_PER_CPU, _PER_GPU = 1, 2
_OF_JOB, _OF_TASK = 1, 2
"""Places in MEMORY_PER and in GPUS_PER."""


class RanBefore(NamedTuple):
    """Jobs that had started before a replay begins, the running ones among them: what accounts have used. start, end: seconds, int64
    (jobs,). cpus: those that each held in all, int64 (jobs,)."""

    requests: Requests
    start: IntArray
    end: IntArray
    cpus: IntArray


@dataclass(frozen=True)
class WarmStart:
    """What a replay begins with beside `Cluster.running`. requests, nodes: of those jobs, in their order. past: None where nothing
    depends on what was used."""

    requests: Requests
    nodes: HeldNodes
    past: RanBefore | None = None


def begin_warm(
    replay: Replay, cluster: ClusterDescription, gpu_types: tuple[str, ...], warm: WarmStart, start: IntArray
) -> int:
    """Puts the running jobs, which are the first of the replay, on their nodes, and counts what was used. gpu_types: of the
    cluster's arrays. start: of the running jobs, seconds. Returns how many found no room, and hold nothing."""
    homeless = int(place_running(replay, warm.nodes, start))
    if warm.past is not None:
        _count_usage(replay, warm.past)
        if (replay.engine.limits.counts == USED).any():
            together = joined_requests(replay.engine.jobs, warm.past.requests)
            _count_past(replay, limits_of(cluster, together, gpu_types), warm.past)
    if replay.engine.site.settings.basic == 0:
        replay.clock[PERIOD_DUE] = replay.clock[BEGIN]  # factors of fair share, by what was used
    return homeless


@referring
def place_running(replay, held, start):
    """The first jobs begin to run, on the nodes that they hold, or on those that the scheduler chooses. Returns how many found no room."""
    engine, scratch = replay.engine, replay.engine.scratch
    homeless = 0
    for job in range(len(start)):
        partition = engine.jobs.partitions[job, 0]
        chosen = _known_nodes(engine, held, job)
        if chosen == 0:
            nodes, featured = (
                engine.site.partition_nodes[partition],
                engine.site.feature_nodes[engine.jobs.features[job]],
            )
            for node in range(len(scratch.allowed)):
                scratch.allowed[node] = nodes[node] & featured[node]
            reset_weights(engine, partition)
            chosen = choose_now(engine, job, partition)
        if chosen == 0:
            engine.running.start[job] = start[job]
            homeless += 1
            continue
        begin_job(engine, job, partition, chosen, start[job])
        count_submitted(engine, job, 1)
        note_end(replay, job)
    return homeless


@referring
def _known_nodes(engine, held, job):
    """Lays the nodes that a job holds down in the scratch. Returns how many, 0 where they are not known or have no room."""
    rows = held.first[job + 1] - held.first[job]
    if rows > engine.running.first[job + 1] - engine.running.first[job]:
        return 0
    for k in range(rows):
        row = held.first[job] + k
        if held.cpus[row] > engine.free.cpus[held.node[row]]:
            return 0
        engine.scratch.chosen[k] = held.node[row]
        engine.scratch.cpus[k] = held.cpus[row]
    return rows


def _count_usage(replay: Replay, past: RanBefore) -> None:
    """What accounts and users have used, with decay."""
    fair, member, begin_s = replay.fair, past.requests.member, int(replay.clock[BEGIN])
    seconds = decayed_seconds(past.start, np.minimum(past.end, begin_s), begin_s, replay.rules.half_life)
    used = billed_before(replay, replay.rules, past) * seconds
    is_member = member >= 0
    owner = member[is_member] + fair.num_accounts
    totals = np.bincount(owner, used[is_member], minlength=len(fair.usage))
    for node in np.flatnonzero(totals):
        add_usage(fair.usage, fair.parent, node, totals[node])


def decayed_seconds(start: IntArray, end: IntArray, now: int, half_life_s: float) -> FloatArray:
    """The seconds from start to end as they count now, float64, of the same shape."""
    if half_life_s <= 0:
        return (end - start).astype(np.float64)
    rate = -np.log(1.0 - 0.693 / half_life_s)
    return (np.exp(-rate * (now - end)) - np.exp(-rate * (now - start))) / rate


def billed_before(replay: Replay, rules: PriorityRules, past: RanBefore) -> FloatArray:
    """What each job was billed for a second, float64 (jobs,)."""
    asked, fair = past.requests, replay.fair
    amounts = np.column_stack([past.cpus, _memory_of(past), asked.min_nodes, _gpus_of(asked)])
    parts = fair.billing[asked.partitions[:, 0]] * amounts
    billed = parts.max(axis=1) if rules.bills_largest else parts.sum(axis=1)
    factor = np.append(fair.qos_usage, 1.0)[asked.qos]  # without a QOS the last one
    return billed * factor


def _memory_of(past: RanBefore) -> IntArray:
    """Memory of each job on all its nodes, MiB."""
    asked = past.requests
    gpus = _gpus_of(asked)[:, -1]
    times = np.select([asked.memory_per == _PER_CPU, asked.memory_per == _PER_GPU], [past.cpus, gpus], asked.min_nodes)
    return asked.memory * times


def _gpus_of(asked: Requests) -> IntArray:
    """GPUs of each job by type on all its nodes, in the last column all of them, int64 (jobs, types + 1)."""
    nodes = asked.min_nodes
    by_task = -(-asked.tasks // nodes)[:, None] * asked.gpus
    by_job = -(-asked.gpus // nodes[:, None])
    kinds = asked.gpus_per[:, None]
    return np.select([kinds == _OF_JOB, kinds == _OF_TASK], [by_job, by_task], asked.gpus) * nodes[:, None]


def _count_past(replay: Replay, slots: Limits, past: RanBefore) -> None:
    """What jobs that have ended leave in limits on used time, with decay. slots: those of the jobs of the replay, then of the past."""
    limits, begin_s = replay.engine.limits, int(replay.clock[BEGIN])
    gpus, replayed = _gpus_of(past.requests), len(replay.engine.jobs.submit)
    amounts = {
        JOBS: np.ones(len(past.start)),
        NODES: past.requests.min_nodes,
        CPUS: past.cpus,
        MEMORY: _memory_of(past),
    }
    amounts |= {TIME: past.requests.limit, GPUS: gpus[:, -1]}
    amounts |= {GPUS + 1 + k: gpus[:, k] for k in range(gpus.shape[1] - 1)}
    left = decayed_share(begin_s - past.end, replay.rules.half_life)
    for job in np.flatnonzero(past.end <= begin_s):
        for slot in slots.slot[slots.first[replayed + job] : slots.first[replayed + job + 1]]:
            if slot < len(limits.past) and limits.counts[slot] == USED:
                held = amounts[int(limits.resource[slot])][job]
                limits.past[slot] += held * (past.end[job] - past.start[job]) * left[job]


def decayed_share(age_s: IntArray, half_life_s: float) -> FloatArray:
    """What is left of use of this age, float64, of the same shape."""
    return np.ones(len(age_s)) if half_life_s <= 0 else (1.0 - 0.693 / half_life_s) ** np.maximum(age_s, 0)
