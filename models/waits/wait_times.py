"""How long a job will wait: the present state replayed many times with run times drawn from the predicted quantiles, then
corrected by what became of jobs whose replays and circumstances looked alike.

A replay knows the requests, the sizes and the order of the queue, and not what the site's scheduler thinks of users. So its
answer is one feature among a few that can be seen at submission; the distribution that is told is that of the waits of the
nearest jobs of the recent past which had started by then. Nothing is used that was not known at the moment asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.runtime.predictor import LEVELS, QUANTILE_COLUMNS
from simulator.engine.replay import replay
from simulator.jobs.cluster import Cluster, RunningJobs
from simulator.jobs.jobs import Jobs
from simulator.policies.registry import Policy, parse_policy

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

POINTS = (0.10, 0.25, 0.50, 0.75, 0.90)
"""Levels at which a wait is told; the first and the last bound the 80 % interval."""

FEATURES = (
    "replayed_median", "replayed_at_once", "user_waiting", "user_oldest", "user_last_wait", "request", "procs", "free",
    "overtaken",
)  # fmt: skip
"""What makes circumstances alike, see `features_of`."""
WEIGHTS = np.array([1.0, 10.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
OTHER_USER = 4.0
"""Added to the squared distance of a job of another user."""
NEIGHBOURS, LEAST_NEIGHBOURS = 30, 10
POOL_JOBS, POOL_STRIDE, POOL_SAMPLES = 400, 25, 20
"""Past jobs among which neighbours are looked for: the last so many of every 25th job, each replayed so often."""
REACH_S = 365 * 86_400
SIMILAR_JOBS = 50
FEWEST_SIMILAR = 10
NEVER = 1 << 60
TIMELESS = ("FCFS", "LCFS", "SJF", "LJF", "smallest", "largest", "SAF", "SEXP", "LEXP", "WFP3", "UNICEP")
"""Policies whose order does not depend on when the replay takes place nor on what has been used before."""


@dataclass(frozen=True)
class JobSet:
    """Jobs that run or wait, in order. since: start or submission, second of the log's clock; request: wall time, seconds,
    below 1 where there is none; number: of the job in its `History`, -1 for one that is not in it; all int64 (jobs,).
    quantiles: of the predicted run time at LEVELS, seconds, float64 (jobs, 8)."""

    since: IntArray
    procs: IntArray
    request: IntArray
    user: IntArray
    number: IntArray
    quantiles: FloatArray

    def __len__(self) -> int:
        return len(self.since)

    def with_job(self, since: int, procs: int, request: int, user: int, number: int, quantiles: FloatArray) -> JobSet:
        return JobSet(
            np.append(self.since, since), np.append(self.procs, procs), np.append(self.request, request),
            np.append(self.user, user), np.append(self.number, number), np.concatenate([self.quantiles, quantiles[None]]),
        )  # fmt: skip


@dataclass(frozen=True)
class State:
    """The machine at second `now` of the log's clock; waiting: in the order of submission."""

    now: int
    cluster_procs: int
    running: JobSet
    waiting: JobSet

    @property
    def busy_procs(self) -> int:
        return int(self.running.procs.sum())

    def with_job(self, procs: int, request: int, user: int) -> State:
        """The same with a hypothetical job submitted now, the last to wait. Its own run time delays nobody before it."""
        quantiles = np.full(len(LEVELS), float(max(request, 1)))
        waiting = self.waiting.with_job(self.now, procs, request, user, -1, quantiles)
        return State(self.now, self.cluster_procs, self.running, waiting)


