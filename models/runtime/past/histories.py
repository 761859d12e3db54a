"""What had happened before each submission: the jobs that had ended, and those that ran or waited. One pass in the order of time.

Jobs of the same class, such as those of a user, form a chain: each names the one that ended before it, so that the last few
are found in as many steps. All else about a class are sums. A pass takes the same time for each job, whatever the log's
length. It is compiled, because as one SQL query the same took 25 s of CPU time for a million jobs, and did not finish for eleven.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.compiled import compiled, lean
from models.runtime.past.past_jobs import (
    ALIKE,
    EXECUTABLE,
    GROUP,
    NOT_LOGGED,
    NUM_KINDS,
    USER,
    in_order,
    number_classes,
    past_jobs_of,
)

IntArray = NDArray[np.int64]

LAST_JOBS = 10
"""Jobs that the median, the spread and the share of failures look at."""
BATCH_PAUSE_S = 600
"""A longer pause between two submissions ends a batch."""

NUM_CHAINS = 2
"""The first kinds, of which more than the last job is looked at."""

HISTORY_COLUMNS = (
    "user_jobs_ended",
    "user_mean_runtime_s",
    "user_mean_requested_walltime_s",
    "user_mean_requested_procs",
    "user_median_runtime_s",
    "user_log_spread",
    "user_failed_share",
    "last_runtime_s",
    "second_last_runtime_s",
    "third_last_runtime_s",
    "last_requested_walltime_s",
    "last_requested_procs",
    "last_failed",
    "last_two_runtime_s",
    "seconds_since_last_end",
    "alike_jobs_ended",
    "alike_last_runtime_s",
    "alike_second_last_runtime_s",
    "alike_mean_runtime_s",
    "alike_median_runtime_s",
    "alike_log_spread",
    "executable_jobs_ended",
    "executable_last_runtime_s",
    "executable_mean_runtime_s",
    "group_jobs_ended",
    "group_mean_runtime_s",
    "seconds_since_last_submission",
    "same_request_as_last",
    "batch_position",
    "user_jobs_running",
    "user_running_elapsed_s",
    "user_jobs_waiting",
    "jobs_running",
    "procs_running",
    "jobs_waiting",
    "procs_waiting",
)
"""Columns of `histories`, as features.job_features describes them."""


def _record(kind: type, *names: str) -> np.dtype[Any]:
    return np.dtype([(name, kind) for name in names])


_ROW = _record(np.float64, *HISTORY_COLUMNS)
_CLASS = _record(np.int64, "last", "ended", "timed", "runtime")
_ASKED = ("with_walltime", "walltime", "with_procs", "procs")
_USER = _record(np.int64, *_ASKED, "waiting", "running", "started", "submitted", "batch")


class _Order(NamedTuple):
    """Jobs in the order in which they leave the queue, and in which they end, int32 (jobs that do,)."""

    leaves: NDArray[np.int32]
    ends: NDArray[np.int32]


class _State(NamedTuple):
    """What has happened so far. at: how many submissions, leaves and ends. queue: jobs and processors waiting, then running. before:
    the job of the class that ended before this one, int32 (NUM_CHAINS, jobs). classes, users: sums, of `_CLASS` and `_USER`."""

    at: IntArray
    queue: IntArray
    before: NDArray[np.int32]
    classes: NDArray[Any]
    users: NDArray[Any]


def histories(parts: Iterable[pl.DataFrame], num_jobs: int, first_part: int = 0) -> Iterator[pl.DataFrame]:
    """HISTORY_COLUMNS of each job, as float64 and null where there is nothing to tell, in frames of as many jobs as each part has,
    without those before `first_part`.

    parts: the jobs in the order of submission: submit_s, start_s, end_s, runtime_s, procs, requested_procs, requested_walltime_s,
    user_number, group_number, executable_number (int32, from 0), each null where unknown, and failed. num_jobs: how many there are in
    all parts. All are read before the first frame comes. A job takes 61 bytes then, so that logs of 50 million jobs fit into memory. A
    row depends on what happened in an earlier second alone, and on the user's earlier submissions.
    """
    log, heights = past_jobs_of(parts, num_jobs)
    num_users, num_classes = number_classes(log)
    leaves = in_order(np.where(log.start != NOT_LOGGED, log.start, log.end))
    order = _Order(leaves, in_order(log.end))
    classes, users = np.zeros(num_classes, _CLASS), np.zeros(num_users, _USER)
    classes["last"], users["submitted"] = -1, -1
    before = np.full((NUM_CHAINS, len(log.submit)), -1, dtype=np.int32)
    state = _State(np.zeros(3, np.int64), np.zeros(4, np.int64), before, classes, users)
    first = sum(heights[:first_part])
    _skip(log, state, first)
    for height in heights[first_part:]:
        rows = np.full(height, np.nan, _ROW)
        _pass(log, order, state, first, rows)
        first += height
        yield pl.DataFrame({name: rows[name] for name in HISTORY_COLUMNS}, nan_to_null=True)


@compiled
def _skip(log, state, jobs):
    """Enters the submissions of the first jobs, of which no row is wanted."""
    for job in range(jobs):
        user = log.class_of[USER, job]
        if user >= 0:
            _enter_submission(log, state.users[user], job)


@compiled
def _pass(log, order, state, first, rows):
    """Fills the rows of the jobs from `first` on. The state is that before the first of them."""
    runtimes = np.empty(LAST_JOBS)
    for i in range(len(rows)):
        job = first + i
        _bring_to(log, order, state, log.submit[job])
        user = log.class_of[USER, job]
        if user >= 0:
            _tell_of_user(log, state, job, runtimes, rows[i])
            _tell_of_alike(log, state, job, runtimes, rows[i])
            _tell_of_submissions(log, state.users[user], job, rows[i])
        _tell_of_others(log, state, job, rows[i])


@lean
def _bring_to(log, order, state, now):
    """Lets happen what happened before the second `now`."""
    at = state.at
    while at[0] < len(log.submit) and log.submit[at[0]] < now:
        job = at[0]
        if log.start[job] != NOT_LOGGED or log.end[job] != NOT_LOGGED:
            _change_waiting(log, state, job, 1)
        at[0] += 1
    while at[1] < len(order.leaves):
        job = order.leaves[at[1]]
        start = log.start[job]
        if (start if start != NOT_LOGGED else log.end[job]) >= now:
            break
        _change_waiting(log, state, job, -1)
        if _has_run(log, job):
            _change_running(log, state, job, 1)
        at[1] += 1
    while at[2] < len(order.ends):
        job = order.ends[at[2]]
        if log.end[job] >= now:
            break
        if _has_run(log, job):
            _change_running(log, state, job, -1)
        _remember(log, state, job)
        at[2] += 1


@lean
def _has_run(log, job):
    """Whether start and end are there."""
    return log.start[job] != NOT_LOGGED and log.end[job] >= log.start[job]


@lean
def _or_nothing(number):
    """As a feature."""
    return float(number) if number != NOT_LOGGED else math.nan


@lean
def _change_waiting(log, state, job, sign):
    """A job comes (1) or goes (-1)."""
    state.queue[0] += sign
    state.queue[1] += sign * max(log.requested_procs[job], 0)
    user = log.class_of[USER, job]
    if user >= 0:
        state.users[user].waiting += sign


@lean
def _change_running(log, state, job, sign):
    """A job starts (1) or ends (-1)."""
    state.queue[2] += sign
    state.queue[3] += sign * max(log.procs[job], 0)
    user = log.class_of[USER, job]
    if user >= 0:
        state.users[user].running += sign
        state.users[user].started += sign * log.start[job]


@lean
def _remember(log, state, job):
    """Enters a job that has ended into its classes."""
    for kind in range(NUM_KINDS):
        number = log.class_of[kind, job]
        if number < 0:
            continue
        of_class = state.classes[number]
        if kind < NUM_CHAINS:
            state.before[kind, job] = of_class.last
        of_class.last = job
        of_class.ended += 1
        if log.runtime[job] != NOT_LOGGED:
            of_class.timed += 1
            of_class.runtime += log.runtime[job]
    if log.class_of[USER, job] >= 0:
        user = state.users[log.class_of[USER, job]]
        if log.requested_walltime[job] != NOT_LOGGED:
            user.with_walltime += 1
            user.walltime += log.requested_walltime[job]
        if log.requested_procs[job] != NOT_LOGGED:
            user.with_procs += 1
            user.procs += log.requested_procs[job]


@lean
def _mean(total, count):
    """NaN of nothing."""
    return total / count if count else math.nan


@lean
def _runtime_of(log, job):
    """Of a job of a chain; NaN behind its end."""
    return _or_nothing(log.runtime[job]) if job >= 0 else math.nan


@lean
def _earlier(chain, job):
    """The job before in a chain, -1 behind its end."""
    return chain[job] if job >= 0 else -1


@lean
def _last_ones(log, chain, job, runtimes):
    """(median in s, spread of logarithms, share of failures) of the last jobs of a chain. runtimes: (LAST_JOBS,), is written."""
    looked, failed, count = 0, 0, 0
    mean, squares = 0.0, 0.0
    while job >= 0 and looked < LAST_JOBS:
        looked += 1
        failed += log.failed[job]
        runtime = log.runtime[job]
        if runtime != NOT_LOGGED:
            k = count
            while k > 0 and runtimes[k - 1] > runtime:
                runtimes[k] = runtimes[k - 1]
                k -= 1
            runtimes[k] = runtime
            count += 1
            logarithm = math.log(max(runtime, 1))
            difference = logarithm - mean
            mean += difference / count
            squares += difference * (logarithm - mean)
        job = chain[job]
    if not count:
        return math.nan, math.nan, _mean(failed, looked)
    return (runtimes[(count - 1) // 2] + runtimes[count // 2]) / 2, math.sqrt(squares / count), failed / looked


@lean
def _tell_of_user(log, state, job, runtimes, row):
    """The user's jobs that had ended."""
    number, chain = log.class_of[USER, job], state.before[USER]
    of_class, user = state.classes[number], state.users[number]
    last = of_class.last
    second = _earlier(chain, last)
    row.user_mean_runtime_s = _mean(of_class.runtime, of_class.timed)
    row.user_mean_requested_walltime_s = _mean(user.walltime, user.with_walltime)
    row.user_mean_requested_procs = _mean(user.procs, user.with_procs)
    median, spread, failed_share = _last_ones(log, chain, last, runtimes)
    row.user_median_runtime_s, row.user_log_spread, row.user_failed_share = median, spread, failed_share
    row.last_runtime_s = _runtime_of(log, last)
    row.second_last_runtime_s = _runtime_of(log, second)
    row.third_last_runtime_s = _runtime_of(log, _earlier(chain, second))
    if last >= 0:
        row.last_requested_walltime_s = _or_nothing(log.requested_walltime[last])
        row.last_requested_procs = _or_nothing(log.requested_procs[last])
        row.last_failed = log.failed[last]
        row.seconds_since_last_end = log.submit[job] - log.end[last]
        before = row.last_runtime_s if math.isnan(row.second_last_runtime_s) else row.second_last_runtime_s
        row.last_two_runtime_s = (row.last_runtime_s + before) / 2


