"""The replay rules of the RLScheduler code (Zhang et al., SC 2020), exactly as they are coded, for its published tables.

Source: HPCSimPickJobs.py and cluster.py of DIR-LAB/deep-batch-scheduler. Its backfilling is not EASY, its heuristics commit to
a blocked job, and its WFP3 and UNICEP reckon with a wrong wait: do not use it to judge policies. Rules: docs/semantics.md,
"The RLScheduler rule set".
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import compiled
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.metrics.metrics import bounded_slowdown
from simulator.policies.moment import Moment
from simulator.policies.network import (
    RUNNING_WORK,
    SIGNALS,
    START_DELAY,
    USER_SHARE,
    VISIBLE_JOBS,
    KernelWeights,
    NetworkInputs,
    observe,
    score_rows,
)
from simulator.policies.observation import facts_of, no_weights
from simulator.policies.registry import Policy
from simulator.policies.sampling import (
    DECISIONS,
    DRAW,
    FOLLOW,
    ROWS,
    TAKE_BEST,
    draw_choice,
    new_recorder,
    record_choice,
    seed_draws,
)

POLICIES = (
    "FCFS", "LCFS", "SJF", "LJF", "smallest", "largest", "SAF", "F1", "F2", "F3", "F4", "WFP3", "UNICEP",
)  # fmt: skip
"""Names as users write them. That code has FCFS, SJF, smallest, F1 to F4, WFP3 and UNICEP; the others follow its pattern."""

_FCFS, _LCFS, _SJF, _LJF, _SMALLEST, _LARGEST, _SAF, _F1, _F2, _F3, _F4, _WFP3, _UNICEP = range(len(POLICIES))
_GIVEN, _NETWORK = len(POLICIES), len(POLICIES) + 1
"""Priorities that come from outside, known at submission; and a kernel network, which that code calls RL."""


def network_inputs(jobs: Jobs, cluster_procs: int, weights: KernelWeights) -> NetworkInputs:
    """Raises ValueError for a network that reads what these rules do not keep account of."""
    check_widths(jobs, cluster_procs)
    if USER_SHARE in weights.signals:
        raise ValueError(
            f"the RLScheduler rules keep no account of users, which the policy's input {SIGNALS[USER_SHARE]} needs: train it "
            "with --layout paper or plain"
        )
    return NetworkInputs(weights, facts_of(jobs, cluster_procs, weights.facts))


def check_widths(jobs: Jobs, cluster_procs: int) -> None:
    """Raises ValueError when a job is wider than the cluster, which these rules would wait for for ever."""
    if len(jobs) and jobs.procs.max() > cluster_procs:
        index = int(jobs.procs.argmax())
        raise ValueError(
            f"job at index {index} needs {jobs.procs[index]} processors, the cluster has {cluster_procs}: give the cluster's "
            "true processor count"
        )


def inputs_of_policy(
    jobs: Jobs, cluster_procs: int, policy: str | Policy
) -> tuple[int, NDArray[np.float64], NetworkInputs]:
    """(number, scores that are given, network) of a policy. Raises ValueError for one that these rules cannot follow."""
    network, given = NetworkInputs(no_weights(), np.zeros((0, 0), dtype=np.float32)), np.zeros(0)
    name = policy if isinstance(policy, str) else policy.name
    if name in POLICIES:
        return POLICIES.index(name), given, network
    if isinstance(policy, str):
        raise ValueError(f"unknown policy {policy!r}; expected one of {', '.join(POLICIES)}")
    if policy.weights is not None:
        return _NETWORK, given, network_inputs(jobs, cluster_procs, policy.weights)
    if policy.fixed is not None:
        return _GIVEN, np.asarray(policy.fixed(jobs, cluster_procs), dtype=np.float64), network
    raise ValueError(
        f"policy {policy.name!r} orders waiting jobs anew, which the RLScheduler rules cannot: use one of "
        f"{', '.join(POLICIES)}, a formula of what is known at submission, or a trained policy"
    )


def replay_rlscheduler(
    jobs: Jobs, cluster_procs: int, policy: str | Policy, backfill: bool, wait_bug: bool = True,
    procs_per_node: float = 1.0,
) -> Schedule:  # fmt: skip
    """Replays all jobs on an initially empty cluster as the RLScheduler code does.

    jobs: with `estimate` as that code sees requested times, jobs_from_log(..., estimates="as logged"), and processors
        the larger of allocated and requested; `limit`, `user` and `cancel` are ignored, as that code has none of them.
    policy: a name in `POLICIES`, or a policy whose scores are fixed at submission or that is a kernel network.
    wait_bug: WFP3 and UNICEP reckon with a wait of -1 - submit as coded; False for the true wait, now - submit.
    procs_per_node: nodes are given whole; the cluster has cluster_procs / procs_per_node of them.
    Raises ValueError for another policy, a cluster that is not a whole number of nodes, or a job wider than the cluster.
    """
    number, given, network = inputs_of_policy(jobs, cluster_procs, policy)
    if procs_per_node <= 0:
        raise ValueError(f"processors per node must be above 0, got {procs_per_node}")
    nodes = round(cluster_procs / procs_per_node)
    if not math.isclose(nodes * procs_per_node, cluster_procs):
        raise ValueError(f"{cluster_procs} processors are not a whole number of nodes with {procs_per_node} each")
    need = np.ceil(jobs.procs / procs_per_node).astype(np.int64)
    if len(jobs) and need.max() > nodes:
        index = int(need.argmax())
        raise ValueError(
            f"job at index {index} needs {jobs.procs[index]} processors, the cluster has {cluster_procs}: "
            "give the cluster's true processor count"
        )
    start = np.zeros(len(jobs), dtype=np.int64)
    backfilled = np.zeros(len(jobs), dtype=np.bool_)
    _replay(
        jobs.submit, jobs.runtime, jobs.procs, jobs.estimate, jobs.origin, need, nodes, float(procs_per_node),
        number, backfill, wait_bug, given, network, TAKE_BEST, new_recorder(0, 0, network.facts.shape[1]),
        start, backfilled,
    )  # fmt: skip
    return Schedule(start, backfilled)


def rlscheduler_metrics(jobs: Jobs, schedule: Schedule, cluster_procs: int) -> dict[str, float]:
    """The figures of that code for a whole replay, plain averages over its jobs; names carry units.

    utilisation_as_coded divides by the time from the first submission to the last *start*, so that it is too high and can
    exceed 1 (nan when nothing starts later than that submission); utilisation_makespan divides by the time to the last
    completion. last_start_s is in the log's clock. Run times must be above 0: that code drops other jobs.
    Raises ValueError when there is no job.
    """
    if len(jobs) == 0:
        raise ValueError("no job to measure: the replay is empty")
    wait = schedule.start - jobs.submit
    turnaround = wait + jobs.runtime
    slowdown = bounded_slowdown(wait, jobs.runtime)
    first_submit, last_start = int(jobs.submit[0]), int(schedule.start.max())
    makespan = int((schedule.start + jobs.runtime).max()) - first_submit
    area = int((jobs.runtime * jobs.procs).sum())
    return {
        "average_bounded_slowdown": float(slowdown.mean()),
        "max_bounded_slowdown": float(slowdown.max()),
        "average_wait_s": float(wait.mean()),
        "average_turnaround_s": float(turnaround.mean()),
        "average_slowdown": float((turnaround / jobs.runtime).mean()),
        "utilisation_as_coded": _share(area, cluster_procs * (last_start - first_submit)),
        "utilisation_makespan": _share(area, cluster_procs * makespan),
        "last_start_s": float(last_start),
        "makespan_s": float(makespan),
    }


def _share(part: int, whole: int) -> float:
    return part / whole if whole > 0 else math.nan


@compiled
def _score(policy, wait, submit, estimate, procs):
    """The job with the lowest score goes first. submit: s since the trace's origin; log10 counts it at least 0.1 s."""
    # SJF and smallest break ties by submit time in that code; jobs of equal score stand in that order in the queue anyway
    if policy == _FCFS:
        return float(submit)
    if policy == _LCFS:
        return -float(submit)
    if policy == _SJF:
        return float(estimate)
    if policy == _LJF:
        return -float(estimate)
    if policy == _SMALLEST:
        return float(procs)
    if policy == _LARGEST:
        return -float(procs)
    if policy == _SAF:
        return float(estimate) * procs
    if policy >= _GIVEN:
        return 0.0
    if policy == _WFP3:
        return -math.pow(wait / estimate, 3.0) * procs
    if policy == _UNICEP:
        return -(wait + 1e-15) / (math.log2(procs + 1e-15) * estimate)
    log_submit = math.log10(max(float(submit), 0.1))
    if policy == _F1:
        return math.log10(estimate) * procs + 870.0 * log_submit
    if policy == _F2:
        return math.sqrt(estimate) * procs + 25600.0 * log_submit
    if policy == _F3:
        return float(estimate) * procs + 6860000.0 * log_submit
    return estimate * math.sqrt(procs) + 530000.0 * log_submit


