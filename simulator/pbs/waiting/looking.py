"""What keeps the jobs of a queue at a moment, by the rules of PBS's own pass. Rules: docs/reference/pbs.md, "A pass".

A look goes down the queue in PBS's order as a pass does, with its plans for top jobs, but nothing starts. Of every job it says the first
thing that keeps it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import referring, referring_apart
from simulator.jobs.waits import KeptCodes, keep_waiting
from simulator.pbs.cycle import gets_plan, has_place, may_start_pbs, plan_group
from simulator.pbs.limiting import is_within
from simulator.pbs.occurrences import latest_end
from simulator.pbs.placing import copy_load, find_nodes, find_rows
from simulator.pbs.preempting import set_levels
from simulator.pbs.queueing import (
    add_request,
    count_running,
    forget_requests,
    goes_first_by_share,
    keep_eligible_time,
    score_queue,
    sort_pbs_queue,
)
from simulator.pbs.state import UNSET

IntArray = NDArray[np.int64]
PBS_KEPT = (
    *("cores", "memory", "gpus", "licences", "whole_nodes", "fragments"),
    *("behind_partition", "behind_age", "behind_fair_share", "behind_earlier", "behind_other"),
    *("limit", "array_limit", "reservation", "closed_hours", "begin_time", "pace", "unknown"),
)
"""What keeps a job: cores, memory, GPUs or another resource are missing, jobs want nodes for themselves, or there is enough in sum only.
It is behind a job with a plan that comes first by its queue, its age in the formula, its share, its submission, or otherwise. Pace and
unknown: nothing keeps it, for a while, and longer than PBS takes."""
CORES, MEMORY, GPUS, OTHER_RESOURCE, WHOLE_NODES, FRAGMENTS = range(6)
BY_QUEUE, BY_AGE, BY_SHARE, BY_SUBMISSION, BY_OTHER = range(6, 11)
LIMIT, ARRAY_LIMIT, RESERVATION, CLOSED_HOURS, BEGIN_TIME, PACE, UNKNOWN = range(11, 18)
PBS_CODES = KeptCodes(LIMIT, PACE, UNKNOWN)
_PLENTY = 1 << 50
"""More of a resource than any job asks for."""


class PbsWaits(NamedTuple):
    """What kept each job, with the columns of simulator.jobs.waits. of_ask, ask_other: what keeps jobs of the same request in a pass.
    of_array: the first task of an array that a pass has looked at. counts: jobs that started where they have no room."""

    seconds: IntArray  # (jobs, kinds)
    kept: IntArray  # (jobs,)
    since: IntArray  # (jobs,)
    fits_since: IntArray  # (jobs,)
    other: IntArray  # (jobs, 2)
    longest: IntArray  # (jobs, 2)
    slot: IntArray  # (jobs,)
    of_ask: IntArray  # (asks,)
    ask_other: IntArray  # (asks,)
    of_array: IntArray  # (arrays,)
    resource: IntArray  # (resources,), which of PBS_KEPT the lack of each is
    counts: IntArray  # (1,)


@referring_apart
def look_at_pbs_queue(engine, waits, now):
    """Says of every waiting job what keeps it, down the queue as a pass goes."""
    queue, settings, tops, scratch = engine.waiting, engine.settings, engine.tops, engine.scratch
    scratch.search[1] += 1
    tops.length[0] = 0
    for group in range(len(tops.left)):
        tops.left[group] = tops.depth[group]
    has_shares, has_levels = settings.fair_share > 0, len(engine.soft.bound) > 0
    if has_shares:
        count_running(engine, now)
    if has_levels:
        set_levels(engine)
    score_queue(engine, now)
    sort_pbs_queue(engine, 0)
    stopped = UNSET
    for k in range(queue.length[0]):
        job = queue.pending[k]
        kept, other = _keeps(engine, waits, job, stopped, now)
        keep_waiting(waits, job, kept, other, waits.since[job], PBS_CODES)
        group = plan_group(tops, engine.jobs, job)
        if stopped >= 0 or kept in (PACE, CLOSED_HOURS) or settings.strict == 0 or queue.hopeless[job]:
            continue
        if settings.depth == 0 and tops.depth[group] <= 0:
            stopped = job
        elif has_place(engine, job) and gets_plan(engine, job, now) and has_shares:
            add_request(engine, job)
            sort_pbs_queue(engine, k + 1)
    if has_shares:
        forget_requests(engine)


@referring
def _keeps(engine, waits, job, stopped, now):
    """What keeps a job, and the other job or the slot of the limit. stopped: the job at which the pass has ended, UNSET for none."""
    jobs, scratch, site, limits = engine.jobs, engine.scratch, engine.site, engine.limits
    array, ask, span = jobs.array[job], jobs.ask[job], (now, now + jobs.wall[job])
    if stopped >= 0:
        return _ahead(engine, stopped, job), stopped
    if not may_start_pbs(engine, job, now):
        return (RESERVATION if engine.asks.reservation[ask] >= 0 else CLOSED_HOURS), UNSET
    if array >= 0:
        if scratch.array_failed[array] == scratch.search[1]:
            first = waits.of_array[array]
            return waits.kept[first], waits.slot[first] if waits.kept[first] == LIMIT else waits.other[first, 0]
        if 0 < jobs.array_limit[job] <= engine.running.of_array[array]:
            return ARRAY_LIMIT, UNSET
    is_limited = not is_within(limits, engine.tops, limits.used, job, span)
    keep_eligible_time(engine.waiting, job, is_limited, now)
    kept, other = PACE, UNSET
    missing = _missing_in_all(engine, waits, ask)
    if missing != PACE:
        kept = missing
    elif is_limited:
        kept, other = _over(engine, job, span)
    elif jobs.level[job] > 0 and span[1] > latest_end(site, jobs.queue[job], now):
        return CLOSED_HOURS, UNSET
    elif scratch.failed_in[ask] == scratch.search[1] and scratch.failed_wall[ask] <= jobs.wall[job]:
        kept, other = waits.of_ask[ask], waits.ask_other[ask]
        if other >= 0:
            kept = _ahead(engine, other, job)
    elif find_rows(engine, engine.load, job, span) == 0:
        kept, other = _lacks(engine, waits, job, span)
        scratch.failed_in[ask] = scratch.search[1]
        scratch.failed_wall[ask] = jobs.wall[job]
        waits.of_ask[ask], waits.ask_other[ask] = kept, other
    if kept != PACE and array >= 0:
        scratch.array_failed[array] = scratch.search[1]
        waits.of_array[array] = job
    return kept, other


@referring
def _missing_in_all(engine, waits, ask):
    """The first resource of which all nodes together have too little now, PACE for none. PBS looks at it before limits and nodes."""
    asks, load = engine.asks, engine.load
    if asks.reservation[ask] < 0:
        for kind in range(asks.total.shape[1]):
            if asks.total[ask, kind] > load.total[kind]:
                return waits.resource[kind]
    return PACE


@referring
def _over(engine, job, span):
    """The limit that keeps a job, or the job whose plan fills it."""
    limits, tops = engine.limits, engine.tops
    for entry in range(limits.first[job], limits.first[job + 1]):
        slot = limits.slot[entry]
        if limits.used[slot] + limits.amount[entry] > limits.bound[slot]:
            return LIMIT, slot
    for entry in range(limits.first[job], limits.first[job + 1]):
        slot = limits.slot[entry]
        for top in range(tops.length[0]):
            if span[0] < tops.start[top] < span[1] and tops.used[top, slot] + limits.amount[entry] > limits.bound[slot]:
                return _ahead(engine, tops.job[top], job), tops.job[top]
    return PACE, UNSET


@referring
def _lacks(engine, waits, job, span):
    """Why a job finds no nodes now: it would take those of a plan or of a reservation, or a resource is missing."""
    site, asks, tops, load, trial = engine.site, engine.asks, engine.tops, engine.load, engine.scratch.trial
    ask, plans = engine.jobs.ask[job], tops.length[0]
    if plans > 0:
        tops.length[0] = 0
        rows = find_rows(engine, load, job, span)
        tops.length[0] = plans
        if rows > 0:
            for top in range(plans):
                if span[0] < tops.start[top] < span[1]:
                    return _ahead(engine, tops.job[top], job), tops.job[top]
    tops.length[0] = 0
    kept = FRAGMENTS
    first = site.reservation_first[0]
    if first < len(site.reservation_times):
        site.reservation_first[0] = len(site.reservation_times)
        if find_rows(engine, load, job, span) > 0:
            kept = RESERVATION
        site.reservation_first[0] = first
    kinds = asks.total.shape[1]
    for kind in range(kinds, -1, -1):
        if kept == FRAGMENTS and kind != 0:
            copy_load(load, trial)
            for node in range(len(trial.jobs)):
                if kind == kinds:
                    trial.jobs[node] = 0
                else:
                    trial.free[node, kind] = _PLENTY
            if find_nodes(site, asks, tops, engine.scratch, trial, ask, span) > 0:
                kept = WHOLE_NODES if kind == kinds else waits.resource[kind]
    tops.length[0] = plans
    return kept, UNSET


@referring
def _ahead(engine, first, second):
    """By what the first job comes before the second one."""
    jobs, queue = engine.jobs, engine.waiting
    if jobs.level[first] != jobs.level[second] or jobs.turn[first] != jobs.turn[second]:
        return BY_QUEUE
    is_earlier = jobs.submit[first] <= jobs.submit[second]
    if queue.score[first] != queue.score[second]:
        if jobs.priorities[first, 0] > jobs.priorities[second, 0]:
            return BY_QUEUE
        return BY_AGE if is_earlier else BY_OTHER
    if (
        engine.settings.fair_share > 0
        and goes_first_by_share(engine.shares, jobs.entity[first], jobs.entity[second]) != 0
    ):
        return BY_SHARE
    return BY_SUBMISSION if is_earlier else BY_OTHER
