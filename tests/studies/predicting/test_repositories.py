"""Remaining times at a repository that was not learned from: the tables, by hand, and what is learned from whom."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from models.remaining.evaluation import finished, try_elsewhere
from models.remaining.runs import Runs
from studies.predicting.repositories import (
    PREDICTORS,
    Judged,
    before_table,
    cluster_interval,
    every_repository_table,
    outside_steps,
    repositories_table,
    set_up_s,
    tenths_table,
    without_set_up,
)
from tests.models.remaining.synthetic import runs_in
from traces.vasp.synthetic import SyntheticOptions, write_runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder: Path = tmp_path_factory.mktemp("vasp")
    write_runs(folder, SyntheticOptions(runs=60))
    return runs_in(folder)


def judged() -> Judged:
    """Two repositories of ten runs and one of one. Errors of `progress` are 10, 30 and 50 %, and of all others twice as large."""
    repository = np.array(["a"] * 10 + ["b"] * 10 + ["c"])
    share = np.repeat([0.1, 0.3, 0.5], [10, 10, 1])
    ours = np.repeat(share[:, None], 10, axis=1)
    errors = {name: ours if name == "progress" else 2 * ours for name in PREDICTORS}
    return Judged(repository, np.arange(21) % 10, np.arange(21) < 11, errors, ours < 0.4, ours / 2, ours + 0.1)


def test_a_line_is_of_runs_that_were_not_learned_from() -> None:
    lines = repositories_table(judged()).splitlines()
    assert lines[2] == "| a | 10, 10 | 10 [10, 10] | 20 [20, 20] | -10 [-10, -10] | 5 |"
    assert lines[4] == "| 1 others | 1, 1 | 50 [none] | 100 [none] | -50 [none] | 25 |"
    assert lines[5].startswith("| all | 21, 10 | 21 [none] | 43 [none] |"), (
        "three repositories are too few for an interval"
    )
    assert lines[6] == "| a repository, each counted once |  | 30 [none] | 60 [none] | -30 [none] | 15 |"


def test_long_tables() -> None:
    every, tenths = every_repository_table(judged()).splitlines(), tenths_table(judged()).splitlines()
    assert every[2].startswith("| a | 10 | 10 | 10.0 (10.0) | 20.0 (20.0) |") and every[-1].endswith("| 95 |")
    assert len(tenths) == 2 + 3 * len(PREDICTORS) and tenths[2].startswith(
        "| single ionic step | 11 | `progress` | 12 (10) |"
    )
    line = before_table(judged(), np.full(21, 0.25)).splitlines()[2]
    assert line == "| a | 25.0 | 25.0 | 10 | 20 | 10 | 20 | 10 | 20 |"


def test_whole_clusters_are_resampled() -> None:
    """Ten clusters of equal runs are worth ten values, however many runs they have."""
    values, cluster = np.repeat(np.arange(10.0), 50), np.repeat(np.arange(10), 50)
    limits = cluster_interval(values, cluster)
    assert limits is not None and limits[0] < 3.2 and limits[1] > 5.8
    assert cluster_interval(values[:350], cluster[:350]) is None


def test_a_place_is_not_learned_from(runs: Runs) -> None:
    """`constant_median` says the median of what it has learned: all but the place's own runs."""
    place, which = np.arange(len(runs)) % 3, finished(runs)
    trial = try_elsewhere(runs, "constant_median", place, 1)
    assert (trial.which == which).all()
    for each in range(3):
        others = runs.total_s[which[place[which] != each]]
        of_place = place[which] == each
        told = (trial.used_s + trial.quantiles[:, :, 2])[of_place]
        assert np.isclose(np.median(told[:, 0]), np.sort(others)[(len(others) + 1) // 2 - 1])


def test_without_set_up_the_first_step_begins_at_once(runs: Runs) -> None:
    assert set_up_s(runs).max() > 0 and set_up_s(without_set_up(runs)).max() < 1e-6
    assert (outside_steps(runs) >= 0).all() and (outside_steps(runs) < 1).all()
    has_moves = runs.ionic_end_s.size
    assert has_moves and (without_set_up(runs).ionic_end_s <= runs.ionic_end_s).all()
