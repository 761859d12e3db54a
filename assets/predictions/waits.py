"""How long a job will wait, at a moment of a source's log."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from assets.common.progress import progress
from assets.common.trace import Trace, load_trace
from models.waits.wait_times import (
    LEAST_NEIGHBOURS,
    POINTS,
    POOL_JOBS,
    QUANTILE_COLUMNS,
    History,
    Pool,
    State,
    calibrated,
    features_of,
    history_of,
    pool_numbers,
    pool_of,
    similar_waits,
    start_times,
    state_at,
    stride_of,
    waits_of_survivors,
)
from models.waits.walltime_advice import Jobs as WalltimeJobs
from warehouse import Warehouse

LEAST_SCORED = 20


class WaitsUnknown(ValueError):
    """The log does not tell enough of waits."""


@dataclass(frozen=True)
class WaitSource:
    """A source as questions about waits need it."""

    trace: Trace
    history: History

    def user_number(self, user: str) -> int:
        """The number of a user in the history. Raises ValueError for one that never submitted a job that ran."""
        found = self.trace.rows.filter(pl.col("user_name") == user)
        if found.is_empty():
            raise ValueError(_no_user(self.trace.source, user))
        return int(found["user_number"][0])

    def job_number(self, job_id: str, moment: int) -> int:
        """The number of the job of this id (the last one submitted, if ids repeat) that waits at a moment. Raises
        ValueError."""
        rows = self.trace.rows.filter(pl.col("job_id") == job_id)
        found = np.flatnonzero(np.isin(self.history.job_index, rows["job_index"].to_numpy()))
        found = found[self.history.submit[found] <= moment]
        if not len(found):
            raise ValueError(
                f"source {self.trace.source!r}: no job {job_id!r} had been submitted by {self.clock(moment)}"
            )
        number = int(found[-1])
        if self.history.leaves[number] <= moment:
            left = int(self.history.leaves[number])
            how = "started" if self.history.start[number] <= moment else "was cancelled"
            raise ValueError(
                f"source {self.trace.source!r}: job {job_id!r} does not wait at {self.clock(moment)}: it {how} at "
                f"{self.clock(left)}; give an earlier --at, or leave --job out for a new job"
            )
        return number

    @property
    def span(self) -> tuple[int, int]:
        """First submission and last end that the log knows."""
        return int(self.history.submit[0]), int(self.history.latest_end[-1])

    def clock(self, moment: float) -> str:
        """A second of the log's clock as local time of the cluster, to the minute; the second itself where there is no
        calendar."""
        from zoneinfo import ZoneInfo

        if not self.trace.has_calendar:
            return f"second {round(moment)}"
        utc = self.trace.clock_zero + timedelta(seconds=round(moment))
        return f"{utc.replace(tzinfo=ZoneInfo('UTC')).astimezone(ZoneInfo(self.trace.time_zone)):%a %Y-%m-%d %H:%M}"

    def moment(self, text: str | None) -> int:
        """The second of the log's clock that a user means: a second, or local time of the cluster in ISO form; None: the last
        submission in the log, the last moment at which it still tells who runs and who waits. Raises ValueError outside the
        log."""
        from zoneinfo import ZoneInfo

        first, last = self.span
        if text is None:
            return int(self.history.submit[-1])
        if text.strip().isdigit():
            found = int(text)
        else:
            try:
                local = datetime.fromisoformat(text.strip())
            except ValueError:
                raise ValueError(
                    f"time {text!r}: expected local time of the cluster such as 2004-03-01 or '2004-03-01 08:00', or a second of "
                    "the log's own clock"
                ) from None
            if not self.trace.has_calendar:
                raise ValueError(
                    f"time {text!r}: the log of {self.trace.source!r} does not say which day it began: give a second of its own "
                    f"clock, {first} to {last}"
                )
            zoned = local if local.tzinfo else local.replace(tzinfo=ZoneInfo(self.trace.time_zone))
            found = round((zoned - self.trace.clock_zero.replace(tzinfo=ZoneInfo("UTC"))).total_seconds())
        if not first <= found <= last:
            raise ValueError(
                f"time {text!r} lies outside the log of {self.trace.source!r}, which tells of {self.clock(first)} to "
                f"{self.clock(last)} (seconds {first} to {last})"
            )
        return found


@dataclass(frozen=True)
class WaitAnswer:
    """quantiles: of the whole wait at POINTS, seconds, (5,); told_by: calibrated, or replay where too few past jobs are
    known; replayed: the same by replays alone; similar_mean_s: mean wait of similar recent jobs, None where none has started;
    waited_s: what of it is over, of a job that waits."""

    state: State
    quantiles: np.ndarray
    told_by: str
    neighbours: int
    replayed: np.ndarray
    similar_mean_s: float | None
    waited_s: int


def load_wait_source(warehouse: Warehouse, source: str) -> WaitSource:
    """Raises ValueError, with the remedy, where the source is not loaded or has no predicted run times."""
    trace = load_trace(warehouse, source, cancelled=True)
    unpredicted = trace.rows[QUANTILE_COLUMNS[0]].null_count()
    if unpredicted:
        raise ValueError(
            f"source {source!r}: {unpredicted:,} of its {trace.rows.height:,} jobs have no predicted run time: make them with "
            f"`tracehouse run --source {source} --job train`"
        )
    if trace.rows["start_s"].null_count() == trace.rows.height:
        raise WaitsUnknown(f"source {source!r}: the log does not say when jobs started, so that waits cannot be told")
    return WaitSource(trace, history_of(trace.rows, trace.cluster_procs))


def new_job_wait(
    history: History,
    moment: int,
    procs: int,
    request: int,
    user: int,
    samples: int,
    seed: int,
    policy: str,
    backfill: str,
) -> WaitAnswer:
    """The wait of a job submitted at a moment; user: its number, -1 for nobody in particular. Raises ValueError."""
    if procs > history.cluster_procs:
        raise ValueError(
            f"a job of {procs} processors can never start on a cluster of {history.cluster_procs}: ask for fewer"
        )
    state = state_at(history, moment).with_job(procs, request, user)
    replayed = start_times(state, -1, samples, seed, policy, backfill)
    pool = pool_of(history, pool_numbers(history, moment), seed, policy, backfill)
    quantiles, neighbours = calibrated(pool, features_of(history, state, -1, replayed), user, moment)
    return _answer(history, state, replayed, quantiles, neighbours, procs, request, 0)


def queued_job_wait(
    history: History, moment: int, number: int, samples: int, seed: int, policy: str, backfill: str
) -> WaitAnswer:
    """The wait, from its submission, of a job of the log that waits at a moment: that of jobs which had waited as long."""
    state = state_at(history, moment)
    position = int(np.flatnonzero(state.waiting.number == number)[0])
    waited = moment - int(history.submit[number])
    replayed = start_times(state, position, samples, seed, policy, backfill) + waited
    quantiles, survivors = waits_of_survivors(history, moment, waited)
    procs, request = int(history.procs[number]), int(history.request[number])
    return _answer(history, state, replayed, quantiles, survivors, procs, request, waited)


def _answer(
    history: History, state: State, replayed: np.ndarray, quantiles: np.ndarray | None, neighbours: int, procs: int,
    request: int, waited: int,
) -> WaitAnswer:  # fmt: skip
    similar = similar_waits(history, procs, request, state.now)
    by_replay = np.quantile(replayed, POINTS)
    told_by = "replay" if quantiles is None else "calibrated"
    mean = float(similar.mean()) if len(similar) else None
    return WaitAnswer(
        state, by_replay if quantiles is None else quantiles, told_by, neighbours, by_replay, mean, waited
    )


def load_walltime_jobs(
    warehouse: Warehouse, source: str, user: str, executable: str | None
) -> tuple[WalltimeJobs, int, int | None]:
    """(jobs that ran, number of the user, number of the executable) of a source. Raises ValueError for names not found
    among them."""
    rows = load_trace(warehouse, source).rows.filter(pl.col("start_s").is_not_null())
    mine = rows.filter(pl.col("user_name") == user)
    if mine.is_empty():
        raise ValueError(_no_user(source, user))
    names = pl.Series(rows["executable"].unique().drop_nulls().sort())
    number = None
    if executable is not None:
        if executable not in mine["executable"]:
            known = mine["executable"].drop_nulls().unique().sort().to_list()
            raise ValueError(
                f"source {source!r}: user {user!r} has no job of executable {executable!r}; there are "
                f"{', '.join(known[:12]) or 'none: the log does not name them'}{', ...' if len(known) > 12 else ''}"
            )
        number = int(np.searchsorted(names.to_numpy(), executable))
    codes = rows["executable"].replace_strict(
        names, pl.arange(len(names), eager=True), default=-1, return_dtype=pl.Int64
    )
    submit, start, runtime, procs, request, users = (
        rows[name].to_numpy()
        for name in ("submit_s", "start_s", "runtime_s", "procs", "requested_walltime_s", "user_number")
    )
    jobs = WalltimeJobs(submit, start + runtime, runtime, procs, request, users, codes.to_numpy())
    return jobs, int(mine["user_number"][0]), number


def _no_user(source: str, user: str) -> str:
    return (
        f'source {source!r} has no job of user {user!r} that ran: `tracehouse sql "SELECT user_name, count(*) FROM core.jobs '
        f"WHERE source = '{source}' GROUP BY ALL\"` lists its users"
    )


def predict_history(
    history: History, last_share: float, jobs: int, seed: int, policy: str = "FCFS", backfill: str = "easy"
) -> pl.DataFrame:
    """Rows of predictions.wait_predictions but `predicted_at`, of jobs drawn from the last share of the log, by submission.

    Each is predicted at its submission from the past jobs that had started by then. Raises ValueError with too few jobs.
    """
    first = int(len(history) * (1 - last_share))
    started = np.flatnonzero(history.start < history.latest_end[-1] + 1)
    after = started[started >= first]
    if len(after) < LEAST_SCORED:
        raise WaitsUnknown(
            f"{len(after)} jobs in the last {last_share:.0%} of the log are too few to score waits on, at least "
            f"{LEAST_SCORED} are needed"
        )
    stride = stride_of(first)
    drawn = np.sort(np.random.default_rng(seed).choice(after, min(jobs, len(after)), replace=False))
    # every past job that one of the drawn could be compared with, replayed once
    grid = np.arange(0, drawn[-1], stride)
    grid = grid[history.start[grid] <= history.latest_end[-1]]
    reach = max(0, int(np.searchsorted(grid, first)) - 4 * POOL_JOBS)
    chunks = np.array_split(grid[reach:], max(1, len(grid[reach:]) // 100))
    pool = _joined([pool_of(history, chunk, seed, policy, backfill) for chunk in progress(chunks, "past jobs")])
    asked = _joined(
        [pool_of(history, chunk, seed, policy, backfill) for chunk in progress(np.array_split(drawn, 10), "jobs")]
    )
    rows = []
    for k, number in enumerate(drawn.tolist()):
        now = int(history.submit[number])
        similar = similar_waits(history, int(history.procs[number]), int(history.request[number]), now)
        if len(similar) < LEAST_NEIGHBOURS:
            continue
        told, _ = calibrated(pool, asked.features[k], int(history.user[number]), now)
        replayed = asked.replayed[k]
        quantiles = replayed if told is None else told
        rows.append({
            "job_index": int(history.job_index[number]), "submit_s": now,
            "replay_p10_s": replayed[0], "replay_p50_s": replayed[2], "replay_p90_s": replayed[4],
            **{f"wait_p{round(100 * point)}_s": quantiles[p] for p, point in enumerate(POINTS)},
            **{f"similar_p{p}_s": float(np.percentile(similar, p)) for p in (10, 50, 90)},
            "similar_mean_s": float(similar.mean()), "wait_s": int(history.wait(np.array([number]))[0]),
        })  # fmt: skip
    if len(rows) < LEAST_SCORED:
        raise WaitsUnknown("too few jobs had started before those to score: score a smaller last share of the log")
    return pl.DataFrame(rows)


def wait_scores(rows: pl.DataFrame) -> pl.DataFrame:
    """rows: of `predict_history`. Rows of predictions.wait_scores."""
    true = rows["wait_s"].to_numpy()
    predictors = {
        "replay": ("replay_p50_s", "replay_p10_s", "replay_p90_s"),
        "calibrated": ("wait_p50_s", "wait_p10_s", "wait_p90_s"),
        "similar_recent": ("similar_mean_s", "similar_p10_s", "similar_p90_s"),
        "similar_median": ("similar_p50_s", "similar_p10_s", "similar_p90_s"),
    }
    scores: list[dict[str, Any]] = []
    for predictor, names in predictors.items():
        point, low, high = (rows[name].to_numpy() for name in names)
        error = np.abs(point - true)
        scores.append({
            "predictor": predictor, "jobs": rows.height,
            "median_absolute_error_s": float(np.median(error)), "mean_absolute_error_s": float(error.mean()),
            "within_10_min_share": float((error <= 600).mean()),
            "coverage_80": float(((low <= true) & (true <= high)).mean()),
            "below_share": float((true < low).mean()), "above_share": float((true > high).mean()),
            "mean_interval_s": float((high - low).mean()),
        })  # fmt: skip
    return pl.DataFrame(scores)


def _joined(parts: list[Pool]) -> Pool:
    return Pool(*(np.concatenate([getattr(part, name) for part in parts]) for name in Pool.__dataclass_fields__))
