"""What RLSchert's experiment takes from real VASP runs."""

from __future__ import annotations

import polars as pl
import pytest

from papers.rlschert.measured import errors_of_scores, jobs_of_runs

SCORES = pl.DataFrame(
    [
        ("inputs_only", "single", 0.0, 0.3),
        ("inputs_only", "multiple", 0.0, 5.0),
        ("progress", "single", 0.0, 9.0),
        ("progress", "single", 0.5, 0.2),
        ("progress", "single", 1.0, 0.1),
        ("progress", "multiple", 0.5, 0.2),
        ("progress", "multiple", 1.0, 0.4),
    ],
    schema=["predictor", "ionic", "progress", "error"],
    orient="row",
)


def test_errors_are_means_while_a_run_lasts_and_never_grow_towards_its_end() -> None:
    errors = errors_of_scores(SCORES, "mine")
    assert errors.before == (0.3, 2.9)  # the largest error that the generator takes
    assert errors.running == pytest.approx((0.15, 0.3))
    assert errors.at_end == pytest.approx((0.1, 0.3))


def test_a_predictor_without_scores_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"no errors of progress on runs of multiple ionic steps of 'mine'\. Materialize"
    ):
        errors_of_scores(SCORES.filter((pl.col("predictor") != "progress") | (pl.col("ionic") == "single")), "mine")


def test_runs_are_counted_in_units_and_cut() -> None:
    runs = [(40.0, 4, True), (750.0, 24, False), (10.0**7, 1000, False)]
    assert jobs_of_runs(runs) == ((1, 1, True), (2, 2, False), (100, 10, False))