@dataclass(frozen=True)
class History:
    """All jobs of a source in order of submission, int64 (jobs,), times in seconds of the log's clock.

    start: NEVER for a job that was cancelled while it waited; leaves: when the job left the queue; end: when it left the
    machine."""

    cluster_procs: int
    job_index: IntArray
    submit: IntArray
    start: IntArray
    leaves: IntArray
    end: IntArray
    procs: IntArray
    request: IntArray
    user: IntArray
    quantiles: FloatArray

    def __len__(self) -> int:
        return len(self.submit)

    def wait(self, numbers: IntArray) -> IntArray:
        return self.start[numbers] - self.submit[numbers]

    def class_of(self, procs: int | IntArray, request: int | IntArray) -> IntArray:
        """Of size (serial, up to 1/16 of the cluster, 1/4, larger) and of requested wall time (none, up to 10 min, 1 h, 8
        h, more)."""
        size = np.searchsorted([1, max(1, self.cluster_procs / 16), max(1, self.cluster_procs / 4)], procs)
        return 5 * size + np.searchsorted([1, 600, 3600, 28_800], request, side="right")

    @cached_property
    def latest_end(self) -> IntArray:
        """Of this job and all before it."""
        return np.maximum.accumulate(self.end)

    @cached_property
    def starts_by_class(self) -> dict[int, IntArray]:
        return self._by(self.class_of(self.procs, self.request))

    @cached_property
    def starts_by_user(self) -> dict[int, IntArray]:
        return self._by(self.user)

    @cached_property
    def starts(self) -> IntArray:
        """Numbers of the jobs that started, by start."""
        return self._by(np.zeros(len(self), dtype=np.int64))[0]

    def _by(self, group: IntArray) -> dict[int, IntArray]:
        order = np.lexsort((np.arange(len(self)), self.start, group))
        order = order[self.start[order] < NEVER]
        keys, first = np.unique(group[order], return_index=True)
        return dict(zip(keys.tolist(), np.split(order, first[1:]), strict=True))

    def last_started(self, among: IntArray | None, moment: int, most: int) -> IntArray:
        """The last `most` of jobs (numbers by start) that had started by a moment."""
        if among is None:
            return np.zeros(0, dtype=np.int64)
        known = int(np.searchsorted(self.start[among], moment, side="right"))
        return among[max(0, known - most) : known]

    def job_set(self, numbers: IntArray, since: IntArray) -> JobSet:
        return JobSet(
            since, self.procs[numbers], self.request[numbers], self.user[numbers], numbers, self.quantiles[numbers]
        )


def history_of(rows: pl.DataFrame, cluster_procs: int) -> History:
    """rows: in order of submission, job_index, submit_s, start_s, cancel_s, runtime_s, procs, requested_walltime_s,
    user_number and QUANTILE_COLUMNS. A job whose start the log does not know is left out: nobody knows when it waited."""
    rows = rows.filter(pl.col("start_s").is_not_null() | pl.col("cancel_s").is_not_null())
    start = rows["start_s"].fill_null(NEVER).to_numpy()
    cancel = rows["cancel_s"].fill_null(NEVER).to_numpy()
    leaves = np.minimum(start, cancel)
    end = np.where(start < NEVER, start + rows["runtime_s"].to_numpy(), leaves)
    return History(
        cluster_procs, rows["job_index"].to_numpy(), rows["submit_s"].to_numpy(), start, leaves, end,
        rows["procs"].to_numpy(), rows["requested_walltime_s"].to_numpy(), rows["user_number"].to_numpy(),
        rows.select(QUANTILE_COLUMNS).to_numpy().astype(np.float64),
    )  # fmt: skip


def state_at(history: History, moment: int, before: int | None = None) -> State:
    """Who runs and who waits at a moment. before: only jobs with a smaller number; left out: all submitted by then."""
    last = int(np.searchsorted(history.submit, moment, side="right")) if before is None else before
    first = min(int(np.searchsorted(history.latest_end[:last], moment, side="right")), last)
    numbers = np.arange(first, last)
    waits = numbers[history.leaves[numbers] > moment]
    runs = numbers[(history.start[numbers] <= moment) & (history.end[numbers] > moment)]
    running = history.job_set(runs, history.start[runs])
    return State(moment, history.cluster_procs, running, history.job_set(waits, history.submit[waits]))


