"""The event loop of the RLScheduler rules: choose a job, start what may start, continue with the next event.

`papers/rlscheduler/rules.py` says whose rules these are, and other code calls that module. The order of jobs in the
lists decides ties, as in that code. With an inspector (papers/rlscheduler/inspecting.py) the loop is compiled once more. Without
one, nothing of the inspector is compiled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from compilation.apart import apart
from papers.compiled import compiled, inlined, lean
from papers.rlscheduler.inspecting import (
    ACCEPTED_PICK,
    NOT_RECORDED,
    count_rejection,
    inspect_pick,
    new_rejections,
)
from papers.rlscheduler.scores import GIVEN_SCORES, KERNEL_NETWORK, policy_score
from simulator.policies.moment import Moment
from simulator.policies.network import (
    NEXT_END,
    RUNNING_WORK,
    START_DELAY,
    VISIBLE_JOBS,
    KernelWeights,
    NetworkInputs,
    observe,
    score_rows,
)
from simulator.policies.sampling import DRAW, FOLLOW, TAKE_BEST, draw_choice, record_choice

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class RLSchedulerRules(NamedTuple):
    """What is the same for every job of a replay. policy: a number of papers/rlscheduler/scores.py.

    true_wait: scores are computed again at each decision, with the true wait. Otherwise once, with a wait of -1 - submit. sample: how a
    network's choices are made, see simulator/policies/sampling.py. origin: the time from which scores count submissions, seconds in
    the log's clock. weights: of the network that orders or inspects.
    """

    policy: int
    backfill: bool
    true_wait: bool
    sample: int
    nodes: int
    procs_per_node: float
    origin: int
    weights: KernelWeights


class RLSchedulerJobs(NamedTuple):
    """The jobs of a replay, in submit order. Times are in seconds, submissions in the log's clock."""

    submit: IntArray  # (jobs,)
    runtime: IntArray  # (jobs,)
    procs: IntArray  # (jobs,)
    estimate: IntArray  # (jobs,)
    need: IntArray  # (jobs,) nodes
    given: FloatArray  # (jobs,) scores for GIVEN_SCORES and the teacher for FOLLOW, or (0,) where unread
    facts: NDArray[np.float32]  # (jobs, facts of the network), or (0, 0) without a network


class RLSchedulerState(NamedTuple):
    """The state of a replay."""

    clock: IntArray  # (7,) see _NOW and the others
    queue: IntArray  # (jobs,) in the order of the last sort, then of arrival
    running: IntArray  # (jobs,) in the order of the last sort by estimated end, then of starting
    score: FloatArray  # (jobs,) by job
    submit_key: FloatArray  # (jobs,)
    start: IntArray  # (jobs,)
    backfilled: NDArray[np.bool_]  # (jobs,)


class _Sight(NamedTuple):
    """What a network sees at a decision, and its outputs. Empty without a network."""

    rows: NDArray[np.float32]  # (VISIBLE_JOBS, inputs)
    outputs: NDArray[np.float32]  # (VISIBLE_JOBS,)
    est_end: IntArray  # (jobs,) estimated ends of running jobs, ascending
    est_job: IntArray  # (jobs,) these jobs
    room: FloatArray  # (jobs,) to work in
    nobody: IntArray  # (1,) for what these rules do not count
    unused: FloatArray  # (1,)


_NOW, _FREE, _QUEUED, _RUNNING, _ARRIVED, _HEAD, _SHADOW = range(7)
"""Places of `RLSchedulerState.clock`. _FREE: nodes. _HEAD: the job that the scheduler is committed to, -1 for none. _SHADOW: when
the blocked head has its processors, by the estimated ends."""


