"""RLSchert's cluster: slots of time, jobs that are selected ahead of their start, killed and requeued (docs/reference/rlschert.md).

Guo et al. 2021, sections 3.3 and 3.4. Many sequences step side by side. Every function here works on one of them, number e.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from compilation.apart import apart
from papers.compiled import lean

IntArray = NDArray[np.int64]

SLOTS, KILLABLE, HORIZON, LONGEST, WIDEST = 5, 8, 120, 100, 10
"""Visible waiting jobs, killable running ones, units of time in the plan, units of the longest job, processors of the widest."""
ACTIONS = SLOTS + KILLABLE + 1
"""Select a slot, kill a place, or let time pass (the last)."""
WAIT = ACTIONS - 1
LONGEST_BUSY = 2048
"""Units of time whose processors in use are kept."""
MOST_KILLS = 3
"""How often a learner may kill a job, and how often the stopping rule may."""
NOWHERE, BACKLOG, VISIBLE, READY, RUNNING, DONE = range(6)
SLOWDOWN, COMPLETION = range(2)


class Sequences(NamedTuple):
    """Jobs of many sequences. Times are in units."""

    arrive: IntArray  # (sequences, jobs) ascending
    length: IntArray  # (sequences, jobs)
    procs: IntArray  # (sequences, jobs)
    first: IntArray  # (sequences, jobs) run time as predicted before the run
    remaining: NDArray[np.int16]  # (sequences, jobs, LONGEST) as predicted after so many units of running, at least 1


class ClusterRules(NamedTuple):
    """procs: of the cluster. with_remaining: estimates follow the prediction while a job runs. kill_by_rule: see
    docs/reference/rlschert.md. goal: SLOWDOWN or COMPLETION. true_lengths: rewards divide by the real run time.
    stop_within, stop_ratio: of the stopping rule, units of time and a factor (0 units means no such rule). preemption_cost: units by
    which every run of a job after a kill is longer. printed_reward: the reward for slowdown is equation 9 as it is printed."""

    procs: int
    with_remaining: bool
    kill_by_rule: bool
    goal: int
    true_lengths: bool
    stop_within: int
    stop_ratio: float
    preemption_cost: int
    printed_reward: bool


class ClusterState(NamedTuple):
    """State of many sequences. The first axis of each array is the sequence. -1 means that there is none."""

    now: IntArray  # (sequences,)
    arrived: IntArray  # (sequences,) jobs that have arrived
    done: IntArray  # (sequences,)
    since: IntArray  # (sequences,) units since the last arrival
    slots: IntArray  # (sequences, SLOTS) job numbers
    backlog: IntArray  # (sequences, jobs) a ring
    head: IntArray  # (sequences,)
    waiting: IntArray  # (sequences,) jobs in the ring
    ready: IntArray  # (sequences, jobs)
    num_ready: IntArray  # (sequences,)
    running: IntArray  # (sequences, procs)
    num_running: IntArray  # (sequences,)
    place: IntArray  # (sequences, jobs) NOWHERE ... DONE
    estimate: IntArray  # (sequences, jobs) of the whole run time
    start: IntArray  # (sequences, jobs) of the last run
    finish: IntArray  # (sequences, jobs)
    kills: IntArray  # (sequences, jobs)
    ruled: IntArray  # (sequences, jobs) 1 where the rule has killed it
    killed_after: IntArray  # (sequences, jobs) units that the last kill threw away
    free: IntArray  # (sequences, HORIZON) the plan
    planned: IntArray  # (sequences, jobs) start of a ready job, units from now, -1 for none
    busy: IntArray  # (sequences, LONGEST_BUSY) processors in use in each unit of time
    holes: IntArray  # (sequences,) free processors, summed over time
    reward: NDArray[np.float64]  # (sequences,) since it was last taken


def new_state(sequences: Sequences, cluster_procs: int) -> ClusterState:
    """State for these sequences. Call `begin` for each."""
    episodes, jobs = sequences.arrive.shape
    lengths = {"slots": SLOTS, "running": cluster_procs, "free": HORIZON, "busy": LONGEST_BUSY}
    of_jobs = ("backlog", "ready", "place", "estimate", "start", "finish", "kills", "ruled", "killed_after", "planned")
    for name in of_jobs:
        lengths[name] = jobs
    columns: dict[str, Any] = {
        name: np.zeros((episodes, lengths[name]) if name in lengths else episodes, dtype=np.int64)
        for name in ClusterState._fields
        if name != "reward"
    }
    return ClusterState(**columns, reward=np.zeros(episodes))


@lean
def begin(jobs, rules, state, e):
    """Time 0 of sequence e."""
    state.now[e] = state.arrived[e] = state.done[e] = state.since[e] = state.head[e] = state.waiting[e] = 0
    state.num_ready[e] = state.num_running[e] = state.holes[e] = 0
    state.reward[e] = 0.0
    for w in range(SLOTS):
        state.slots[e, w] = -1
    for j in range(jobs.arrive.shape[1]):
        state.place[e, j] = NOWHERE
        state.estimate[e, j] = jobs.first[e, j]
        state.start[e, j] = state.finish[e, j] = state.planned[e, j] = -1
        state.kills[e, j] = state.ruled[e, j] = state.killed_after[e, j] = 0
    for t in range(HORIZON):
        state.free[e, t] = rules.procs
    state.busy[e] = 0
    _arrivals(jobs, state, e)


@apart
@lean
def act(jobs, rules, state, e, action):
    """Takes one action. Rewards of units that ended are added to state.reward[e]. Returns whether all jobs are done."""
    if action < SLOTS and state.slots[e, action] >= 0:
        select(jobs, rules, state, e, action)
    elif SLOTS <= action < WAIT and action - SLOTS < min(state.num_running[e], KILLABLE):
        k = state.num_running[e] - 1 - (action - SLOTS)
        _kill(jobs, rules, state, e, k)
        plan_again(jobs, rules, state, e)
    else:
        let_time_pass(jobs, rules, state, e)
    return state.done[e] == jobs.arrive.shape[1]


@lean
def select(jobs, rules, state, e, w):
    """The job of slot w becomes ready, or runs now. The slot is filled from the backlog."""
    j = state.slots[e, w]
    state.slots[e, w] = -1
    if state.waiting[e] > 0:
        i = state.backlog[e, state.head[e]]
        state.head[e] = (state.head[e] + 1) % jobs.arrive.shape[1]
        state.waiting[e] -= 1
        state.slots[e, w] = i
        state.place[e, i] = VISIBLE
    _start_or_plan(jobs, state, e, j)


@lean
def select_waiting(jobs, rules, state, e, j):
    """Job j of the slots or of the backlog becomes ready, or runs now. The others of the backlog keep their order."""
    if state.place[e, j] == VISIBLE:
        for w in range(SLOTS):
            if state.slots[e, w] == j:
                select(jobs, rules, state, e, w)
                return
    count = jobs.arrive.shape[1]
    kept = 0
    for k in range(state.waiting[e]):
        i = state.backlog[e, (state.head[e] + k) % count]
        if i != j:
            state.backlog[e, (state.head[e] + kept) % count] = i
            kept += 1
    state.waiting[e] = kept
    _start_or_plan(jobs, state, e, j)


@lean
def _start_or_plan(jobs, state, e, j):
    if not _place(jobs, state, e, j):
        state.ready[e, state.num_ready[e]] = j
        state.num_ready[e] += 1
        state.place[e, j] = READY


@lean
def _place(jobs, state, e, j):
    """Finds job j its place in the plan. True if it runs now."""
    needed, width = min(state.estimate[e, j], HORIZON), jobs.procs[e, j]
    t0 = earliest(state.free, e, width, needed)
    state.planned[e, j] = t0
    if t0 >= 0:
        for t in range(t0, t0 + needed):
            state.free[e, t] -= width
    if t0 != 0:
        return False
    state.start[e, j] = state.now[e]
    state.running[e, state.num_running[e]] = j
    state.num_running[e] += 1
    state.place[e, j] = RUNNING
    return True


@lean
def earliest(free, e, width, needed):
    """The first unit from which `width` processors are free for `needed` units, or -1 for none inside the horizon."""
    length = 0
    for t in range(HORIZON):
        if free[e, t] >= width:
            length += 1
            if length == needed:
                return t - needed + 1
        else:
            length = 0
            if t + needed >= HORIZON:  # from the next unit on it would end beyond the horizon
                return -1
    return -1


@lean
def plan_again(jobs, rules, state, e):
    """Makes the plan again: running jobs first, then the ready ones in their order."""
    for t in range(HORIZON):
        state.free[e, t] = rules.procs
    for k in range(state.num_running[e]):
        j = state.running[e, k]
        left = state.estimate[e, j] - (state.now[e] - state.start[e, j])
        for t in range(min(max(left, 1), HORIZON)):
            state.free[e, t] -= jobs.procs[e, j]
    kept = 0
    for k in range(state.num_ready[e]):
        j = state.ready[e, k]
        if not _place(jobs, state, e, j):
            state.ready[e, kept] = j
            kept += 1
    state.num_ready[e] = kept


@apart
@lean
def let_time_pass(jobs, rules, state, e):
    """Time advances by one unit."""
    _count_reward(jobs, rules, state, e)
    state.now[e] += 1
    now = state.now[e]
    kept = 0
    for k in range(state.num_running[e]):
        j = state.running[e, k]
        used = now - state.start[e, j]
        worked = used - restart_of(rules, state, e, j)
        if worked >= jobs.length[e, j]:
            state.finish[e, j] = now
            state.place[e, j] = DONE
            state.done[e] += 1
            continue
        if rules.with_remaining:
            if worked > 0:  # while a job only restarts, nothing new is seen of it
                state.estimate[e, j] = used + jobs.remaining[e, j, worked]
        else:
            state.estimate[e, j] = max(state.estimate[e, j], used + 1)
        state.running[e, kept] = j
        kept += 1
    state.num_running[e] = kept
    if rules.kill_by_rule:
        k = 0
        while k < state.num_running[e]:
            j = state.running[e, k]
            if state.ruled[e, j] == 0 and is_worth_killing(jobs, e, j, work_done(rules, state, e, j)):
                state.ruled[e, j] = 1
                _kill(jobs, rules, state, e, k)
            else:
                k += 1
    state.since[e] += 1
    _arrivals(jobs, state, e)
    if rules.stop_within > 0:
        _stop_for_shorter(jobs, rules, state, e)
    plan_again(jobs, rules, state, e)


@lean
def restart_of(rules, state, e, j):
    """Units of job j's present run in which it only starts again, because it was killed before."""
    return rules.preemption_cost if state.kills[e, j] > 0 else 0


