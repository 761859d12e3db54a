"""What RLSchert's experiment reads from the warehouse."""

from __future__ import annotations

from pathlib import Path

import pytest

from papers.rlschert.measured import errors_of, observed_jobs
from papers.rlschert.workload import PAPER_ERRORS
from warehouse import Warehouse


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    """Runs and scores of the folder `mine`; another folder has runs, too."""
    opened = Warehouse(tmp_path / "w.duckdb")
    with opened.write() as connection:
        connection.execute(
            "INSERT INTO raw.vasp_runs BY NAME SELECT *, folder AS job_folder, 'finished' AS state, true AS converged, 0 AS loops_s, "
            "TIMESTAMP '2026-01-01' AS changed_at, 1 AS electronic_steps, 1 AS ionic_steps, 0 AS residuals_told, "
            "1 AS outcar_bytes FROM (VALUES "
            "('mine', 'b', 'OUTCAR', 1, 900.0, 40, 0), ('mine', 'a', 'OUTCAR', 1, 300.0, 8, 20), "
            "('mine', 'c', 'OUTCAR', 1, 0.0, 8, 0), ('theirs', 'a', 'OUTCAR', 1, 600.0, 8, 0)) "
            "AS runs (source, folder, outcar, launch, elapsed_s, cores, nsw)"
        )
        connection.execute(
            "INSERT INTO predictions.remaining_time_scores BY NAME "
            "SELECT 'mine' AS source, 9 AS runs, 1 AS systems, 1 AS seeds, "
            "1 AS median_error, predictor, ionic, progress, 100 * error AS mape FROM (VALUES "
            "('inputs_only', 0.0, 0.4), ('progress', 0.5, 0.2), ('progress', 1.0, 0.1)) AS scores (predictor, progress, error), "
            "(VALUES ('single'), ('multiple'), ('all')) AS kinds (ionic)"
        )
        connection.execute(
            "INSERT INTO predictions.remaining_time_scores BY NAME SELECT * REPLACE (1 AS mape, 'seen' AS split) "
            "FROM predictions.remaining_time_scores"
        )  # errors on systems that were learned from do not count
    return opened


def test_errors_are_the_papers_or_those_of_the_folder(warehouse: Warehouse) -> None:
    assert errors_of(warehouse, "mine", "paper") == PAPER_ERRORS
    errors = errors_of(warehouse, "mine", "measured")
    assert errors.before == pytest.approx((0.4, 0.4))
    assert errors.running == pytest.approx((0.15, 0.15)) and errors.at_end == pytest.approx((0.1, 0.1))
    with pytest.raises(ValueError, match="no errors of inputs_only on runs of single ionic steps of 'theirs'"):
        errors_of(warehouse, "theirs", "measured")


def test_jobs_are_the_finished_runs_of_the_folder(warehouse: Warehouse) -> None:
    assert observed_jobs(warehouse, "mine") == ((1, 1, False), (3, 4, True))
    with pytest.raises(ValueError, match=r"no finished run of 'nobody' to draw jobs from\. Set jobs_like to paper"):
        observed_jobs(warehouse, "nobody")