@lean
def _tell_of_alike(log, state, job, runtimes, row):
    """Those of them with the same request."""
    chain, of_class = state.before[ALIKE], state.classes[log.class_of[ALIKE, job]]
    row.alike_last_runtime_s = _runtime_of(log, of_class.last)
    row.alike_second_last_runtime_s = _runtime_of(log, _earlier(chain, of_class.last))
    row.alike_mean_runtime_s = _mean(of_class.runtime, of_class.timed)
    row.alike_median_runtime_s, row.alike_log_spread, _ = _last_ones(log, chain, of_class.last, runtimes)


@lean
def _enter_submission(log, user, job):
    """The user's newest one. It ends a batch, or belongs to it."""
    previous = user.submitted
    if previous >= 0:
        same = log.class_of[ALIKE, job] == log.class_of[ALIKE, previous]
        user.batch = user.batch + 1 if same and log.submit[job] - log.submit[previous] <= BATCH_PAUSE_S else 0
    user.submitted = job


@lean
def _tell_of_submissions(log, user, job, row):
    """The user's submissions in a row, this one included from now on, and those that run."""
    previous = user.submitted
    if previous >= 0:
        row.seconds_since_last_submission = log.submit[job] - log.submit[previous]
        row.same_request_as_last = log.class_of[ALIKE, job] == log.class_of[ALIKE, previous]
    _enter_submission(log, user, job)
    row.user_running_elapsed_s = _mean(user.running * log.submit[job] - user.started, user.running)


