"""How good predicted waits are: jobs of the past predicted at their submission, and scored.

Beside them stands a published rival: bounds on quantiles of waits from the waits of the same class alone, with a confidence.

The binomial method batch predictor (Brevik, Nurmi and Wolski, PPoPP 2006, and QBETS by Nurmi, Brevik and Wolski, 2007). If the waits of a
class were independent draws, the number of them below their quantile would be binomial. So one of the waits in order is a
bound on the quantile with the confidence wanted. When three waits in a row miss their bounds, the older waits are forgotten. The
paper forgets later where waits are correlated. Classes are those of `History.class_of`, and the paper's are the queue's and by size.
"""

from __future__ import annotations

import bisect
import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import polars as pl

from models.runtime.predictor import FloatArray
from models.waits.answers import (
    LONGEST_S,
    MOST_OF_PAST,
    PAST_QUEUES,
    PAST_SAMPLES,
    affordable,
    corrected_wait,
    correction_by,
    past_moments,
    past_queue,
    queue_said,
)
from models.waits.history import NEVER_STARTED, History, IntArray, state_at, submission_state
from models.waits.neighbours import (
    FOLLOWED_JOBS,
    LEAST_NEIGHBOURS,
    POINTS,
    IntervalEnds,
    PastWaits,
    Pool,
    expected_wait,
    pool_of,
    similar_waits,
    stride_of,
    waits_of_neighbours,
)
from models.waits.replays import ROW, QueueStarts, RowStarts

CONFIDENCE = 0.95
MISSES_IN_A_ROW = 3
BOUNDED = ((0.10, False), (0.50, True), (0.90, True))
"""What is bounded: (level of the quantile, from above?). The first and the last are the ends of the 80 % interval."""


def upper_ranks(level: float, most: int) -> IntArray:
    """Which wait in ascending order, counted from 1, is at least the quantile of a level with CONFIDENCE, int64 (most + 1,).

    By the number of waits, 0 to most. Where even the largest is not, the rank is the number of waits plus 1."""
    from scipy.stats import binom

    return (binom.ppf(CONFIDENCE, np.arange(most + 1), level) + 1).astype(np.int64)


class ClassBound:
    """The bound on one quantile of the waits of one class. ranks: of `upper_ranks`. sign: -1 for a bound from below."""

    def __init__(self, ranks: IntArray, sign: int) -> None:
        self._ranks, self._sign = ranks, sign
        self._fewest = int(np.flatnonzero(ranks <= np.arange(len(ranks)))[0])
        self._arrived: list[int] = []
        self._ordered: list[int] = []
        self._missed = 0

    def bound(self) -> float:
        """Seconds, NaN with too few waits."""
        count = len(self._ordered)
        rank = int(self._ranks[count])
        return float(self._sign * self._ordered[rank - 1]) if 0 < rank <= count else float("nan")

    def add(self, wait: int, predicted: float) -> None:
        """A job has started. predicted: its bound at submission, NaN for none."""
        value = self._sign * wait
        self._arrived.append(value)
        bisect.insort(self._ordered, value)
        self._missed = self._missed + 1 if value > self._sign * predicted else 0
        if self._missed == MISSES_IN_A_ROW and len(self._arrived) > self._fewest:
            self._arrived = self._arrived[-self._fewest :]
            self._ordered = sorted(self._arrived)
            self._missed = 0


def binomial_bounds(history: History) -> FloatArray:
    """The bounds BOUNDED of every job at its submission, from the jobs of its class that had started by then.

    Seconds, float64 (jobs, 3), NaN where its class has too few."""
    classes = history.class_of(history.procs, history.request)
    ranks = {level: upper_ranks(level, len(history)) for level, _ in BOUNDED}
    ranks[BOUNDED[0][0]] = ranks[BOUNDED[-1][0]]  # a bound from below is one from above of the negative waits

    def fresh() -> list[ClassBound]:
        return [ClassBound(ranks[level], 1 if is_upper else -1) for level, is_upper in BOUNDED]

    by_class: defaultdict[int, list[ClassBound]] = defaultdict(fresh)
    bounds = np.full((len(history), len(BOUNDED)), np.nan)
    started: list[tuple[int, int]] = []
    for job, (now, group) in enumerate(zip(history.submit.tolist(), classes.tolist(), strict=True)):
        while started and started[0][0] <= now:
            start, other = heapq.heappop(started)
            for k, each in enumerate(by_class[int(classes[other])]):
                each.add(start - int(history.submit[other]), float(bounds[other, k]))
        bounds[job] = [each.bound() for each in by_class[group]]
        if history.start[job] < NEVER_STARTED:
            heapq.heappush(started, (int(history.start[job]), job))
    return bounds


