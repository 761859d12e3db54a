"""When the jobs that wait now start: `python -m studies queue_starts [--runs S7,T1] [--sources larch] [--moments N] [--samples N]`.

Recorded runs of real schedulers are stopped at moments at which somebody waits. The warehouse has the log up to then, and
`tracehouse queue` answers for the queue of then. The true starts are those of the whole log. Rivals answer for the same jobs: Slurm's own
plan at that moment, zero, similar jobs of the past, QBETS, and replays over a row of processors. Times of the runs of PBS are multiplied
by 60, because a second of theirs stands for a minute. Jobs that never start in the log cannot be scored. They are counted.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from assets.common.storage import open_warehouse
from assets.waits.queue_now import QueueMoment, load_queue_now
from models.runtime.predictor import FloatArray
from models.waits.answers import INTERVAL, correction_of, start_interval
from models.waits.history import History, IntArray
from models.waits.neighbours import FEWEST_SIMILAR, similar_waits
from models.waits.replays import ROW as ROW_REPLAYS
from models.waits.scoring import BOUNDED, ClassBound, binomial_bounds, upper_ranks
from papers.markdown import markdown
from studies.predicting.recorded_queues import RUNS, Recording, read_bundled, read_run
from tracehouse.queue import answer_queue
from traces.common.queue import HELD, WAITING, QueueJob, QueueSnapshot

MOMENTS, SAMPLES, SEED = 50, 50, 1
OURS, OWN, ROW = "tracehouse queue", "Slurm's own plan", "replays over a row of processors"
ZERO, SIMILAR, BINOMIAL = "zero: all start now", "similar past jobs", "QBETS"
PREDICTORS = (OURS, OWN, ROW, SIMILAR, BINOMIAL, ZERO)
POINTS = (OWN, ZERO)
"""Predictors without an interval."""
SHORT_S = 600
BLOCK = 5
"""Moments in a row that are drawn together: a job waits over several of them."""
DRAWS = 1000
NOTHING = (float("nan"),) * 3


class Scored(NamedTuple):
    """rows: a job at a moment each, with moment (its number), true_s, and for each predictor its name: list of three quantiles in seconds,
    null where it says nothing. counts: jobs at moments that are not among them, by the reason. answer_s: seconds of each answer."""

    rows: pl.DataFrame
    counts: Counter[str]
    answer_s: list[float]


class PastBounds:
    """QBETS at any moment: the bounds of each class from the jobs of it that had started by then, in the order of their starts."""

    def __init__(self, history: History) -> None:
        self._history, self._at_submission = history, binomial_bounds(history)
        self._classes = history.class_of(history.procs, history.request)
        ranks = {level: upper_ranks(level, len(history)) for level, _ in BOUNDED}
        ranks[BOUNDED[0][0]] = ranks[BOUNDED[-1][0]]  # a bound from below is one from above of the negative waits
        self._ranks = ranks
        self._by_class: defaultdict[int, list[ClassBound]] = defaultdict(self._fresh)
        self._next = 0

    def _fresh(self) -> list[ClassBound]:
        return [ClassBound(self._ranks[level], 1 if is_upper else -1) for level, is_upper in BOUNDED]

    def of(self, group: int, moment: int) -> list[float]:
        """Bounds on the whole wait of a job of a class, seconds, NaN for too few waits. Moments must not descend."""
        history, starts = self._history, self._history.starts
        while self._next < len(starts) and history.start[starts[self._next]] <= moment:
            job, self._next = int(starts[self._next]), self._next + 1
            wait = int(history.start[job] - history.submit[job])
            for k, each in enumerate(self._by_class[int(self._classes[job])]):
                each.add(wait, float(self._at_submission[job, k]))
        return [each.bound() for each in self._by_class[group]]


def remaining_of_similar(history: History, job: QueueJob, waited: int, now: int) -> list[float]:
    """Quantiles of what is left of the waits of similar past jobs that waited longer than this one has, else of all past ones; as long
    again as it has waited where too few have. now: a second of the log's clock."""
    similar: IntArray = similar_waits(history, job.procs, job.requested_walltime_s, now)
    every = history.wait(history.last_started(history.starts, now, len(history)))
    for waits in (similar, every):
        left = waits[waits > waited] - waited
        if len(left) >= FEWEST_SIMILAR:
            return np.quantile(left, INTERVAL).tolist()
    return [0.0, float(waited), float(waited)]


def over_a_row(source: str, snapshot: QueueSnapshot, moment: int, samples: int) -> dict[str, list[float]]:
    """Starts by replays in which processors have neither nodes nor partitions, in the order of submission with EASY. Past queues
    correct the intervals."""
    now = load_queue_now(open_warehouse(), source, snapshot, moment)
    if not now.entries:
        return {}
    correction = None if now.history is None else correction_of(now.history, now.state.now, SEED, ROW_REPLAYS)
    quantiles = start_interval(ROW_REPLAYS(now.state, samples, SEED), correction)[now.first]
    return {job.job_id: row.tolist() for job, row in zip(now.entries, quantiles, strict=True)}