@compiled
def _sort(jobs, key):
    """Sorts job indices in place by their key, equal keys in the order in which they stand."""
    keys = key[jobs]
    for k in range(1, len(keys)):
        if keys[k] < keys[k - 1]:
            jobs[:] = jobs[np.argsort(keys, kind="mergesort")]
            return


@compiled
def _shadow_time(head, running, start, estimate, need, procs, free, procs_per_node):
    """When, by the estimated ends, the head has its processors. Sorts the running jobs by estimated end in place."""
    # an insertion sort, since all but those that started lately stand in this order already
    for k in range(1, len(running)):
        job = running[k]
        while k > 0 and start[running[k - 1]] + estimate[running[k - 1]] > start[job] + estimate[job]:
            running[k] = running[k - 1]
            k -= 1
        running[k] = job
    available = free * procs_per_node
    for job in running:
        available += need[job] * procs_per_node
        if available >= procs[head]:
            return start[job] + estimate[job]
    return start[running[-1]] + estimate[running[-1]]


@compiled
def _by_estimated_end(running, start, estimate, est_end, est_job):
    """Fills the running jobs' estimated ends, ascending, and the jobs themselves in that order."""
    for k in range(len(running)):
        job = running[k]
        end = start[job] + estimate[job]
        i = k
        while i > 0 and est_end[i - 1] > end:
            est_end[i] = est_end[i - 1]
            est_job[i] = est_job[i - 1]
            i -= 1
        est_end[i] = end
        est_job[i] = job


