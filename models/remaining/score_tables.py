"""Trials of predictors of remaining time as tables: rows of predictions.remaining_time_trials and remaining_time_scores, and how well
runs of one folder are predicted from those of another.

Remaining times of runs without an end: what they have used so far, and what they still need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import polars as pl

from models.remaining.evaluation import REMAINING_PREDICTORS, REMAINING_RIVALS, HeldOutTrial, trial_of
from models.remaining.predictors import RemainingPredictor
from models.remaining.runs import IntArray, Runs
from models.remaining.snapshots import PROGRESS_SHARES, Moments

QUANTILES = [f"remaining_p{percent}_s" for percent in (10, 25, 50, 75, 90)]
"""Columns of predicted quantiles, in predictions.remaining_times and remaining_time_trials."""

_LONGEST_S = 90 * 86400
"""Clocks that are further apart do not belong to one run: its time is taken from its steps then."""


def used_seconds() -> pl.Expr:
    """How long each run has run, seconds, from at_time, started_at, loops_s and is_last.

    The clock counts for the last launch of a folder only. The file goes on after a launch that was started again in it, and one that
    was put aside may be a copy of a later time. So the steps of an earlier launch say how long it ran. Steps count at least.
    """
    clock = (pl.col("at_time") - pl.col("started_at")).dt.total_seconds().cast(pl.Float64)
    return pl.max_horizontal(pl.when(pl.col("is_last") & clock.is_between(0, _LONGEST_S)).then(clock), "loops_s")


def remaining_time_rows(open_runs: pl.DataFrame, runs: Runs, predictor: RemainingPredictor) -> pl.DataFrame:
    """Rows of predictions.remaining_times.

    open_runs: folder, outcar, launch, state, at_time, started_at, loops_s, electronic_steps, ionic_steps and is_last (whether no
    launch of the folder is later). runs: the same runs in the same order.
    """
    rows = open_runs.with_columns(used_s=used_seconds(), predictor=pl.lit(predictor.name))
    quantiles = predictor.predict(runs, Moments(np.arange(len(runs)), rows["used_s"].to_numpy()))
    columns = {name: pl.Series(quantiles[:, k], dtype=pl.Float64) for k, name in enumerate(QUANTILES)}
    return (
        rows.with_columns(**columns)
        .with_columns(expected_end=pl.col("at_time") + pl.duration(milliseconds=1000 * pl.col("remaining_p50_s")))
        .drop("started_at", "loops_s", "is_last")
    )


# --- score tables


FEWEST_JUDGED = 10
"""With fewer finished runs nothing is judged, because their mean would say too little."""


def trial_rows(trial: HeldOutTrial, runs: Runs, seed: int) -> pl.DataFrame:
    """Rows of predictions.remaining_time_trials, run by run and share by share, with the columns group and covered beside."""
    which, shares = trial.which, len(PROGRESS_SHARES)
    remaining_s = np.maximum(runs.total_s[which][:, None] - trial.used_s, 0.0)
    return runs.keys[np.repeat(which, shares)].with_columns(
        predictor=pl.lit(trial.name),
        seed=pl.lit(seed),
        split=pl.Series(np.where(np.repeat(trial.seen, shares), "seen", "unseen"), dtype=pl.String),
        ionic=pl.Series(np.where(np.repeat(runs.single[which], shares), "single", "multiple"), dtype=pl.String),
        group=pl.Series(np.repeat(runs.group[which], shares)),
        progress=pl.Series(np.tile(PROGRESS_SHARES, len(which))),
        used_s=pl.Series(trial.used_s.ravel()),
        remaining_s=pl.Series(remaining_s.ravel()),
        error=pl.Series(trial.errors(runs).ravel()),
        covered=pl.Series(trial.covered(runs).ravel()),
        **{column: pl.Series(trial.quantiles[:, :, k].ravel()) for k, column in enumerate(QUANTILES)},
    )


def rows_before_the_start(rows: pl.DataFrame, trial: HeldOutTrial, runs: Runs) -> pl.DataFrame | None:
    """Rows of a trial at progress 0, from the parameters alone; None for a predictor that says nothing then. rows: of `trial_rows`."""
    if np.isnan(trial.before_s).any():
        return None
    first = rows.filter(pl.col("progress") == PROGRESS_SHARES[0])
    errors = pl.Series(trial.errors_before(runs))
    return first.with_columns(progress=0.0, error=errors, covered=pl.lit(None, pl.Boolean))


def trial_scores(trials: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Rows of predictions.remaining_time_scores: the mean over seeds of what each split gives. trials: of `trial_rows` and
    `rows_before_the_start`."""
    rows = pl.concat(trials)
    both = pl.concat([rows, rows.with_columns(ionic=pl.lit("all"))])
    by_seed = both.group_by("predictor", "split", "ionic", "progress", "seed").agg(
        runs=pl.len().cast(pl.Int64),
        systems=pl.col("group").n_unique().cast(pl.Int64),
        mape=100 * pl.col("error").mean(),
        median_error=100 * pl.col("error").median(),
        coverage=pl.col("covered").cast(pl.Float64).mean(),
    )
    scores = by_seed.group_by("predictor", "split", "ionic", "progress").agg(
        pl.col("runs", "systems").first(),
        pl.len().cast(pl.Int64).alias("seeds"),
        pl.col("mape", "median_error", "coverage").mean(),
    )
    return scores.sort("predictor", "split", "ionic", "progress")


