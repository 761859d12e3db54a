"""What RLSchert's experiment reads of a folder of VASP runs: the errors of predictions there, and its jobs."""

from __future__ import annotations

from papers.rlschert.measured import errors_of_scores, jobs_of_runs
from papers.rlschert.workload import PAPER_ERRORS, Errors
from warehouse import Warehouse


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