LEAST_SCORED = 20
MOST_ON_SITE = 40
"""Jobs that are scored where a cluster's own scheduler or limits replay, which takes longer than a row of processors."""

ZERO = "zero"
"""The rival that predicts for every job that it starts at once. Its interval is from 0 s to 0 s."""
WAIT_PREDICTORS = {
    "replay": ("median", ("replay_p50_s", "replay_p10_s", "replay_p90_s")),
    "calibrated": ("median", ("wait_p50_s", "wait_p10_s", "wait_p90_s")),
    "calibrated_mean": ("mean", ("wait_mean_s", "wait_p10_s", "wait_p90_s")),
    "similar_recent": ("mean", ("similar_mean_s", "similar_p10_s", "similar_p90_s")),
    "similar_median": ("median", ("similar_p50_s", "similar_p10_s", "similar_p90_s")),
    "binomial": ("bound", ("binomial_p50_s", "binomial_p10_s", "binomial_p90_s")),
    ZERO: ("constant", ("zero_s", "zero_s", "zero_s")),
}
"""By name: what the prediction is, and the columns of it and of both ends of its 80 % interval. A median is judged by the mean absolute
error, which medians make least. A mean is judged by the root mean squared error. A bound is above the median with 95 %."""
UNSTORED = ("wait_mean_s", "replay_mean_s", "binomial_p10_s", "binomial_p50_s", "binomial_p90_s")
"""Columns of `predict_history` that predictions.wait_predictions does not have."""

Watch = Callable[[Iterable[IntArray], str], Iterable[IntArray]]
"""Shows how far an iteration is: (parts, what they are) -> the same parts."""


class WaitsUnknown(ValueError):
    """The log does not say enough about waits."""