@apart
@compiled
def replay_jobs(rules, jobs, inspector, recorder, start, backfilled):
    """Replays all jobs on an empty cluster and fills `start` and `backfilled`, (jobs,). False when the recorder is full.

    inspector: papers.rlscheduler.inspecting.Inspector, or None.
    """
    state = _new_state(jobs, rules, start, backfilled)
    sight = _new_sight(jobs, rules)
    clock = state.clock
    if inspector is not None:
        rejections = new_rejections(len(jobs.submit))
    while True:
        if clock[_HEAD] < 0 and clock[_QUEUED] > 0:
            if not _choose(rules, jobs, state, sight, recorder):
                return False
            if inspector is not None:
                verdict = _inspect_head(rules, jobs, inspector, state, sight, rejections, recorder)
                if verdict == NOT_RECORDED:
                    return False
                if verdict != ACCEPTED_PICK:
                    _reject_head(rules, jobs, inspector, state, rejections)
                    continue
            _plan_backfilling(rules, jobs, state)
        if clock[_HEAD] >= 0 and jobs.need[clock[_HEAD]] <= clock[_FREE]:
            _start_head(jobs, state)
            if clock[_QUEUED] > 0:
                continue  # decides again before anything arrives or ends, even in this very second
        elif clock[_HEAD] >= 0 and rules.backfill:
            _backfill(jobs, state)
        if clock[_HEAD] < 0 and clock[_ARRIVED] == len(jobs.submit):
            return True
        _next_event(rules, jobs, state)


@compiled
def _new_state(jobs, rules, start, backfilled):
    n = len(jobs.submit)
    clock = np.zeros(7, dtype=np.int64)
    clock[_FREE], clock[_HEAD] = rules.nodes, -1
    queue, running = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    submit_key = jobs.submit.astype(np.float64)
    return RLSchedulerState(clock, queue, running, np.empty(n), submit_key, start, backfilled)


@compiled
def _new_sight(jobs, rules):
    learned = len(rules.weights.w1) > 0
    visible, n = (VISIBLE_JOBS, len(jobs.submit)) if learned else (0, 0)
    return _Sight(
        np.empty((visible, rules.weights.w1.shape[0]), dtype=np.float32), np.empty(visible, dtype=np.float32),
        np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n), np.zeros(1, dtype=np.int64), np.zeros(1),
    )  # fmt: skip


@inlined
def _choose(rules, jobs, state, sight, recorder):
    """Makes a waiting job the head. False when the recorder is full."""
    clock, queue = state.clock, state.queue
    if rules.policy == KERNEL_NETWORK:  # the queue stays in the order of arrival: the first VISIBLE_JOBS are seen
        place = _network_choice(rules, jobs, state, sight, recorder)
        if place < 0:
            return False
        clock[_HEAD] = queue[place]
    else:
        if rules.true_wait:
            _score_queue(rules, jobs, state)
        _sort_queue(queue, clock[_QUEUED], state.score)
        clock[_HEAD] = queue[0]
    return True


@inlined
def _plan_backfilling(rules, jobs, state):
    """The shadow time is computed once, whatever happens until the head starts. The order is kept, and arrivals join at the end."""
    clock = state.clock
    if rules.backfill and jobs.need[clock[_HEAD]] > clock[_FREE]:
        clock[_SHADOW] = _shadow_time(rules, jobs, state)
        _sort_queue(state.queue, clock[_QUEUED], state.submit_key)


@apart
@lean
def _inspect_head(rules, jobs, inspector, state, sight, rejections, recorder):
    """What `inspect_pick` says of the head, before the loop commits to it."""
    clock, network = state.clock, NetworkInputs(rules.weights, jobs.facts)
    fits = jobs.need[clock[_HEAD]] <= clock[_FREE]
    moment = _moment(rules, jobs, state, sight)
    return inspect_pick(inspector, clock[_HEAD], fits, rejections, moment, network, sight, recorder)