def answered(source: str, snapshot: QueueSnapshot, moment: int, samples: int) -> dict[str, list[float]]:
    """What `tracehouse queue` says of each job that it predicts: the three quantiles in seconds."""
    rows = answer_queue(source, snapshot, QueueMoment(moment, "as recorded"), (None, None), (samples, SEED)).rows
    names = [f"start_p{round(100 * level)}_s" for level in INTERVAL]
    if not set(names) <= set(rows.columns):
        return {}
    return {job: list(ends) for job, *ends in rows.drop_nulls(names).select("job", *names).iter_rows()}


def score_recording(recording: Recording, moments: int, samples: int) -> Scored:
    """Predicts the queue of each moment and takes the true starts."""
    rows: list[dict[str, Any]] = []
    counts, answer_s = Counter[str](), list[float]()
    history, scale, bounds = recording.history, recording.log.scale, PastBounds(recording.history)
    chosen = recording.moments(moments)
    for number, moment in enumerate(chosen):
        _say(f"{recording.log.name}: moment {number + 1} of {len(chosen)}")
        recording.cut(moment)
        snapshot, true = recording.snapshot(moment), recording.true_starts(moment)
        begun = time.perf_counter()
        ours = answered(recording.source, snapshot, moment, samples)
        answer_s.append(time.perf_counter() - begun)
        row_starts = over_a_row(recording.source, snapshot, moment, samples)
        planned, now = recording.planned(moment), moment - recording.zero_s
        for job in snapshot.jobs:
            if job.state not in (WAITING, HELD):
                continue
            if job.job_id not in ours:
                counts["held by a dependency or for good" if job.state == HELD else "without an answer"] += 1
                continue
            if job.job_id not in true:
                counts["never started in the log"] += 1
                continue
            waited = max(moment - job.submit_s, 0)
            similar = remaining_of_similar(history, job, waited, now)
            group = int(history.class_of(job.procs, job.requested_walltime_s))
            bound = [max(end - waited, 0.0) for end in bounds.of(group, now)]
            plan = planned.get(job.job_id)
            predicted = {
                OURS: ours[job.job_id],
                OWN: None if plan is None else [plan] * 3,
                ROW: row_starts.get(job.job_id),
                SIMILAR: similar,
                BINOMIAL: similar if np.isnan(bound).any() else bound,
                ZERO: [0.0] * 3,
            }
            scaled = {
                name: None if ends is None else [scale * float(end) for end in ends] for name, ends in predicted.items()
            }
            rows.append({"moment": number, "true_s": scale * true[job.job_id]} | scaled)
    _say("\n")
    schema = {"moment": pl.Int64, "true_s": pl.Float64} | dict.fromkeys(PREDICTORS, pl.List(pl.Float64))
    return Scored(pl.DataFrame(rows, schema=schema), counts, answer_s)


def _say(text: str) -> None:
    print(f"\r{text}", end="", file=sys.stderr, flush=True)


def quantiles_of(rows: pl.DataFrame, predictor: str) -> FloatArray:
    """Of each row the three quantiles of a predictor, NaN where it says nothing, (rows, 3)."""
    return np.array([NOTHING if ends is None else ends for ends in rows[predictor].to_list()]).reshape(-1, 3)


def score_table(rows: pl.DataFrame) -> str:
    """The scores of each predictor. rows: of `Scored`; a block of moments is drawn together."""
    true, block = rows["true_s"].to_numpy(), rows["moment"].to_numpy() // BLOCK
    own = np.abs(quantiles_of(rows, OWN)[:, 1] - true)
    with_plan = ~np.isnan(own)
    lines = []
    for name in PREDICTORS:
        ends = quantiles_of(rows, name)
        known = ~np.isnan(ends[:, 1])
        if not known.any():
            continue
        error, paired = np.abs(ends[:, 1] - true), known & with_plan
        held = (ends[known, 0] <= true[known]) & (true[known] <= ends[known, 2])
        of_pairs = ["", "", ""]
        if paired.any():
            of_pairs = [f"{paired.sum():,}", _seconds(error[paired]), _ratio(error[paired], own[paired], block[paired])]
        lines.append([
            name, f"{known.sum():,}", _seconds(error[known]), *of_pairs,
            "" if name in POINTS else f"{held.mean():.1%}",
            "" if name in POINTS else _seconds(ends[known, 2] - ends[known, 0]),
            f"{(error[known] <= SHORT_S).mean():.1%}",
        ])  # fmt: skip
    heads = [
        "predictor", "jobs at moments", "median error, s", "with a plan of Slurm", "median error of these, s",
        "ratio to Slurm's own", "inside 80 %", "median width, s", "within 10 min",
    ]  # fmt: skip
    return markdown(heads, lines)