@compiled
def _replay(
    submit, runtime, procs, estimate, origin, need, nodes, procs_per_node, policy, backfill, wait_bug, given, network,
    sample, recorder, start, backfilled,
):  # fmt: skip
    """Fills `start` and `backfilled` (n,); `need` is in nodes. The lists' order decides ties, as in that code.

    given: scores of policy _GIVEN, and of the teacher that _NETWORK follows. sample: see simulator/policies/sampling.py.
    False when the recorder is full.
    """
    n = len(submit)
    queue = np.empty(n, dtype=np.int64)  # in the order of the last sort, then of arrival
    running = np.empty(n, dtype=np.int64)  # in the order of the last sort by estimated end, then of starting
    score = np.empty(n, dtype=np.float64)  # by job
    submit_key = submit.astype(np.float64)
    scores_change = not wait_bug and policy in (_WFP3, _UNICEP)
    queued = num_running = arrived = 0
    now = shadow = np.int64(0)
    free = nodes
    head = -1  # the job that the scheduler is committed to; -1 for none
    learned = policy == _NETWORK
    reads_running = False
    for signal in network.weights.signals:
        reads_running |= signal in (START_DELAY, RUNNING_WORK)
    rows = np.empty((VISIBLE_JOBS if learned else 0, network.weights.w1.shape[0]), dtype=np.float32)
    outputs = np.empty(VISIBLE_JOBS if learned else 0, dtype=np.float32)
    est_end = np.empty(n if learned else 0, dtype=np.int64)
    est_job = np.empty(n if learned else 0, dtype=np.int64)
    room = np.empty(n if learned else 0, dtype=np.float64)
    unused = np.zeros(1)
    nobody = np.zeros(1, dtype=np.int64)

    while True:
        if head < 0 and queued > 0:
            if scores_change:
                for job in queue[:queued]:
                    score[job] = _score(policy, now - submit[job], submit[job] - origin, estimate[job], procs[job])
            if not learned:
                _sort(queue[:queued], score)
                head = queue[0]
            else:  # the queue stays in the order of arrival: the first VISIBLE_JOBS are seen
                place, log_probability = 0, 0.0
                if queued > 1:
                    visible = min(queued, VISIBLE_JOBS)
                    if reads_running:
                        _by_estimated_end(running[:num_running], start, estimate, est_end, est_job)
                    moment = Moment(
                        now, int(free * procs_per_node), int(nodes * procs_per_node), queued, num_running, queue, submit,
                        procs, estimate, nobody, est_end, est_job, unused, unused, nobody, 1.0,
                    )  # fmt: skip
                    observe(moment, network, 0, visible, room, rows)
                    score_rows(rows, visible, network.weights, outputs)
                    if sample == DRAW:
                        place, log_probability = draw_choice(outputs, visible)
                    elif sample == FOLLOW:
                        for k in range(1, visible):
                            if given[queue[k]] < given[queue[place]]:
                                place = k
                    else:
                        for k in range(1, visible):
                            if outputs[k] > outputs[place]:
                                place = k
                    if sample != TAKE_BEST and not record_choice(
                        recorder, rows, visible, place, log_probability
                    ):
                        return False
                head = queue[place]
            if backfill and need[head] > free:  # the shadow time is found once, whatever happens until the head starts
                shadow = _shadow_time(head, running[:num_running], start, estimate, need, procs, free, procs_per_node)
                _sort(queue[:queued], submit_key)  # stays so while the head is blocked: arrivals join at the end

        if head >= 0:
            blocked = need[head] > free
            if backfill or not blocked:
                kept = 0
                for job in queue[:queued]:
                    ends_in_time = now + estimate[job] < shadow
                    starts = (ends_in_time and need[job] <= free) if blocked else job == head
                    if starts:
                        start[job] = now
                        backfilled[job] = blocked
                        free -= need[job]
                        running[num_running] = job
                        num_running += 1
                    else:
                        queue[kept] = job
                        kept += 1
                queued = kept
            if not blocked:
                head = -1
                if queued > 0:
                    continue  # decides again before anything arrives or ends, even in this very second
        if head < 0 and arrived == n:
            return True

        # one event: the next arrival, or before it the next completion; of several at a time, the first in its list
        first, end = -1, np.int64(0)
        for k in range(num_running):
            job_end = start[running[k]] + runtime[running[k]]
            if first < 0 or job_end < end:
                first, end = k, job_end
        if arrived < n and (first < 0 or submit[arrived] <= end):
            now = submit[arrived]
            wait = -1 - (now - origin)  # a waiting job's start time is -1 in that code; true waits come at the decision
            score[arrived] = _score(policy, wait, now - origin, estimate[arrived], procs[arrived])
            if policy == _GIVEN:
                score[arrived] = given[arrived]
            queue[queued] = arrived
            queued += 1
            arrived += 1
        else:
            now = end
            free += need[running[first]]
            num_running -= 1
            for k in range(first, num_running):
                running[k] = running[k + 1]