def transfer_scores(
    runs: Runs, learned: IntArray, judged: IntArray, names: list[str], seed: int, on_fit: Callable[[], None]
) -> pl.DataFrame:
    """Errors of predictors that were fitted on the runs `learned` and judged on the runs `judged`, and of all rivals before them.

    Columns: predictor. split (all, unseen, seen). ionic (all, single, multiple). progress: from 0.1 to 1, null for the mean over the
    run. runs, systems. mean_error, median_error: percent of the whole run time. coverage: share of true remaining times between the
    10 % and the 90 % quantile. Raises ValueError for too few runs.
    """
    if len(judged) < FEWEST_JUDGED:
        raise ValueError(
            f"remaining times are judged on at least {FEWEST_JUDGED} finished VASP runs, found {len(judged)}: add more run folders"
        )
    trials: list[pl.DataFrame] = []
    for make in (*REMAINING_RIVALS.values(), *(REMAINING_PREDICTORS[name] for name in names)):
        predictor = make()
        predictor.fit(runs, learned, seed)
        trials.append(
            trial_rows(trial_of(predictor, runs, learned, judged), runs, seed).with_columns(place=len(trials))
        )
        on_fit()
    rows = pl.concat(trials).with_columns(pl.col("covered").cast(pl.Float64))
    whole = rows.group_by("place", "predictor", "split", "ionic", "group", "folder", "outcar", "launch").agg(
        pl.col("error", "covered").mean(), progress=pl.lit(None, dtype=pl.Float64)
    )
    rows = pl.concat([rows.select(whole.columns), whole])
    for column in ("split", "ionic"):
        rows = pl.concat([rows.with_columns(pl.lit("all").alias(column)), rows])
    scores = rows.group_by("place", "predictor", "split", "ionic", "progress").agg(
        runs=pl.len().cast(pl.Int64),
        systems=pl.col("group").n_unique().cast(pl.Int64),
        mean_error=100 * pl.col("error").mean(),
        median_error=100 * pl.col("error").median(),
        coverage=pl.col("covered").mean(),
    )
    return scores.sort("split", "ionic", "place", "progress", nulls_last=True).drop("place")


def systems_of(runs: Runs, which: IntArray) -> int:
    """How many different systems these runs are of."""
    return len(np.unique(runs.group[which]))