@lean
def work_done(rules, state, e, j):
    """Units of its work that running job j has done."""
    return max(state.now[e] - state.start[e, j] - restart_of(rules, state, e, j), 0)


@lean
def _stop_for_shorter(jobs, rules, state, e):
    """The stopping rule: running jobs that started lately are stopped for much shorter ones that wait."""
    free = rules.procs
    for k in range(state.num_running[e]):
        free -= jobs.procs[e, state.running[e, k]]
    k = 0
    while k < state.num_running[e]:
        j = state.running[e, k]
        used = state.now[e] - state.start[e, j]
        lately = 0 < used <= rules.stop_within and state.kills[e, j] < MOST_KILLS
        if lately and _makes_way(jobs, rules, state, e, j, free):
            free += jobs.procs[e, j]
            _kill(jobs, rules, state, e, k)
        else:
            k += 1


@lean
def _makes_way(jobs, rules, state, e, j, free):
    """Whether a job waits that is shorter than running job j by the factor, and could start if j ended, but not before."""
    for i in range(state.arrived[e]):
        width = jobs.procs[e, i]
        if BACKLOG <= state.place[e, i] <= READY:
            shorter = state.estimate[e, i] * rules.stop_ratio <= state.estimate[e, j]
            if shorter and free < width <= free + jobs.procs[e, j]:
                return True
    return False