@apart
@lean
def _reject_head(rules, jobs, inspector, state, rejections):
    """Takes the choice back, and processes one event if it comes within the interval."""
    clock = state.clock
    head, since, latest = clock[_HEAD], clock[_NOW], clock[_NOW] + inspector.interval_s
    comes = clock[_ARRIVED] < len(jobs.submit) and jobs.submit[clock[_ARRIVED]] <= latest
    for k in range(clock[_RUNNING]):
        comes |= state.start[state.running[k]] + jobs.runtime[state.running[k]] <= latest
    idle = clock[_RUNNING] == 0 and clock[_ARRIVED] == len(jobs.submit)
    clock[_HEAD] = -1
    if comes:
        _next_event(rules, jobs, state)
    elif not (idle and inspector.still_when_idle):
        clock[_NOW] = latest
    count_rejection(inspector, rejections, head, clock[_NOW] - since)


@inlined
def _score_queue(rules, jobs, state):
    """Scores that change with the true wait."""
    now = state.clock[_NOW]
    for k in range(state.clock[_QUEUED]):
        job = state.queue[k]
        submit = jobs.submit[job]
        state.score[job] = policy_score(
            rules.policy, now - submit, submit - rules.origin, jobs.estimate[job], jobs.procs[job], _all_procs(rules)
        )


@inlined
def _network_choice(rules, jobs, state, sight, recorder):
    """The place in the queue that the network or its teacher chooses, recorded where it learns. -1 when the recorder is full."""
    place, log_probability = 0, 0.0
    queued = state.clock[_QUEUED]
    if queued == 1:
        return place
    visible = min(queued, VISIBLE_JOBS)
    _observe_queue(rules, jobs, state, sight)
    score_rows(sight.rows, visible, rules.weights, sight.outputs)
    if rules.sample == DRAW:
        place, log_probability = draw_choice(sight.outputs, visible)
    elif rules.sample == FOLLOW:
        for k in range(1, visible):
            if jobs.given[state.queue[k]] < jobs.given[state.queue[place]]:
                place = k
    else:
        for k in range(1, visible):
            if sight.outputs[k] > sight.outputs[place]:
                place = k
    if rules.sample != TAKE_BEST and not record_choice(
        recorder, sight.rows, visible, place, log_probability, state.clock[_NOW]
    ):
        return -1
    return place


@inlined
def _observe_queue(rules, jobs, state, sight):
    """Fills `sight.rows` for the visible jobs."""
    moment = _moment(rules, jobs, state, sight)
    visible = min(state.clock[_QUEUED], VISIBLE_JOBS)
    observe(moment, NetworkInputs(rules.weights, jobs.facts), 0, visible, sight.room, sight.rows)


@inlined
def _moment(rules, jobs, state, sight):
    """What a network may read."""
    clock, reads_running = state.clock, False
    for signal in rules.weights.signals:
        reads_running |= signal in (START_DELAY, RUNNING_WORK, NEXT_END)
    if reads_running:
        _by_estimated_end(jobs, state, sight)
    return Moment(
        clock[_NOW],
        int(clock[_FREE] * rules.procs_per_node),
        int(rules.nodes * rules.procs_per_node),
        clock[_QUEUED],
        clock[_RUNNING],
        state.queue,
        jobs.submit,
        jobs.procs,
        jobs.estimate,
        sight.nobody,
        sight.est_end,
        sight.est_job,
        sight.unused,
        sight.unused,
        sight.nobody,
        1.0,
    )


@inlined
def _by_estimated_end(jobs, state, sight):
    """Fills the running jobs' estimated ends, ascending, and the jobs themselves in that order."""
    est_end, est_job = sight.est_end, sight.est_job
    for k in range(state.clock[_RUNNING]):
        job = state.running[k]
        end = state.start[job] + jobs.estimate[job]
        i = k
        while i > 0 and est_end[i - 1] > end:
            est_end[i] = est_end[i - 1]
            est_job[i] = est_job[i - 1]
            i -= 1
        est_end[i] = end
        est_job[i] = job