def predict_history(
    history: History,
    last_share: float,
    jobs: int,
    seed: int,
    starts: QueueStarts = ROW,
    watch: Watch = lambda parts, name: parts,
) -> pl.DataFrame:
    """Rows of predictions.wait_predictions but `predicted_at`, and UNSTORED columns, of jobs drawn from the last share of the log.

    Each is predicted at its submission from what was known then. Rows are by submission. watch: shows the progress of what takes
    long. Raises WaitsUnknown with too few jobs.
    """
    drawn, grid = _drawn_and_grid(history, last_share, jobs, seed)
    if not isinstance(starts, RowStarts):
        return _predicted_on_site(history, drawn, seed, starts, watch)

    def replayed(numbers: IntArray, parts: int, name: str) -> Pool:
        chunks = watch(np.array_split(numbers, parts), name)
        return _joined([pool_of(history, chunk, seed, starts) for chunk in chunks])

    pool = replayed(grid, max(1, len(grid) // 100), "past jobs")
    asked = replayed(drawn, 10, "jobs")
    ends, bounds = IntervalEnds(pool), binomial_bounds(history)
    rows = []
    for k, number in enumerate(drawn.tolist()):
        now = int(history.submit[number])
        similar = similar_waits(history, int(history.procs[number]), int(history.request[number]), now)
        if len(similar) < LEAST_NEIGHBOURS:
            continue
        past = waits_of_neighbours(pool, asked.features[k], int(history.user[number]), now)
        quantiles = asked.replayed[k] if past.quantiles is None else ends.moved(past.quantiles, now)
        replayed_mean = float(asked.replayed_mean[k])
        means = {"wait_mean_s": expected_wait(past, similar, replayed_mean), "replay_mean_s": replayed_mean}
        row = _row(history, number, quantiles, asked.replayed[k], similar)
        rows.append(row | means | _bounds_row(bounds[number], similar))
    return _enough(rows)


def _enough(rows: list[dict[str, Any]]) -> pl.DataFrame:
    if len(rows) < LEAST_SCORED:
        raise WaitsUnknown("too few jobs had started before those to score: score a smaller last share of the log")
    return pl.DataFrame(rows)


def _predicted_on_site(history: History, drawn: IntArray, seed: int, starts: QueueStarts, watch: Watch) -> pl.DataFrame:
    """As `predict_history`, by replays that are corrected by the queues of the jobs before. drawn: jobs, of which MOST_ON_SITE count."""
    drawn = drawn[np.unique(np.linspace(0, len(drawn) - 1, MOST_ON_SITE).astype(int))]
    waiting = [len(submission_state(history, number).waiting) for number in drawn.tolist()]
    drawn = np.array(affordable(drawn.tolist(), waiting, 2 * MOST_OF_PAST), dtype=np.int64)
    if len(drawn) < LEAST_SCORED:
        raise WaitsUnknown(
            f"queues of {np.median(waiting):,.0f} jobs are too long to be replayed often enough for a score"
        )
    before = past_moments(history, int(history.submit[drawn[0]]))[::2]
    lengths = [len(state_at(history, second).waiting) for second in before]
    queues = [
        past_queue(history, second, [seed, second], starts) for second in affordable(before, lengths, MOST_OF_PAST)
    ]
    past, bounds, rows = [each for each in queues if each is not None], binomial_bounds(history), []
    for number in (number for part in watch(np.array_split(drawn, 10), "jobs") for number in part.tolist()):
        state, now = submission_state(history, number), int(history.submit[number])
        replayed = starts(state, PAST_SAMPLES, [seed, number])
        correction = correction_by(history, now, past[-PAST_QUEUES:])
        queue = queue_said(state, replayed)
        past += [] if queue is None else [queue]
        similar = similar_waits(history, int(history.procs[number]), int(history.request[number]), now)
        own = np.minimum(replayed[:, -1], LONGEST_S)
        if len(similar) < LEAST_NEIGHBOURS:
            continue
        by_replay = np.quantile(own, POINTS)
        said = PastWaits(None, None, 0) if correction is None else corrected_wait(own, correction)
        quantiles = by_replay if said.quantiles is None else said.quantiles
        means = {"wait_mean_s": max(float(own.mean()), float(quantiles[0])), "replay_mean_s": float(own.mean())}
        row = _row(history, number, quantiles, by_replay, similar)
        rows.append(row | means | _bounds_row(bounds[number], similar))
    return _enough(rows)


def _drawn_and_grid(history: History, last_share: float, jobs: int, seed: int) -> tuple[IntArray, IntArray]:
    """(jobs to score, every past job that one of them could be compared with), numbers in order of submission."""
    first = int(len(history) * (1 - last_share))
    started = np.flatnonzero(history.start < history.latest_end[-1] + 1)
    after = started[started >= first]
    if len(after) < LEAST_SCORED:
        raise WaitsUnknown(
            f"{len(after)} jobs in the last {last_share:.0%} of the log are too few to score waits on, at least "
            f"{LEAST_SCORED} are needed"
        )
    drawn = np.sort(np.random.default_rng(seed).choice(after, min(jobs, len(after)), replace=False))
    grid = np.arange(0, drawn[-1], stride_of(first))
    reach = max(0, int(np.searchsorted(grid, first)) - FOLLOWED_JOBS)
    return drawn, grid[reach:]


def _row(
    history: History, number: int, quantiles: FloatArray, replayed: FloatArray, similar: IntArray
) -> dict[str, Any]:
    """One row of predictions.wait_predictions. quantiles, replayed: at POINTS, seconds. similar: waits, seconds."""
    return {
        "job_index": int(history.job_index[number]),
        "submit_s": int(history.submit[number]),
        "replay_p10_s": replayed[0],
        "replay_p50_s": replayed[2],
        "replay_p90_s": replayed[4],
        **{f"wait_p{round(100 * point)}_s": quantiles[p] for p, point in enumerate(POINTS)},
        **{f"similar_p{p}_s": float(np.percentile(similar, p)) for p in (10, 50, 90)},
        "similar_mean_s": float(similar.mean()),
        "wait_s": int(history.wait(np.array([number]))[0]),
    }


def _bounds_row(bounds: FloatArray, similar: IntArray) -> dict[str, float]:
    """The bounds of a job, or where its class has too few jobs the quantiles of similar jobs."""
    filled = np.where(np.isnan(bounds), np.percentile(similar, (10, 50, 90)), bounds)
    return {f"binomial_p{percent}_s": float(value) for percent, value in zip((10, 50, 90), filled, strict=True)}


def wait_scores(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of predictions.wait_scores, and root_mean_squared_error_s: WAIT_PREDICTORS on the same jobs. rows: of `predict_history`."""
    true = rows["wait_s"].to_numpy()
    rows = rows.with_columns(zero_s=pl.lit(0.0))
    scores: list[dict[str, Any]] = []
    for predictor, (statistic, names) in WAIT_PREDICTORS.items():
        point, low, high = (rows[name].to_numpy() for name in names)
        error = np.abs(point - true)
        scores.append(
            {
                "predictor": predictor,
                "statistic": statistic,
                "jobs": rows.height,
                "median_absolute_error_s": float(np.median(error)),
                "mean_absolute_error_s": float(error.mean()),
                "root_mean_squared_error_s": float(np.sqrt((error**2).mean())),
                "within_10_min_share": float((error <= 600).mean()),
                "coverage_80": float(((low <= true) & (true <= high)).mean()),
                "below_share": float((true < low).mean()),
                "above_share": float((true > high).mean()),
                "mean_interval_s": float((high - low).mean()),
            }
        )
    return pl.DataFrame(scores)


def _joined(parts: list[Pool]) -> Pool:
    return Pool(*(np.concatenate([getattr(part, name) for part in parts]) for name in Pool.__dataclass_fields__))