def draw_runtimes(jobs: JobSet, elapsed: IntArray, samples: int, rng: np.random.Generator) -> IntArray:
    """Run times from the predicted quantiles, each longer than what has elapsed (seconds, (jobs,)); int64 (samples, jobs).

    The logarithm is linear between the levels; below the lowest it goes on as above it, down to 1 s, above the highest up to
    the request, or where there is none as far as from the last level but one. A job that has outlived all that goes on for up
    to a tenth of its age and a minute.
    """
    logs = np.log(np.maximum(jobs.quantiles, 1.0))
    low = np.maximum(2 * logs[:, :1] - logs[:, 1:2], 0.0)
    request = np.log(np.maximum(jobs.request, 1))[:, None]
    high = np.where(jobs.request[:, None] >= 1, np.maximum(request, logs[:, -1:]), 2 * logs[:, -1:] - logs[:, -2:-1])
    table = np.concatenate([low, logs, high], axis=1)
    levels = np.concatenate([[0.0], LEVELS, [1.0]])

    age = np.log(np.maximum(elapsed, 1))[:, None]
    begun = elapsed > 0
    row = np.arange(len(jobs))
    place = np.clip((table <= age).sum(axis=1) - 1, 0, len(levels) - 2)
    width = np.maximum(table[row, place + 1] - table[row, place], 1e-12)
    passed = levels[place] + np.diff(levels)[place] * np.clip((age[:, 0] - table[row, place]) / width, 0.0, 1.0)
    outlived = begun & (age[:, 0] >= table[:, -1])

    uniform = rng.random((samples, len(jobs)))
    level = np.where(begun, passed, 0.0) + uniform * (1.0 - np.where(begun, passed, 0.0))
    segment = np.clip(np.searchsorted(levels, level, side="right") - 1, 0, len(levels) - 2)
    share = (level - levels[segment]) / np.diff(levels)[segment]
    drawn = np.exp(table[row, segment] + share * (table[row, segment + 1] - table[row, segment]))
    drawn = np.where(outlived, elapsed + uniform * (60 + 0.1 * elapsed), drawn)
    return np.maximum(np.rint(drawn).astype(np.int64), elapsed + 1)


def start_times(
    state: State,
    position: int,
    samples: int,
    seed: int | list[int],
    policy: str | Policy = "FCFS",
    backfill: str = "easy",
) -> FloatArray:
    """Seconds from now until the waiting job at `position` (-1: the last) starts, in `samples` replays, float64 (samples,).

    The scheduler believes the requests (where there is none, the run time), the jobs run as long as is drawn. Nobody else
    comes. All waiting jobs count as submitted now, in their order: policies that look at the wait see only what is waited
    from now on. Raises ValueError as `simulator.engine.replay.replay` does.
    """

    if isinstance(policy, str):
        policy = parse_policy(policy)
    running, waiting = state.running, state.waiting
    rng = np.random.default_rng(seed)
    elapsed = state.now - running.since
    held = draw_runtimes(running, elapsed, samples, rng)
    queued = draw_runtimes(waiting, np.zeros(len(waiting), dtype=np.int64), samples, rng)
    held_limit, queued_limit = np.maximum(held, running.request), np.maximum(queued, waiting.request)
    procs = max(state.cluster_procs, state.busy_procs)  # logs hold a few seconds in which more is in use than there is
    nobody = max(running.user.max(initial=0), waiting.user.max(initial=0)) + 1
    user = np.where(waiting.user >= 0, waiting.user, nobody)
    position %= len(waiting)
    if policy.name in TIMELESS:
        # All samples in one replay, one after the other on an empty machine, which saves most of the work around a replay: what
        # runs already is submitted a second ahead of the queue, and runs for what is left of it.
        apart = int((held.sum(axis=1) + queued.sum(axis=1)).max()) + 2
        begin = state.now + 1 + apart * np.arange(samples)
        submit = np.repeat(begin[:, None], len(running) + len(waiting), axis=1)
        submit[:, : len(running)] -= 1
        limit = np.concatenate([held_limit - elapsed + 1, queued_limit], axis=1).ravel()
        width = np.tile(np.concatenate([running.procs, waiting.procs]), samples)
        runtime = np.concatenate([held - elapsed + 1, queued], axis=1).ravel()
        jobs = Jobs(submit.ravel(), runtime, width, limit, limit)
        found = replay(jobs, procs, policy, backfill).start.reshape(samples, -1)[:, len(running) + position]
        return (found - begin).astype(np.float64)
    submit = np.full(len(waiting), state.now)
    start = np.empty(samples)
    for k in range(samples):
        limit = queued_limit[k]
        jobs = Jobs(submit, queued[k], waiting.procs, limit, limit, user=user)
        runs = RunningJobs(running.since, held[k], running.procs, held_limit[k], held_limit[k], running.user)
        start[k] = replay(jobs, Cluster(procs, runs), policy, backfill).start[position]
    return start - state.now


