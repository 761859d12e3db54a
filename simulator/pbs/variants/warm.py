"""Warm starts: what ran, who waited and what had been used when a replay begins. Rules: docs/reference/pbs.md, "Warm start"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import referring
from simulator.jobs.cluster import FOREVER, Cluster, HeldNodes
from simulator.pbs.coming import is_eligible, take_next
from simulator.pbs.loop import change_reservation, note_starts
from simulator.pbs.placing import find_nodes
from simulator.pbs.queueing import ASKED_EVERY_S, NEXT_DECAY, join_pbs_queue, pbs_share_tree, usage_rate
from simulator.pbs.requests import PbsJob
from simulator.pbs.starting import find_known_nodes, start_pbs_job
from simulator.pbs.state import (
    EVENTS,
    HELD,
    IS_QUIET,
    LAST_PASS,
    NEXT_SUBMIT,
    NOW,
    STAGE,
    PbsReplay,
)
from traces.cluster.description import ClusterDescription

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class PbsPast:
    """Jobs that had ended before a replay begins. start, end: seconds, int64 (jobs,)."""

    asked: Sequence[PbsJob]
    start: IntArray
    end: IntArray


@dataclass(frozen=True)
class PbsWarmStart:
    """What a replay begins with beside `Cluster.running`. asked, nodes: of those jobs, in their order.

    past: whose usage counts for fair share, None where there is none. eligible_s: int64 (waiting jobs,), eligible time of those that wait
    when it begins, None for all time since they could start."""

    asked: Sequence[PbsJob]
    nodes: HeldNodes
    past: PbsPast | None = None
    eligible_s: IntArray | None = None


def begin_pbs_warm(
    replay: PbsReplay,
    description: ClusterDescription,
    asked: Sequence[PbsJob],
    warm: PbsWarmStart,
    begins: tuple[Cluster, int],
) -> tuple[PbsReplay, int]:
    """The replay with the running jobs, which are its first ones, on their nodes, and with the waiting ones in the queue. The first pass is
    in the second of the beginning, of what comes or goes then, else without an event. Returns also how many running jobs found no room,
    and hold nothing. asked: of all jobs of the replay. begins: what runs and how many wait, and the second."""
    cluster, begin_s = begins
    count = len(warm.asked)
    order = replay.order[replay.order >= count]
    is_here = (order < count + cluster.waiting) & (replay.arrival[order] <= begin_s)
    room = replay.clock[NEXT_SUBMIT]
    replay = replay._replace(order=np.concatenate([replay.order[:room], order[is_here], order[~is_here]]))
    weights = np.array([node.weight for node in description.nodes])
    in_order = np.argsort(np.argsort(weights, kind="stable"))  # where a node of the description is in PBS's order
    held = warm.nodes._replace(node=in_order[warm.nodes.node].astype(np.int64))
    start = np.ascontiguousarray(cluster.running.start)
    by_start = np.lexsort((replay.engine.jobs.number[:count], start))
    homeless = int(_begin(replay, held, start, by_start, int(is_here.sum()), begin_s))
    if warm.eligible_s is not None:
        waiting = slice(count, count + cluster.waiting)
        queue, joined = replay.engine.waiting, replay.engine.waiting.since[waiting] >= 0
        queue.eligible[waiting] = np.where(joined, warm.eligible_s, 0)
        queue.since[waiting] = np.where(joined, begin_s, queue.since[waiting])
    if replay.engine.settings.fair_share:
        replay = _with_usage(replay, description, asked, warm, (start, cluster.waiting, begin_s))
    return replay, homeless


@referring
def _begin(replay, held, start, by_start, here, begin):
    """Puts running jobs on their nodes in the order `by_start`, and the first `here` of those that come in the queue. Returns how many
    running jobs found no room."""
    engine, clock = replay.engine, replay.clock
    while change_reservation(replay, begin - 1):
        pass
    homeless = 0
    for job in by_start:
        now, ask = start[job], engine.jobs.ask[job]
        engine.scratch.search[2] = now  # a later reservation of its nodes leaves it there
        rows = find_known_nodes(engine, held, job, now)
        if rows == 0 and held.first[job] < held.first[job + 1]:
            rows = find_nodes(engine.site, engine.asks, engine.tops, engine.scratch, engine.load, ask, (now, now + 1))
        if rows == 0:
            engine.running.start[job] = start[job]
            replay.first_start[job] = start[job]
            replay.finished[job] = start[job] + replay.runtime[job]
            homeless += 1
        else:
            start_pbs_job(engine, job, rows, start[job])
    note_starts(replay)
    for _ in range(here):
        job = replay.order[clock[NEXT_SUBMIT]]
        take_next(replay)
        if is_eligible(replay, job):
            engine.waiting.since[job] = replay.arrival[job]
            join_pbs_queue(engine, job, 0)
        else:
            replay.held[clock[HELD]] = job
            clock[HELD] += 1
    clock[LAST_PASS] = begin - engine.settings.iteration
    clock[NOW], clock[STAGE], clock[IS_QUIET] = begin, EVENTS, 1
    return homeless


def _with_usage(
    replay: PbsReplay,
    description: ClusterDescription,
    asked: Sequence[PbsJob],
    warm: PbsWarmStart,
    begins: tuple[IntArray, int, int],
) -> PbsReplay:
    """The replay with what was used before, as passes after submissions and ends have counted it. asked: of all its jobs. begins: starts of
    the running jobs, how many jobs wait, and the second of the beginning."""
    engine, count = replay.engine, len(warm.asked)
    start, waiting, begin_s = begins
    settings, past = engine.settings, warm.past or PbsPast((), start[:0], start[:0])
    here = [*past.asked, *asked[: count + waiting]]
    came = [max(one.submit_s, one.begin_s) for one in here if not (one.held or one.dependencies)]
    events = np.unique(np.concatenate([np.array(came, dtype=np.int64), past.end]))
    passes = _Passes(events[events < begin_s], settings.iteration)
    entity_of = {name: k for k, name in enumerate(dict.fromkeys(one.user for one in (*asked, *past.asked)))}
    next_decay = int(engine.shares.clock[NEXT_DECAY])
    shares = pbs_share_tree(description, list(entity_of), len(asked), next_decay)
    if not len(passes.events):
        return replay._replace(engine=engine._replace(shares=shares))
    resource = str(description.scheduler.values.get("fairshare_usage_res", "cput"))
    entity = np.array([entity_of[one.user] for one in (*past.asked, *warm.asked)], dtype=np.int64)
    rate = np.array([usage_rate(resource, one) for one in (*past.asked, *warm.asked)])
    started = np.concatenate([past.start, start])
    last = int(passes.before(np.array([begin_s]))[0])
    until = np.concatenate([passes.before(past.end), np.full(count, last)])

    def counted_by(second: int) -> IntArray:
        """Seconds of each job that were known by then."""
        seen = np.minimum(until, second) - settings.poll_phase
        return np.maximum(seen // ASKED_EVERY_S * ASKED_EVERY_S + settings.poll_phase - started, 0)

    def add(seconds: IntArray) -> None:
        for places in shares.path[entity].T:
            is_there = places >= 0
            np.add.at(shares.usage, places[is_there], (seconds * rate)[is_there])

    oldest = int(started.min(initial=begin_s))
    decay = next_decay - max((next_decay - oldest) // settings.decay_time, 0) * settings.decay_time
    before = np.zeros(len(started), dtype=np.int64)
    while (at := passes.after(decay)) <= last:
        used = counted_by(at)
        add(used - before)
        shares.usage[:] = np.maximum(1.0, shares.usage * settings.decay_factor)
        before, decay = used, decay + settings.decay_time
    used = counted_by(last)
    add(used - before)
    shares.counted[:count] = start + used[len(past.asked) :]
    shares.clock[NEXT_DECAY] = decay
    return replay._replace(engine=engine._replace(shares=shares))


@dataclass(frozen=True)
class _Passes:
    """The passes before a replay: one after each event, and one whenever none has come for long. events: their seconds, ascending."""

    events: IntArray
    iteration_s: int

    def before(self, second: IntArray) -> IntArray:
        """The last pass before each of these seconds."""
        event = self.events[np.maximum(np.searchsorted(self.events, second) - 1, 0)]
        return event + np.maximum(second - 1 - event, 0) // self.iteration_s * self.iteration_s

    def after(self, second: int) -> int:
        """The first pass in or after a second."""
        place = int(np.searchsorted(self.events, second, side="right"))
        later = int(self.events[place]) if place < len(self.events) else FOREVER
        if place == 0:
            return later
        event = int(self.events[place - 1])
        return min(later, event - (event - second) // self.iteration_s * self.iteration_s)
