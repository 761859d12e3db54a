"""How well remaining times of one folder's runs are predicted by a predictor that learned from another folder's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from models.remaining.evaluation import REMAINING_PREDICTORS, REMAINING_RIVALS, trial_of
from models.remaining.runs import IntArray, Runs
from models.remaining.score_tables import trial_rows

FEWEST_JUDGED = 10
"""With fewer finished runs nothing is judged, because their mean would say too little."""


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
