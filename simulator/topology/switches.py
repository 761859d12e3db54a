"""Replays in which jobs wait for a compact place, as Slurm's `--switches=N@WAIT` has it: docs/reference/semantics.md.

The event loop in which jobs wait for few switches: docs/reference/semantics.md, "Waiting for few switches".

The steps are those of the general engine (simulator/engine/general.py), but for the pass: before a job starts, the loop looks where the
rule `tree` would put it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import inlined, lean
from simulator.engine import episode as at
from simulator.engine.episode import DONE, GO_ON, NO_BACKFILL, RESERVE, STUCK, new_episode
from simulator.engine.events import (
    announce_outages,
    begin_replay,
    cancel_jobs,
    correct_estimates,
    end_jobs,
    leave_queue,
    needs_pass,
    next_event,
    plan_outages,
    start_outages,
    submit_jobs,
)
from simulator.engine.plan import plan_fits_now
from simulator.engine.replay import OrderReplayer, check_outcome, rules_for, scoring_of
from simulator.engine.starting import (
    best_candidate,
    close_gaps,
    find_candidates,
    kept_for_head,
    order_queue,
    start_job,
)
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.jobs.tasks import tasks_of
from simulator.jobs.words import parse_duration
from simulator.policies.registry import parse_policy
from simulator.policies.scoring import ASKED_CHOICE, ASKED_SCORES, FIXED
from simulator.replayer import BY_ORDER, Outcome
from simulator.topology.choosing import Units, all_idle, choose_tree
from simulator.topology.placement import check_run_times, placement_of
from simulator.topology.walk import (
    BEGUN,
    WalkTimes,
    begin_outage,
    give_owed,
    give_written,
    new_walk,
    note_idle,
    take_back,
)

IntArray = NDArray[np.int64]


class SwitchWaits(NamedTuple):
    """Who waits for few switches."""

    leaves: int  # as few as a job waits for
    wait_s: int
    least: IntArray  # (tasks,), leaves on the empty machine
    since: IntArray  # (tasks,), second at which a job was put off for the first time, -1 for never
    looked: IntArray  # (tasks,), the last pass in which a job was put off
    passes: IntArray  # (1,), passes so far


@lean
def advance_with_switches(tasks, rules, scoring, episode, placing, waits):
    """Goes on until the replay is done, and returns why it stops (simulator/engine/episode.py). placing: `Units`, `Idle` and `Walk`."""
    counters = episode.counters
    begin_replay(tasks, rules, scoring, episode)
    for task in range(tasks.first):
        hold_units(placing, tasks, task, tasks.submit[tasks.first] - 1)
    while counters[at.ARRIVED] < counters[at.LAST] or counters[at.QUEUED] > 0:
        if not next_event(tasks, rules, episode):
            return STUCK
        take_placed_events(tasks, rules, scoring, episode, placing)
        if not needs_pass(tasks, rules, episode):
            continue
        correct_estimates(tasks, rules, episode)
        if rules.planned:
            plan_outages(tasks, episode)
        why = order_queue(tasks, rules, scoring, episode)
        if why != GO_ON:
            return why
        waits.passes[0] += 1
        head, why = start_in_order(tasks, rules, scoring, episode, placing, waits)
        if why != GO_ON:
            return why
        if head >= 0:
            fill_behind(tasks, rules, scoring, episode, placing, waits, head)
        wake_up(episode, waits)
    return DONE


@inlined
def take_placed_events(tasks, rules, scoring, episode, placing):
    """All that happens at this second, and the units that it gives back and takes."""
    counters = episode.counters
    units, state, walk = placing
    counters[at.WAKE] = 0
    ended, outage = counters[at.ENDED], counters[at.OUTAGE]
    end_jobs(tasks, rules, scoring, episode)
    for k in range(ended, counters[at.ENDED]):
        take_back(units, state, walk, episode.ended[k])
    give_owed(units, state, walk)
    announce_outages(tasks, rules, episode)
    start_outages(tasks, rules, episode)
    for task in range(outage, counters[at.OUTAGE]):
        note_start(state, walk, task, counters[at.NOW])
        begin_outage(units, state, walk, task)
    submit_jobs(tasks, rules, scoring, episode)
    cancel_jobs(tasks, rules, episode)


@inlined
def start_in_order(tasks, rules, scoring, episode, placing, waits):
    """Starts jobs from the front of the order while they fit, and passes over those that are put off. Returns the place of the blocked
    head, or -1, and GO_ON or why the engine stops."""
    counters, queue = episode.counters, episode.queue
    while True:
        place = first_not_looked_at(scoring, episode, waits)
        if place < 0:
            return np.int64(-1), GO_ON
        job = queue[place]
        fits = tasks.procs[job] <= counters[at.FREE]
        if fits and counters[at.PENDING] == 1:
            fits = plan_fits_now(tasks, episode, job)
        if not fits:
            return place, GO_ON
        if is_put_off(placing, waits, job, counters[at.NOW]):
            continue
        start_job(tasks, rules, scoring, episode, job)
        hold_units(placing, tasks, job, counters[at.NOW])
        leave_queue(episode, place)
        if scoring.follows_free:
            why = order_queue(tasks, rules, scoring, episode)
            if why != GO_ON:
                return np.int64(-1), why


@inlined
def first_not_looked_at(scoring, episode, waits):
    """The place of the first of the order that has not been put off in this pass, or -1."""
    place = np.int64(-1)
    for k in range(episode.counters[at.QUEUED]):
        if waits.looked[episode.queue[k]] != waits.passes[0] and (place < 0 or episode.score[k] < episode.score[place]):
            place = np.int64(k)
            if scoring.kind == FIXED:
                break
    return place


@inlined
def fill_behind(tasks, rules, scoring, episode, placing, waits, head):
    """As simulator.engine.starting.start_behind, for jobs that have not been put off in this pass."""
    counters, queue, order = episode.counters, episode.queue, episode.order
    if rules.backfill == NO_BACKFILL or counters[at.QUEUED] == 1 or counters[at.FREE] <= 0:
        return
    shadow, extra = kept_for_head(tasks, rules, episode, head)
    now = counters[at.NOW]
    candidates = 0
    for k in range(find_candidates(tasks, episode, head, shadow, extra)):
        if waits.looked[queue[order[k]]] != waits.passes[0]:
            order[candidates] = order[k]
            candidates += 1
    while counters[at.FREE] > 0:
        place, candidates = best_candidate(tasks, rules, scoring, episode, candidates, shadow, extra)
        if place < 0:
            break
        job = queue[place]
        if is_put_off(placing, waits, job, now):
            continue
        episode.backfilled[job] = True
        if now + tasks.admit[job] > shadow:
            extra -= tasks.procs[job]
        start_job(tasks, rules, scoring, episode, job)
        hold_units(placing, tasks, job, now)
        queue[place] = -1
    close_gaps(episode)


@lean
def is_put_off(placing, waits, job, now):
    """Whether the job goes on waiting for few switches. If not, its units are written down."""
    units, state, walk = placing
    size, first = walk.size[job], walk.first_unit[job]
    choose_tree(units, state, size)
    leaves = np.int64(0)
    for k in range(size):
        unit = state.chosen[k]
        walk.unit[first + k] = unit
        if k == 0 or units.switch[units.leaf, unit] != units.switch[units.leaf, state.chosen[k - 1]]:
            leaves += 1
    if leaves <= waits.leaves or waits.least[job] > waits.leaves:
        return False
    since = waits.since[job] if waits.since[job] >= 0 else now
    if now >= since + waits.wait_s:
        return False
    waits.since[job] = since
    waits.looked[job] = waits.passes[0]
    return True


@lean
def hold_units(placing, tasks, task, now):
    """The task gets the units that are written down for it; one that ran at the beginning gets those of the rule."""
    units, state, walk = placing
    if task < tasks.first:
        choose_tree(units, state, walk.size[task])
        for k in range(walk.size[task]):
            walk.unit[walk.first_unit[task] + k] = state.chosen[k]
    note_start(state, walk, task, now)
    give_written(units, state, walk, task)


@lean
def note_start(state, walk, task, now):
    """The next start of the walk."""
    begun = walk.counters[BEGUN]
    walk.starts[begun] = task
    walk.start[task] = now
    note_idle(state, walk, begun)
    walk.counters[BEGUN] = begun + 1


@inlined
def wake_up(episode, waits):
    """The scheduler acts when the first wait for switches is over."""
    counters = episode.counters
    for k in range(counters[at.QUEUED]):
        since = waits.since[episode.queue[k]]
        over = since + waits.wait_s
        if since >= 0 and over > counters[at.NOW] and (counters[at.WAKE] == 0 or over < counters[at.WAKE]):
            counters[at.WAKE] = over


# --- switches


class Switches(NamedTuple):
    """leaves: switches of the lowest level that a job waits for. wait_s: how long, in seconds."""

    leaves: int
    wait_s: int


def parse_switches(text: str) -> Switches:
    """`1@2h`: one leaf switch, for up to two hours. Raises ValueError with an example for any other text."""
    match = re.fullmatch(r"\s*(\d+)\s*@(.*)", text)
    fault = f"cannot read the switches {text!r}: write leaf switches @ longest wait, such as 1@2h or 2@600s"
    if not match or int(match[1]) < 1:
        raise ValueError(fault)
    try:
        return Switches(int(match[1]), parse_duration(match[2]))
    except ValueError:
        raise ValueError(fault) from None


@dataclass(frozen=True)
class SwitchReplayer:
    """Jobs that wait for few switches, under the rule `tree`. With whole nodes, jobs and cluster are those of `in_whole_nodes`."""

    order: OrderReplayer
    units: Units
    switches: Switches
    honours: ClassVar = BY_ORDER | {"outages", "cancelled", "nodes"}

    def replay(self, jobs: Jobs, cluster: Cluster) -> Outcome:
        """Schedule and nodes. Raises ValueError as `order` does, and for a policy that somebody is asked for, an agent, a warm start with
        waiting jobs, and backfilling with reservations."""
        policy, units, switches = self.order.policy, self.units, self.switches
        policy = parse_policy(policy) if isinstance(policy, str) else policy
        check_run_times(jobs)
        tasks = tasks_of(jobs, cluster)
        rules = rules_for(
            policy, self.order.backfill, self.order.correction, cluster.procs, planned=len(tasks.announced) > 0
        )
        if rules.backfill == RESERVE or policy.agent is not None or policy.kind in (ASKED_SCORES, ASKED_CHOICE):
            raise ValueError(
                "jobs can wait for switches under policies by name or formula, with backfilling none, any, easy or easy-sjbf: "
                "leave --switches out, or choose one of these"
            )
        if policy.weights is not None or cluster.waiting:
            raise ValueError("jobs cannot wait for switches under a network or in a warm start: leave --switches out")
        users = int(tasks.user.max()) + 1 if policy.half_life_s > 0 and len(jobs) else 0
        episode = new_episode(tasks, cluster.procs, users, rules.planned, inputs=0, live=True)
        count = len(tasks.submit)
        zeros = [np.zeros(count, dtype=np.int64) for _ in range(4)]
        walk = new_walk(tasks.procs, count - tasks.last, units, WalkTimes(*zeros), np.ones(count, dtype=np.bool_))
        if len(jobs):
            waits = SwitchWaits(
                leaves=switches.leaves,
                wait_s=switches.wait_s,
                least=least_leaves(units, walk.size),
                since=np.full(count, -1, dtype=np.int64),
                looked=np.zeros(count, dtype=np.int64),
                passes=np.zeros(1, dtype=np.int64),
            )
            scoring = scoring_of(policy, jobs, tasks, cluster.procs)
            rules = rules._replace(live=True)  # notes which jobs end
            why = advance_with_switches(tasks, rules, scoring, episode, (units, all_idle(units), walk), waits)
            check_outcome(why, tasks, rules, policy, episode)
        begun, part = int(walk.counters[BEGUN]), slice(tasks.first, tasks.last)
        walk = walk._replace(starts=walk.starts[:begun], idle=walk.idle[:begun], broken=walk.broken[:begun])
        schedule = Schedule(episode.start[part], episode.backfilled[part])
        return Outcome(schedule, placement_of(walk, tasks.first, len(jobs)))


def least_leaves(units: Units, sizes: IntArray) -> IntArray:
    """As few leaves as hold jobs of these sizes on the empty machine, int64 (jobs,)."""
    first = units.first[units.leaf, : units.switches[units.leaf] + 1]
    most = np.cumsum(np.sort(np.diff(first))[::-1])
    return np.searchsorted(most, sizes) + 1