def features_of(history: History, state: State, position: int, replayed: FloatArray) -> FloatArray:
    """FEATURES of the waiting job at `position` as they were when it was submitted, weighted for distances, float64
    (features,).

    The logarithm of 1 + : the median of the replayed waits; jobs of the user that wait; the time the oldest of them has
    waited; the wait of the user's job that started last (-1 s for none); the request; processors; free processors; jobs
    that wait and are neither wider nor longer by request. And the share of replays in which it started at once.
    """
    waiting = state.waiting
    ahead = np.arange(len(waiting)) != position % len(waiting)
    procs, request, user = (int(column[position]) for column in (waiting.procs, waiting.request, waiting.user))
    mine = ahead & (waiting.user == user)
    last = history.last_started(history.starts_by_user.get(user), state.now, 1)
    raw = np.array([
        np.median(replayed), 0.0, mine.sum(), (state.now - waiting.since[mine]).max(initial=0),
        history.wait(last)[0] if len(last) else 0.0, request, procs, state.cluster_procs - state.busy_procs,
        (ahead & (waiting.procs <= procs) & (waiting.request <= request)).sum(),
    ])  # fmt: skip
    found = np.log1p(np.maximum(raw, 0.0))
    found[1] = (replayed <= 1).mean()
    return found * WEIGHTS


@dataclass(frozen=True)
class Pool:
    """Past jobs, in order of submission: features float64 (jobs, features); replayed: their waits at POINTS as replayed,
    seconds, (jobs, 5); user, submit, wait int64 (jobs,). What became of a job is read only once it has started."""

    features: FloatArray
    replayed: FloatArray
    user: IntArray
    submit: IntArray
    wait: IntArray

    def known_at(self, moment: int) -> IntArray:
        """The last POOL_JOBS that had been submitted before a moment and had started by then."""
        return np.flatnonzero((self.submit < moment) & (self.submit + self.wait <= moment))[-POOL_JOBS:]


def pool_numbers(history: History, moment: int, stride: int | None = None) -> IntArray:
    """Numbers of the jobs that a question at a moment compares with: of every `stride`-th job, the last that had started."""
    submitted = int(np.searchsorted(history.submit, moment, side="left"))
    stride = stride or stride_of(submitted)
    numbers = np.arange(0, submitted, stride)
    return numbers[history.start[numbers] <= moment][-POOL_JOBS:]


