"""When waiting jobs start, on DRAC's Graham: `python -m studies start_times`.

Every noon for 61 days the queue of the cluster was recorded, with priorities, fair shares and the work ahead of each job, and when the jobs
started. Each noon is predicted from what the noons before had shown by then. The noons from 24 on chose, those from 42 on judge.
Of Cedar there are Slurm's own estimates for 53 jobs, without the state of the queue.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
import polars as pl

from models.runtime.predictor import FloatArray
from models.waits.scoring import upper_ranks
from papers.markdown import markdown
from studies.judging.agreement import SHARED
from studies.predicting.start_trees import (
    DAY_S,
    HOURS_S,
    OWN_FEATURES,
    QUEUE_AMOUNTS,
    QUEUE_SCOPES,
    REMEMBERED_QUEUES,
    SHORT_S,
    STATE_FEATURES,
    IntArray,
    IntervalsOverTime,
    PastQueue,
    StartTrees,
)

FOLDER = SHARED / "traces" / "waits"
CHOOSING, JUDGING = 24, 42
"""Noons from which on is chosen and judged."""
SIMILAR_NOONS, FEWEST_SIMILAR, SIMILAR_JOBS = 7, 20, 200
_SCOPES = dict(zip(QUEUE_SCOPES, ("", "p_", "a_", "p_a_"), strict=True))
_AMOUNTS = dict(zip(QUEUE_AMOUNTS, ("jobs", "cores", "mem", "core_hours", "gpus", "gpu_hours"), strict=True))
OURS, WITHOUT_STATE = "trees with the queue's state (ours)", "trees without the queue's state"


class Noon(NamedTuple):
    """One recorded queue. kind: jobs that ask for the same in the same partition. Both int64 (jobs,)."""

    queue: PastQueue
    kind: IntArray
    partition: IntArray


def read_noons(frame: pl.DataFrame) -> list[Noon]:
    """The queues of Graham in order. frame: of its file.

    Left out are columns that nobody knew then: those of `run_hours` are of true run times, and `priority_x` is of a later day."""
    tres = pl.col("req_tres")
    rows = frame.sort("poll_time", "job_unique_id").with_columns(
        now=pl.col("poll_time").dt.epoch("s"),
        procs="req_cpus",
        gpus=tres.str.extract(r"gres/gpu=(\d+)").cast(pl.Int64).fill_null(0),
        nodes=tres.str.extract(r"node=(\d+)").cast(pl.Int64).fill_null(1),
        memory_mib=pl.col("req_mem_total"),
        request_s=pl.col("time_limit_sec"),
        waited_s=(pl.col("poll_time") - pl.col("submit_time")).dt.total_seconds(),
        priority=pl.col("priority_y"),
        fair_share=pl.col("level_fs_poll"),
        usage=pl.col("effect_use_poll"),
        hour=pl.col("poll_time").dt.hour(),
        weekday=pl.col("poll_time").dt.weekday(),
        **{
            f"{state}_{scope}_{amount}": pl.col(f"{letter}_{of}{name}_above")
            for state, letter in (("ahead", "q"), ("running", "r"))
            for scope, of in _SCOPES.items()
            for amount, name in _AMOUNTS.items()
        },
    )
    rows = rows.with_columns(
        start=pl.col("now") + pl.col("poll_wait_sec"),
        kind=pl.struct("partition_id_y", "req_cpus", "gpus", "time_limit_sec").rank("dense"),
    ).with_columns(wait=pl.col("start") - pl.col("submit_time").dt.epoch("s"))
    recent = {
        scope: _recent_starts(rows, column)
        for scope, column in (("partition", "partition_id_y"), ("account", "account_id"))
    }
    names = ("day_starts", "hour_starts", "day_wait_s")
    rows = rows.with_columns(
        **{f"{name}_{scope}": recent[scope][:, k] for scope in recent for k, name in enumerate(names)}
    )
    noons = []
    for (now,), part in rows.group_by("now", maintain_order=True):
        features = part.select(OWN_FEATURES + STATE_FEATURES).cast(pl.Float64).fill_null(float("nan")).to_numpy()
        group = (
            part.select(pl.struct("account_id", "partition_id_y").rank("dense")).to_series().to_numpy().astype(np.int64)
        )
        wait = part["poll_wait_sec"].to_numpy()
        queue = PastQueue(int(now), features, wait, np.ones(len(wait), dtype=np.bool_), group)
        noons.append(Noon(queue, part["kind"].to_numpy().astype(np.int64), part["partition_id_y"].to_numpy()))
    return noons


def _recent_starts(rows: pl.DataFrame, column: str) -> FloatArray:
    """Of each row: starts of the last day and of the last two hours of jobs of earlier noons with its value, and their median wait."""
    now, start, wait = (rows[name].to_numpy() for name in ("now", "start", "wait"))
    key = rows[column].to_numpy()
    recent = np.full((rows.height, 3), np.nan)
    for moment in np.unique(now):
        past = np.flatnonzero((now < moment) & (start <= moment) & (start > moment - DAY_S))
        here = np.flatnonzero(now == moment)
        for value in np.unique(key[here]):
            among, mine = past[key[past] == value], here[key[here] == value]
            middle = np.median(wait[among]) if len(among) else np.nan
            recent[mine] = len(among), (start[among] > moment - HOURS_S).sum(), middle
    return recent


def predicted_by_trees(noons: list[Noon], trees: StartTrees, noon_numbers: range) -> list[FloatArray]:
    """What trees fitted on the noons before predict of each of these noons, seconds (jobs, 4)."""
    intervals, predictions = IntervalsOverTime(), []
    for k in noon_numbers:
        queue = noons[k].queue
        trees.fit([noon.queue.seen_at(queue.now) for noon in noons[:k]])
        predicted = trees.predict(queue.features)
        predictions.append(np.exp(intervals.moved(predicted, queue.now)) - SHORT_S)
        intervals.note(queue, predicted)
        print(f"noon {k}", end=" ", file=sys.stderr, flush=True)
    return predictions


def predicted_by_rivals(noons: list[Noon], k: int) -> dict[str, FloatArray]:
    """What is predicted of noon k without looking at its queue, from the last noons as they were known by then, seconds (jobs, 3)."""
    queue, kind, partition = noons[k].queue, noons[k].kind, noons[k].partition
    past = noons[max(0, k - SIMILAR_NOONS) : k]
    seen_by_now = [noon.queue.seen_at(queue.now) for noon in past]
    waits = np.concatenate([each.wait[each.started] for each in seen_by_now])[::-1]  # the last first
    kinds, partitions = (
        np.concatenate([each[seen.started] for each, seen in zip(of, seen_by_now, strict=True)])[::-1]
        for of in ([noon.kind for noon in past], [noon.partition for noon in past])
    )
    similar, bounds = np.empty((len(kind), 3)), np.empty((len(kind), 3))
    for place in np.unique(np.stack([kind, partition]), axis=1).T:
        mine = (kind == place[0]) & (partition == place[1])
        of_kind, of_partition = waits[kinds == place[0]], waits[partitions == place[1]]
        alike = next((each for each in (of_kind, of_partition) if len(each) >= FEWEST_SIMILAR), waits)
        similar[mine] = np.quantile(alike[:SIMILAR_JOBS], (0.1, 0.5, 0.9))
        bounds[mine] = _binomial(of_partition if len(of_partition) >= FEWEST_SIMILAR else waits)
    return {"zero": np.zeros((len(kind), 3)), "median of similar jobs": similar, "binomial bound": bounds}


def _binomial(waits: IntArray) -> list[float]:
    """Bounds with 95 % confidence on the quantiles of recent waits: from below, and twice from above."""
    ordered = np.sort(waits)
    high, middle = (min(int(upper_ranks(level, len(waits))[-1]), len(waits)) - 1 for level in (0.9, 0.5))
    return [float(ordered[len(waits) - 1 - high]), float(ordered[middle]), float(ordered[high])]


def score_row(name: str, predicted: list[FloatArray], true: list[IntArray]) -> list[str]:
    """A row of the table: errors, shares within one and ten minutes, and of jobs inside the interval."""
    seconds, ends = np.concatenate(true), np.concatenate(predicted)
    error = np.abs(ends[:, 1] - seconds)
    inside = (seconds >= ends[:, 0]) & (seconds <= ends[:, 2])
    held = "" if name == "zero" else f"{inside.mean():.1%}"
    ratio = np.quantile(np.maximum(ends[:, 1], 1) / seconds, (0.25, 0.75))
    return [
        name, f"{np.median(error):,.0f}", f"{error.mean():,.0f}", f"{(error <= 60).mean():.1%}", f"{(error <= 600).mean():.1%}",
        held, f"{ratio[0]:.2f} to {ratio[1]:.2f}",
    ]  # fmt: skip


def against(
    ours: list[FloatArray], rival: list[FloatArray], true: list[IntArray], seed: int = 1, draws: int = 2000
) -> list[str]:
    """The ratio of the median errors and the difference of the shares within ten minutes, with 95 % intervals over resampled noons."""
    errors = [[np.abs(each[:, 1] - wait) for each, wait in zip(of, true, strict=True)] for of in (ours, rival)]
    rng = np.random.default_rng(seed)

    def figures(chosen: IntArray) -> tuple[float, float]:
        mine, theirs = (np.concatenate([of[k] for k in chosen]) for of in errors)
        return float(np.median(mine) / np.median(theirs)), float((mine <= 600).mean() - (theirs <= 600).mean())

    drawn = np.array([figures(rng.integers(0, len(true), len(true))) for _ in range(draws)])
    ratio, more = figures(np.arange(len(true)))
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    return [
        f"{ratio:.2f} [{low[0]:.2f}, {high[0]:.2f}]",
        f"{100 * more:+.1f} [{100 * low[1]:+.1f}, {100 * high[1]:+.1f}]",
    ]


def main() -> None:
    """Prints the tables of the judging noons, of the choosing ones with `choosing`, and of Cedar at the end."""
    noons = read_noons(pl.read_parquet(FOLDER / "graham_on_submit_days.parquet"))
    first, last = (CHOOSING, JUDGING) if "choosing" in sys.argv else (JUDGING, len(noons))
    scored = range(first, last)
    predicted: dict[str, list[FloatArray]] = {OURS: [], WITHOUT_STATE: []}
    for name, chosen in ((WITHOUT_STATE, tuple(range(len(OWN_FEATURES)))), (OURS, None)):
        trees = StartTrees(chosen=chosen)
        predicted[name] = predicted_by_trees(noons, trees, range(first - REMEMBERED_QUEUES, last))[REMEMBERED_QUEUES:]
    for k in scored:
        for name, ends in predicted_by_rivals(noons, k).items():
            predicted.setdefault(name, []).append(ends)
    true = [noons[k].queue.wait for k in scored]
    rows = [score_row(name, of, true) for name, of in predicted.items()]
    heads = [
        "predictor",
        "median error, s",
        "mean error, s",
        "within 1 min",
        "within 10 min",
        "inside 80 %",
        "half of the ratios",
    ]
    print(f"start times on Graham, {len(scored)} noons, {sum(map(len, true)):,} jobs\n\n{markdown(heads, rows)}\n")
    heads = ["ours against", "ratio of median errors", "points more within 10 min"]
    pairs = [[name, *against(predicted[OURS], of, true)] for name, of in predicted.items() if name != OURS]
    print(f"start times, ours against each rival\n\n{markdown(heads, pairs)}\n")
    if "choosing" not in sys.argv:
        print(f"Slurm's own estimates on Cedar\n\n{cedar_table()}")


def cedar_table() -> str:
    """Errors of Slurm's own estimates of 53 jobs, whose queues nobody recorded."""
    rows = pl.read_csv(FOLDER / "cedar_true_start_time_vs_slurm_estimate.csv", try_parse_dates=True)
    error = (rows["true_start_time"] - rows["estimate_start_time"]).dt.total_seconds().abs().to_numpy()
    shares = [f"{(error <= limit).mean():.1%}" for limit in (60, 600)]
    cells = [str(rows.height), f"{np.median(error):,.0f}", f"{error.mean():,.0f}", *shares]
    return markdown(["jobs", "median error, s", "mean error, s", "within 1 min", "within 10 min"], [cells])


if __name__ == "__main__":
    main()