def summary_table(every: dict[str, Scored]) -> str:
    """A row for each run: median errors on the jobs that have an answer, the ratio to Slurm's own on those that have its plan, and the
    interval of `tracehouse queue`."""
    lines = []
    for name, scored in every.items():
        rows = scored.rows
        true, block = rows["true_s"].to_numpy(), rows["moment"].to_numpy() // BLOCK
        errors = {each: np.abs(quantiles_of(rows, each)[:, 1] - true) for each in (OURS, OWN, ROW, SIMILAR, ZERO)}
        ends = quantiles_of(rows, OURS)
        held = (ends[:, 0] <= true) & (true <= ends[:, 2])
        paired = ~np.isnan(errors[OWN])
        of_pairs = ["", "", ""]
        if paired.any():
            ratio = _ratio(errors[OURS][paired], errors[OWN][paired], block[paired])
            of_pairs = [_seconds(errors[OWN][paired]), _seconds(errors[OURS][paired]), ratio]
        medians = [_seconds(errors[each][~np.isnan(errors[each])]) for each in (OURS, ROW, SIMILAR, ZERO)]
        width = _seconds(ends[:, 2] - ends[:, 0])
        lines.append([name, f"{rows.height:,}", *medians, *of_pairs, f"{held.mean():.1%}", width])
    heads = [
        "run", "jobs at moments", "queue", "row", "similar jobs", "zero", "Slurm's plan", "queue on these", "ratio", "inside 80 %",
        "median width",
    ]  # fmt: skip
    return markdown(heads, lines)


def _seconds(values: FloatArray) -> str:
    return f"{np.median(values):,.0f}"


def _ratio(ours: FloatArray, own: FloatArray, block: IntArray) -> str:
    """The ratio of two median errors, with a 95 % interval over resampled blocks of moments."""
    rng = np.random.default_rng(SEED)
    _, first = np.unique(block, return_index=True)
    parts = [np.split(errors, first[1:]) for errors in (ours, own)]  # rows are in order of their moments

    def ratio(chosen: IntArray) -> float:
        mine, theirs = (float(np.median(np.concatenate([of[k] for k in chosen]))) for of in parts)
        return mine / theirs if theirs else float("inf") if mine else 1.0

    count = len(first)
    drawn = [ratio(rng.integers(0, count, count)) for _ in range(DRAWS)]
    low, high = np.quantile(drawn, (0.025, 0.975), method="nearest")
    return f"{ratio(np.arange(count)):.2f} [{low:.2f}, {high:.2f}]"


def _print_scores(title: str, scored: Scored) -> None:
    moments = scored.rows["moment"].n_unique()
    print(f"\n{title}: {scored.rows.height:,} jobs at {moments} moments\n\n{score_table(scored.rows)}\n")
    left_out = ", ".join(f"{reason} {count:,}" for reason, count in sorted(scored.counts.items())) or "none"
    print(f"Left out: {left_out}.", flush=True)
    _say(f"{title}: {np.median(scored.answer_s):.1f} s an answer\n")


def _together(every: list[Scored]) -> Scored:
    """All recordings as one; no block of moments has some of two."""
    rows, first = [], 0
    for scored in every:
        rows.append(scored.rows.with_columns(pl.col("moment") + first))
        first += BLOCK * (1 + int(scored.rows["moment"].to_numpy().max(initial=0)) // BLOCK)
    counts = sum((scored.counts for scored in every), Counter[str]())
    return Scored(pl.concat(rows), counts, [second for scored in every for second in scored.answer_s])


def main() -> None:
    """Prints a table for each run, and one of all."""
    parser = argparse.ArgumentParser(prog="python -m studies queue_starts")
    parser.add_argument("--runs", help=f"of {', '.join(RUNS)}; all without --sources")
    parser.add_argument("--sources", default="", help="of larch, birch")
    parser.add_argument("--moments", type=int, default=MOMENTS)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    asked = parser.parse_args()
    if min(asked.moments, asked.samples) < 1:
        parser.error("--moments and --samples: expected at least 1")
    sources = [name for name in asked.sources.split(",") if name]
    runs = [name for name in ("" if sources else ",".join(RUNS)).split(",") if name]
    runs = [name for name in asked.runs.split(",") if name] if asked.runs is not None else runs
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ.update(TRACEHOUSE_HOME=folder, TRACEHOUSE_SOURCES="")
        Path(folder, "sources.local.toml").touch()
        every: dict[str, Scored] = {}
        for name in [*runs, *sources]:
            try:
                recording = Recording(read_run(name) if name in runs else read_bundled(name))
            except ValueError as error:
                sys.exit(str(error))
            every[name] = score_recording(recording, asked.moments, asked.samples)
            _print_scores(name, every[name])
    if len(every) > 1:
        _print_scores("all", _together(list(every.values())))
        print(f"\nmedian errors by run, s\n\n{summary_table(every)}\n")


if __name__ == "__main__":
    main()