@lean
def is_worth_killing(jobs, e, j, used):
    """The paper's rule of a job that has worked for `used` units: it was predicted to be short and will be long."""
    first, left = jobs.first[e, j], jobs.remaining[e, j, used]
    return used < first and first < 10 and left > 10 and left - first > first


@lean
def _kill(jobs, rules, state, e, k):
    """The k-th running job goes back to the waiting ones."""
    j = state.running[e, k]
    worked = work_done(rules, state, e, j)
    state.estimate[e, j] = rules.preemption_cost + worked + jobs.remaining[e, j, worked]
    state.kills[e, j] += 1
    state.killed_after[e, j] = state.now[e] - state.start[e, j]
    for i in range(k + 1, state.num_running[e]):
        state.running[e, i - 1] = state.running[e, i]
    state.num_running[e] -= 1
    state.planned[e, j] = -1
    _queue(jobs, state, e, j)


@lean
def _queue(jobs, state, e, j):
    for w in range(SLOTS):
        if state.slots[e, w] < 0:
            state.slots[e, w] = j
            state.place[e, j] = VISIBLE
            return
    state.backlog[e, (state.head[e] + state.waiting[e]) % jobs.arrive.shape[1]] = j
    state.waiting[e] += 1
    state.place[e, j] = BACKLOG


@lean
def _arrivals(jobs, state, e):
    while state.arrived[e] < jobs.arrive.shape[1] and jobs.arrive[e, state.arrived[e]] <= state.now[e]:
        _queue(jobs, state, e, state.arrived[e])
        state.arrived[e] += 1
        state.since[e] = 0


@lean
def _count_reward(jobs, rules, state, e):
    """Of the unit that ends now."""
    used = 0
    for k in range(state.num_running[e]):
        used += jobs.procs[e, state.running[e, k]]
    if state.now[e] < LONGEST_BUSY:
        state.busy[e, state.now[e]] = used
    if state.arrived[e] > 0:
        state.holes[e] += rules.procs - used
    total = 0.0
    for j in range(state.arrived[e]):
        if state.place[e, j] != DONE:
            if rules.goal == COMPLETION:
                total += 1.0
            elif rules.true_lengths:
                total += 1.0 / jobs.length[e, j]
            elif rules.printed_reward:
                total += 1.0 / _predictor(jobs, rules, state, e, j)
            else:
                total += 1.0 / state.estimate[e, j]
    state.reward[e] -= total


@lean
def _predictor(jobs, rules, state, e, j):
    """Predictor(j) of equation 9: what a running job still needs, where that is predicted, else the prediction before its run."""
    if state.place[e, j] == RUNNING and rules.with_remaining:
        return max(state.estimate[e, j] - (state.now[e] - state.start[e, j]), 1)
    return jobs.first[e, j]
