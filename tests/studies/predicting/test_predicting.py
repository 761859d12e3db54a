"""Tests of studies/predicting: prediction, prediction_tables, repositories, uses, vasp_tables, walltimes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from models.remaining.evaluation import finished
from models.remaining.runs import Runs
from models.waits.walltime_advice import AdviceTrial
from studies.predicting import walltimes
from studies.predicting.prediction import choose
from studies.predicting.prediction_tables import (
    FIRST_FIVE,
    comparisons,
    every_wait_table,
    predictors_table,
    share_interval,
    waits_table,
)
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
    try_elsewhere,
    without_set_up,
)
from studies.predicting.search import Configuration, TriedUse
from studies.predicting.uses import chosen_elsewhere
from studies.predicting.vasp_tables import remaining_table, seen_table
from studies.publishing.results import stored
from studies.publishing.warehouse_tables import warehouse_tables
from tests.models.remaining.synthetic import runs_in
from traces.vasp.synthetic import SyntheticOptions, write_runs
from warehouse import Warehouse, replace_partition

# prediction_tables: Tables of run-time prediction and of predicted waits.


def test_predictors_are_compared_with_the_best_of_the_first_five() -> None:
    coverage = {"coverage_50": 0.498, "coverage_80": 0.798, "coverage_90": 0.896}
    errors = dict(zip(FIRST_FIVE, (4828.0, 5265.0, 5694.0, 8866.0, 6129.0), strict=True)) | {"stack": 4014.0}
    scores = {"KTH-SP2": {name: {"mean_absolute_error_s": error} | coverage for name, error in errors.items()}}
    lines = predictors_table(scores, {"KTH-SP2": "stack"}).splitlines()
    assert lines[2] == "| `requested` | 4,828 |" and "| `stack` | **4,014** |" in lines
    assert lines[-3:] == [
        "| chosen on the other three logs | stack |",
        "| its error against the best of the first five | -16.9 % |",
        "| its coverage at 50 / 80 / 90 % | 49.8 / 79.8 / 89.6 |",
    ]


def test_a_choice_does_not_see_the_log_it_is_for() -> None:
    merits = {"a": [0.0, -9.0, -1.0], "b": [-1.0, 0.0, -2.0], "c": [-1.0, 0.0, -2.0]}
    assert choose(merits, leave_out="a") == 2
    assert choose(merits, leave_out="b") == 1


# repositories: Remaining times at a repository that was not learned from: the tables, by hand, and what is learned
# from whom.


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


# uses: Uses of predictions that other logs choose.


def use(factor: float, value: float, dominates: bool) -> TriedUse:
    class Fixed(TriedUse):
        """With the figures given."""

        def __init__(self) -> None:
            object.__setattr__(self, "configuration", replace(Configuration(), factor=factor))

        @property
        def value(self) -> float:
            return value

        @property
        def dominates(self) -> bool:
            return dominates

    return cast(Any, Fixed())


def test_what_dominates_on_all_other_logs_goes_first() -> None:
    tried = {
        "one": {"any": [use(1.0, -9.0, True), use(0.5, -9.0, True), use(0.7, -9.0, True)]},
        "two": {"any": [use(1.0, -0.5, False), use(0.5, -0.1, True), use(0.7, -0.2, True)]},
        "three": {"any": [use(1.0, -0.5, True), use(0.5, -0.2, True), use(0.7, -0.2, True)]},
    }
    assert chosen_elsewhere("one", "any", tried).factor == 0.7, "the log itself has no say"
    tried["three"]["any"][2] = use(0.7, -0.2, False)
    assert chosen_elsewhere("one", "any", tried).factor == 0.5
    tried["three"]["any"][1] = use(0.5, -0.2, False)
    assert chosen_elsewhere("one", "any", tried).factor == 1.0, "where none dominates, the least value"


# vasp_tables: Tables of VASP runs and of RLSchert's schedulers, from rows of the warehouse.

SCHEDULERS = {
    ("SJF", "none", 1): 9.0,
    ("SJF, whole queue", "none", 1): 3.0,
    ("SJF, whole queue", "stopping", 1): 2.0,
    ("RLSchert", "learned", 4): 3.5,
    ("RLSchert", "learned", 7): 4.5,
}


def result_rows() -> pl.DataFrame:
    """Two sequences of each scheduler, in the main trials and two sweeps. The second is slower by one."""
    places = [("main", 0.7, "training"), ("main", 0.7, "test")]
    places += [("preemption", cost, "test") for cost in (0.0, 5.0)]
    places += [("predictable", share, "test") for share in (0.0, 1.0)] + [("mixed", 0.5, "test")]
    return pl.DataFrame(
        [
            {
                "experiment": experiment, "setting": setting, "part": part, "policy": policy, "kill": kill, "seed": seed,
                "sequence": sequence, "slowdown": slowdown + sequence + setting / 10, "completion": 10 * slowdown,
                "holes": 1.0, "kills": 4 * (kill != "none"),
            }
            for experiment, setting, part in places
            for (policy, kill, seed), slowdown in SCHEDULERS.items()
            for sequence in (0, 1)
        ]
    )  # fmt: skip


def comparison_rows() -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "experiment": "preemption", "setting": setting, "policy": "SJF, whole queue, stopping rule",
                "rival": "SJF, whole queue", "cost": 2.0, "difference": -1.0 + setting, "difference_low": -1.5 + setting,
                "difference_high": -0.5 + setting,
            }
            for setting in (0.0, 5.0)
        ]
    )  # fmt: skip


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, tuple[str, str]]:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    with warehouse.write() as connection:
        replace_partition(connection, "experiments.rlschert", "mine", result_rows())
        replace_partition(connection, "experiments.rlschert_comparisons", "mine", comparison_rows())
    return warehouse_tables(warehouse)


def test_schedulers_are_means_over_seeds_and_sequences(tables: dict[str, tuple[str, str]]) -> None:
    command, table = tables["rlschert, mine"]
    assert command == "tracehouse vasp run mine --job rlschert, with the seeds [4, 7]"
    assert table.splitlines()[2:] == [
        "| SJF | 9.57 | 9.57 |  | 90.0 |",
        "| our network, learned killing | 4.57 | 4.57 | 4.0 | 40.0 |",
        "| SJF, whole queue | 3.57 | 3.57 |  | 30.0 |",
        "| SJF, whole queue, stopping rule | 2.57 | 2.57 | 4.0 | 20.0 |",
    ]


def test_what_a_kill_costs_has_intervals(tables: dict[str, tuple[str, str]]) -> None:
    lines = tables["rlschert preemption, mine"][1].splitlines()
    assert lines[0] == "| `preemption_cost` | 0 | 5 |"
    assert "| our network, learned killing | 4.50 | 5.00 |" in lines
    expected = (
        "| SJF, whole queue, stopping rule, less SJF, whole queue | -1.00 (-1.50 to -0.50) | +4.00 (+3.50 to +4.50) |"
    )
    assert lines[-1] == expected


def test_shares_of_predictable_jobs_end_with_other_applications(tables: dict[str, tuple[str, str]]) -> None:
    lines = tables["rlschert predictable, mine"][1].splitlines()
    assert lines[0] == "| predictable jobs | 0 % | 100 % | half other applications |"
    assert lines[2] == "| SJF | 9.50 | 9.60 | 9.55 |"


def test_remaining_times_come_from_the_warehouse(tmp_path: Path) -> None:
    run = {"folder": "a", "outcar": "OUTCAR", "launch": 1, "ionic": "single", "predictor": "progress"}
    times = dict.fromkeys(["used_s", "remaining_s", *(f"remaining_p{share}_s" for share in (10, 25, 50, 75, 90))], 1.0)
    trials = [
        run | times | {"seed": 2, "progress": tenth / 10, "error": error, "split": split}
        for split, error in {"seen": 0.2, "unseen": 0.4}.items()
        for tenth in range(1, 11)
    ]
    score = {
        "predictor": "progress",
        "ionic": "all",
        "runs": 1,
        "systems": 1,
        "seeds": 1,
        "mape": 40.0,
        "median_error": 40.0,
    }
    scores = [score | {"progress": tenth / 10, "coverage": 1.0, "split": "unseen"} for tenth in range(1, 11)]
    warehouse = Warehouse(tmp_path / "w.duckdb")
    with warehouse.write() as connection:
        replace_partition(connection, "predictions.remaining_time_trials", "mine", pl.DataFrame(trials))
        replace_partition(connection, "predictions.remaining_time_scores", "mine", pl.DataFrame(scores))
    tables = warehouse_tables(warehouse)
    command, table = tables["remaining times, mine"]
    assert command == "tracehouse vasp run mine, with the seeds [2]"
    assert table.splitlines()[2] == f"| all: `progress` | 1, 1 |  |{' 40 (40) |' * 6}"
    seen = tables["remaining times of systems that were seen, mine"][1]
    assert seen.splitlines()[2] == "| `progress` | 20.0 (20.0) | 40.0 (40.0) |"


def test_remaining_times_by_tenths() -> None:
    row = {"ionic": "single", "runs": 9, "systems": 3}
    scores = [
        row | {"predictor": name, "progress": tenth, "mape": mean, "median_error": 7.4}
        for name, mean in {"inputs_only": 90.4, "ends_now": 82.0, "progress": 50.2}.items()
        for tenth in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
        if name == "inputs_only" or tenth
    ]
    lines = remaining_table(pl.DataFrame(scores)).splitlines()
    assert lines[0] == "|  | runs, systems | before | 10 % | 30 % | 50 % | 70 % | 90 % | 100 % |"
    assert lines[2].startswith("| single ionic step: parameters alone | 9, 3 | 90 (7) | 90 (7) |")
    assert lines[3].startswith("| `ends_now` |  |  | 82 (7) |") and lines[4].startswith("| `progress` |  |  | 50 (7) |")
    assert len(lines) == 5


def test_seen_beside_unseen() -> None:
    rows = [
        {"predictor": "progress", "split": split, "mean": mean, "median": 9.54}
        for split, mean in {"seen": 20.0, "unseen": 31.26}.items()
    ]
    assert seen_table(pl.DataFrame(rows)).splitlines()[2:] == ["| `progress` | 20.0 (9.5) | 31.3 (9.5) |"]


# wait_tables: Predicted waits beside their best rivals: the measures by hand, and intervals that hold.

NAMES = ("wait", "similar", "replay", "binomial")


def told(jobs: int = 1600, seed: int = 1, error: float = 1.0) -> pl.DataFrame:
    """Rows of `predict_history` in which ours err less than all rivals, and errors come in bursts."""
    rng = np.random.default_rng(seed)
    wait = rng.exponential(1000, jobs).astype(np.int64) + 2000
    burst = np.repeat(rng.exponential(1.0, jobs // 20), 20) * rng.normal(0, 500, jobs)
    columns = {"wait_s": wait}
    for name in NAMES:
        point = wait + burst * (error if name == "wait" else 2.0)
        columns |= {f"{name}_p10_s": point - 800, f"{name}_p50_s": point, f"{name}_p90_s": point + 800}
    columns |= {f"{name}_mean_s": columns[f"{name}_p50_s"] for name in NAMES[:3]}
    return pl.DataFrame(columns)


def test_measures_by_hand() -> None:
    """Two waits. The absolute errors of ours are 0 and 100 s; its interval is 100 s long and misses one wait by 50 s."""
    ours = {
        "wait_p10_s": [50.0, 850.0],
        "wait_p50_s": [100.0, 900.0],
        "wait_p90_s": [150.0, 950.0],
        "wait_mean_s": [100.0, 1200.0],
    }
    same = {f"{name}_{what}_s": [0.0, 0.0] for name in NAMES[1:] for what in ("p10", "p50", "p90", "mean")}
    rows = pl.concat([pl.DataFrame({"wait_s": [100, 1000]} | ours | same)] * 16)
    line = every_wait_table({"log": rows}).splitlines()[2]
    assert line == "| log | 32 | ours, median | 50 | 71 | 350 | 100 | 0.0 | 50.0 |"
    assert every_wait_table({"log": rows}).splitlines()[3].startswith("| log | 32 | ours, mean | 100 | 141 | 350 |")


def test_what_is_better_by_far_has_an_interval_below_one() -> None:
    each = {one.statistic: one for one in comparisons(told())}
    assert 0.45 < each["median"].ratio < 0.55 and each["median"].low < each["median"].ratio < each["median"].high < 0.7
    assert 0.9 <= each["median"].held <= 1
    lines = waits_table({"log": told()}).splitlines()
    assert len(lines) == 5 and lines[4].split("|")[7].strip() != "" == lines[3].split("|")[7].strip()


def test_equals_have_an_interval_around_one() -> None:
    """Ours has other errors of the same size. Of twenty such logs most intervals have 1, and none is far from it."""
    held = 0
    for seed in range(20):
        ours, theirs = told(seed=seed, error=2.0), told(seed=seed + 100)
        shift = {f"{name}_{what}_s": ours["wait_s"] + theirs[f"{name}_{what}_s"] - theirs["wait_s"]
                 for name in NAMES[1:] for what in ("p10", "p50", "p90")}  # fmt: skip
        mean = {f"{name}_mean_s": shift[f"{name}_p50_s"] for name in NAMES[1:3]}
        median = next(comparisons(ours.with_columns(**shift, **mean)))
        held += median.low <= 1 <= median.high
    assert held >= 17


def test_an_interval_of_a_share() -> None:
    low, high = share_interval(np.arange(1000) % 5 != 0)
    assert low <= 0.8 <= high < 0.82


# walltimes: What requested times that are advised would have killed, as it is printed.


def test_a_line_by_hand() -> None:
    trials = [
        AdviceTrial(100, 0.02, 600.0, 1200.0, 0.5, 0.05),
        AdviceTrial(300, 0.06, 600.0, 1200.0, 1.5, 0.05),
        AdviceTrial(100, 0.03, 600.0, None, None, 0.05),
    ]
    assert walltimes.line_of("log", 0.05, trials) == ["log", "5", "3", "4.6", "3.0", "6.0", "33", "1.00"]


@pytest.mark.parametrize("title", ["chosen on", "held out"])
def test_over_all_jobs_five_per_cent_are_kept(title: str) -> None:
    """As published. 2 % are not kept everywhere, and the page says so."""
    rows = [[cell.strip() for cell in line.split("|")] for line in stored()[f"walltimes, {title}"].lines[2:]]
    assert len(rows) == 4 and all(float(row[4]) <= 5 for row in rows if row[2] == "5")