def stride_of(jobs: int) -> int:
    """A pool should reach back some weeks and not only to the last campaign, as far as there are jobs."""
    return int(np.clip(jobs // POOL_JOBS, 1, POOL_STRIDE))


def pool_of(
    history: History, numbers: IntArray, seed: int, policy: str | Policy = "FCFS", backfill: str = "easy"
) -> Pool:
    """Replays each of these jobs from the state in which it was submitted."""
    features, replayed = np.empty((len(numbers), len(FEATURES))), np.empty((len(numbers), len(POINTS)))
    for k, number in enumerate(numbers.tolist()):
        state = submission_state(history, number)
        waits = start_times(state, -1, POOL_SAMPLES, [seed, number], policy, backfill)
        features[k] = features_of(history, state, -1, waits)
        replayed[k] = np.quantile(waits, POINTS)
    return Pool(features, replayed, history.user[numbers], history.submit[numbers], history.wait(numbers))


def submission_state(history: History, number: int) -> State:
    """The state in which a job of the log was submitted, with this job the last that waits."""
    state = state_at(history, int(history.submit[number]), before=number)
    job = history.job_set(np.array([number]), history.submit[[number]])
    waiting = state.waiting.with_job(
        int(job.since[0]), int(job.procs[0]), int(job.request[0]), int(job.user[0]), number, job.quantiles[0]
    )
    return State(state.now, state.cluster_procs, state.running, waiting)


def calibrated(pool: Pool, features: FloatArray, user: int, moment: int) -> tuple[FloatArray | None, int]:
    """(waits in seconds at POINTS, number of neighbours): weighted quantiles of the waits of the nearest jobs.

    Nearer ones weigh more (a parabola that falls to 5 %). None where fewer than LEAST_NEIGHBOURS are known at `moment`.
    """
    known = pool.known_at(moment)
    if len(known) < LEAST_NEIGHBOURS:
        return None, len(known)
    squared = (pool.features[known] - features) ** 2
    if user < 0:  # nobody in particular: not somebody whose first job this is
        squared = squared[:, [not name.startswith("user_") for name in FEATURES]].sum(axis=1)
    else:
        squared = squared.sum(axis=1) + OTHER_USER * (pool.user[known] != user)
    nearest = np.argsort(squared, kind="stable")[:NEIGHBOURS]
    weight = 1.05 - squared[nearest] / max(squared[nearest].max(), 1e-9)
    return weighted_quantiles(pool.wait[known[nearest]].astype(np.float64), weight, POINTS), len(nearest)


def waits_of_survivors(history: History, moment: int, waited: int) -> tuple[FloatArray | None, int]:
    """(whole waits in seconds at POINTS, number of jobs) of jobs of the last REACH_S that waited longer than `waited` seconds.

    What holds a job back for long shows in no replay. Those that still wait, or were cancelled, count for as long as they waited
    (Kaplan and Meier 1958): without them the waits would look too short. None where fewer than LEAST_NEIGHBOURS started.
    """
    first, last = np.searchsorted(history.submit, [moment - REACH_S, moment])
    seen = np.minimum(history.leaves[first:last], moment) - history.submit[first:last]
    started = history.start[first:last] <= moment
    among = seen > waited
    seen, started = seen[among], started[among]
    if started.sum() < LEAST_NEIGHBOURS:
        return None, int(started.sum())
    order = np.lexsort((~started, seen))
    still = np.cumprod(np.where(started[order], 1 - 1 / np.arange(len(seen), 0, -1), 1.0))
    places = np.searchsorted(1 - still, np.array(POINTS) - 1e-9)
    return seen[order][np.minimum(places, len(seen) - 1)].astype(np.float64), int(started.sum())


def weighted_quantiles(values: FloatArray, weight: FloatArray, points: tuple[float, ...]) -> FloatArray:
    """The least value up to which at least a share `point` of the weight lies, for every point."""
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weight[order]) / weight.sum()
    return values[order][np.minimum(np.searchsorted(share, np.array(points) - 1e-9), len(values) - 1)]


def similar_waits(history: History, procs: int, request: int, moment: int) -> IntArray:
    """Waits of the last SIMILAR_JOBS started jobs of the same class of size and request, else of all; the baseline."""
    group = history.starts_by_class.get(int(history.class_of(procs, request)))
    found = history.last_started(group, moment, SIMILAR_JOBS)
    if len(found) < FEWEST_SIMILAR:
        found = history.last_started(history.starts, moment, SIMILAR_JOBS)
    return history.wait(found)