@lean
def _tell_of_others(log, state, job, row):
    """What there is to tell of a job of nobody, too: numbers of jobs, the executable's and the group's, and the queue."""
    user = log.class_of[USER, job]
    row.batch_position = state.users[user].batch if user >= 0 else 0
    row.user_jobs_running = state.users[user].running if user >= 0 else 0
    row.user_jobs_waiting = state.users[user].waiting if user >= 0 else 0
    row.user_jobs_ended = _ended(log, state, USER, job)
    row.alike_jobs_ended = _ended(log, state, ALIKE, job)
    row.executable_jobs_ended = _ended(log, state, EXECUTABLE, job)
    row.group_jobs_ended = _ended(log, state, GROUP, job)
    if row.executable_jobs_ended:
        of_class = state.classes[log.class_of[EXECUTABLE, job]]
        row.executable_last_runtime_s = _runtime_of(log, of_class.last)
        row.executable_mean_runtime_s = _mean(of_class.runtime, of_class.timed)
    if row.group_jobs_ended:
        of_class = state.classes[log.class_of[GROUP, job]]
        row.group_mean_runtime_s = _mean(of_class.runtime, of_class.timed)
    row.jobs_waiting, row.procs_waiting, row.jobs_running, row.procs_running = state.queue


@lean
def _ended(log, state, kind, job):
    """How many jobs of its class had ended."""
    number = log.class_of[kind, job]
    return state.classes[number].ended if number >= 0 else 0