@inlined
def _shadow_time(rules, jobs, state):
    """The time at which the head has its processors, by the estimated ends. Sorts the running jobs by estimated end in place."""
    head, count = state.clock[_HEAD], state.clock[_RUNNING]
    running, start, estimate = state.running, state.start, jobs.estimate
    # an insertion sort, since all but those that started lately are in this order already
    for k in range(1, count):
        job = running[k]
        while k > 0 and start[running[k - 1]] + estimate[running[k - 1]] > start[job] + estimate[job]:
            running[k] = running[k - 1]
            k -= 1
        running[k] = job
    available = state.clock[_FREE] * rules.procs_per_node
    for k in range(count):
        job = running[k]
        available += jobs.need[job] * rules.procs_per_node
        if available >= jobs.procs[head]:
            return start[job] + estimate[job]
    return start[running[count - 1]] + estimate[running[count - 1]]


@inlined
def _start_head(jobs, state):
    """Starts the job that the scheduler is committed to. The others keep their order."""
    clock, queue = state.clock, state.queue
    head, kept = clock[_HEAD], 0
    for k in range(clock[_QUEUED]):
        job = queue[k]
        if job != head:
            queue[kept] = job
            kept += 1
    clock[_QUEUED] = kept
    _start(jobs, state, head, False)
    clock[_HEAD] = -1


@inlined
def _backfill(jobs, state):
    """Starts what fits behind the blocked head and should end before the shadow time."""
    clock, queue = state.clock, state.queue
    now, shadow, free, kept = clock[_NOW], clock[_SHADOW], clock[_FREE], 0
    for k in range(clock[_QUEUED]):
        job = queue[k]
        if now + jobs.estimate[job] < shadow and jobs.need[job] <= free:
            _start(jobs, state, job, True)
            free = clock[_FREE]
        else:
            queue[kept] = job
            kept += 1
    clock[_QUEUED] = kept


@inlined
def _start(jobs, state, job, backfilled):
    clock = state.clock
    state.start[job] = clock[_NOW]
    state.backfilled[job] = backfilled
    clock[_FREE] -= jobs.need[job]
    state.running[clock[_RUNNING]] = job
    clock[_RUNNING] += 1


@inlined
def _next_event(rules, jobs, state):
    """The next arrival, or the next completion if it is earlier. Of several at a time it is the first in its list."""
    clock = state.clock
    first, end = -1, np.int64(0)
    for k in range(clock[_RUNNING]):
        job_end = state.start[state.running[k]] + jobs.runtime[state.running[k]]
        if first < 0 or job_end < end:
            first, end = k, job_end
    arrived = clock[_ARRIVED]
    if arrived < len(jobs.submit) and (first < 0 or jobs.submit[arrived] <= end):
        clock[_NOW] = jobs.submit[arrived]
        _arrive(rules, jobs, state, arrived)
    else:
        clock[_NOW] = end
        clock[_FREE] += jobs.need[state.running[first]]
        clock[_RUNNING] -= 1
        for k in range(first, clock[_RUNNING]):
            state.running[k] = state.running[k + 1]


@inlined
def _arrive(rules, jobs, state, job):
    """A job joins the queue, with the score that it has at its submission."""
    clock = state.clock
    since_origin = jobs.submit[job] - rules.origin
    if rules.policy == GIVEN_SCORES:
        state.score[job] = jobs.given[job]
    else:  # a waiting job's start time is -1 in that code, hence this wait. True waits come at the decision
        state.score[job] = policy_score(
            rules.policy, -1 - since_origin, since_origin, jobs.estimate[job], jobs.procs[job], _all_procs(rules)
        )
    state.queue[clock[_QUEUED]] = job
    clock[_QUEUED] += 1
    clock[_ARRIVED] += 1


@inlined
def _all_procs(rules):
    return rules.nodes * rules.procs_per_node


@compiled
def _sort(jobs, key):
    """Sorts job indices in place by their key. Equal keys keep their order."""
    keys = key[jobs]
    for k in range(1, len(keys)):
        if keys[k] < keys[k - 1]:
            ordered = jobs[np.argsort(keys, kind="mergesort")]
            for i in range(len(ordered)):  # `jobs[:] = ordered` compiles a second longer, for a message
                jobs[i] = ordered[i]
            return


@compiled
def _sort_queue(queue, count, key):
    _sort(queue[:count], key)