@compiled
def sample_range(
    submit, runtime, procs, estimate, cluster_procs, backfill, network, teacher, recorder, first, window_jobs, begin, end,
    seeds, start, count,
):  # fmt: skip
    """Replays windows begin : end of a trace with a network whose choices are drawn, or those of the teacher where it has scores;
    fills their start times and numbers of decisions. Returns the first window that did not fit into the recorder, or `end`, and
    the rows of those before it."""
    backfilled = np.empty(window_jobs, dtype=np.bool_)
    follows = len(teacher) > 0
    for k in range(begin, end):
        seed_draws(seeds[k])
        low, high = first[k], first[k] + window_jobs
        before, rows = recorder.used[DECISIONS], recorder.used[ROWS]
        of_window = NetworkInputs(network.weights, network.facts[low:high])
        if not _replay(
            submit[low:high], runtime[low:high], procs[low:high], estimate[low:high], 0, procs[low:high], cluster_procs,
            1.0, _NETWORK, backfill, True, teacher[low:high] if follows else teacher, of_window,
            FOLLOW if follows else DRAW, recorder, start[k], backfilled,
        ):  # fmt: skip
            return k, rows
        count[k] = recorder.used[DECISIONS] - before
    return end, recorder.used[ROWS]


@compiled
def replay_range(
    submit, runtime, procs, estimate, origin, cluster_procs, policy, backfill, wait_bug, given, network, recorder, first,
    begin, end, start, backfilled,
):  # fmt: skip
    """Replays windows begin : end of a trace, each on an initially empty cluster; fills their start times."""
    for k in range(begin, end):
        low, high = first[k], first[k] + start.shape[1]
        of_window = NetworkInputs(network.weights, network.facts[low:high])
        backfilled[k] = False
        _replay(
            submit[low:high], runtime[low:high], procs[low:high], estimate[low:high], origin, procs[low:high],
            cluster_procs, 1.0, policy, backfill, wait_bug, given[low:high], of_window, TAKE_BEST, recorder,
            start[k], backfilled[k],
        )  # fmt: skip
