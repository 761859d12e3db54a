"""What RLSchert's experiment reads of a folder of VASP runs: the errors of predictions there, and its jobs."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from papers.rlschert.rules import LONGEST, WIDEST
from papers.rlschert.workload import PAPER_ERRORS, Errors
from warehouse import Warehouse

UNIT_S, UNIT_CORES = 300, 10
"""Seconds in a unit of time, and cores in a processor, of RLSchert's cluster."""
_LARGEST_ERROR = 2.9


def errors_of_scores(scores: pl.DataFrame, source: str) -> Errors:
    """The errors of the predictors inputs_only, before a run, and progress, while it runs.

    scores: predictor, ionic (single or multiple), progress (0 to 1), error (a share). Raises ValueError when one is missing.
    """

    def mean(predictor: str, ionic: str, condition: pl.Expr) -> float:
        matching = scores.filter((pl.col("predictor") == predictor) & (pl.col("ionic") == ionic) & condition)
        error = matching["error"].mean()
        if error is None:
            raise ValueError(
                f"no errors of {predictor} on runs of {ionic} ionic steps of {source!r}. Materialize "
                "predictions/remaining_time_evaluation with the predictors inputs_only and progress first, or set errors to paper"
            )
        return min(float(error), _LARGEST_ERROR)  # type: ignore[arg-type]

    kinds = ("single", "multiple")
    before_single, before_multiple = (mean("inputs_only", kind, pl.col("progress") == 0) for kind in kinds)
    running_single, running_multiple = (mean("progress", kind, pl.col("progress") > 0) for kind in kinds)
    end_single, end_multiple = (mean("progress", kind, pl.col("progress") == 1) for kind in kinds)
    return Errors(
        before=(before_single, before_multiple),
        running=(running_single, running_multiple),
        at_end=(min(running_single, end_single), min(running_multiple, end_multiple)),
    )


def jobs_of_runs(runs: Iterable[tuple[float, int, bool]]) -> tuple[tuple[int, int, bool], ...]:
    """(length, procs, whether a single ionic step) of each run, in units, cut at the longest and the widest.

    runs: run time in seconds, cores, and whether it has a single ionic step.
    """
    return tuple(
        (min(max(round(seconds / UNIT_S), 1), LONGEST), min(max(round(cores / UNIT_CORES), 1), WIDEST), single)
        for seconds, cores, single in runs
    )


def errors_of(warehouse: Warehouse, source: str, which: str) -> Errors:
    """The paper's errors, or those that were measured on a folder of VASP runs. Raises ValueError when there are none."""
    if which == "paper":
        return PAPER_ERRORS
    with warehouse.read() as connection:
        scores = connection.sql(
            "SELECT predictor, ionic, progress, mape / 100 AS error FROM predictions.remaining_time_scores "
            "WHERE source = $source AND ionic <> 'all' AND coalesce(split, 'unseen') = 'unseen'",
            params={"source": source},
        ).pl()
    return errors_of_scores(scores, source)


def observed_jobs(warehouse: Warehouse, source: str) -> tuple[tuple[int, int, bool], ...]:
    """(length, procs, whether a single ionic step) of the finished runs of a folder, in units of 5 minutes and 10 cores.

    Raises ValueError when there are none.
    """
    with warehouse.read() as connection:
        runs = connection.sql(
            "SELECT elapsed_s, cores, coalesce(nsw, 0) <= 1 AS single FROM raw.vasp_runs "
            "WHERE source = $source AND elapsed_s > 0 AND cores > 0 ORDER BY folder, outcar, launch",
            params={"source": source},
        ).fetchall()
    if not runs:
        raise ValueError(f"no finished run of {source!r} to draw jobs from. Set jobs_like to paper")
    return jobs_of_runs(runs)
