"""Tests of studies/planted: calibration, effects, golden_pairs, keeping, planted_grades, planted_rules, what_if_changes.

Errors of predicted changes, and thresholds that follow.

Changes that an operator might try.

True and predicted effects of changes.

Pairs of recorded runs that differ in a setting.

Results that are kept, so that a stopped study goes on.

The tables of the calibration.

The tables of recovered rules, and what the product finds in a few planted logs.

Settings that a real scheduler had, as what-if questions.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from models.judging.fidelity import LETTER_RULES, WAIT_FIGURES
from models.judging.machine import SizeOverTime
from studies.planted import keeping
from studies.planted import what_if_changes as study
from studies.planted.calibration import fitted_rules, rows_by_letter, with_errors
from studies.planted.clusters import PBS, SLURM, PlantedCluster
from studies.planted.effects import (
    MORE,
    ORDER,
    RAISED,
    SCHEMA,
    ClusterChange,
    changes_of,
    effect_rows,
    figure_of,
    parts_of,
    predictor_of,
)
from studies.planted.golden_pairs import golden_cases
from studies.planted.keeping import result_of
from studies.planted.planted_grades import pair_rows, rows_by_group, threshold_rows
from studies.planted.planted_rules import rows_of_kinds, rows_of_logs
from studies.planted.planting import HOURS, LIMIT, NONE, SHARES
from studies.planted.what_if_changes import SCHEMA_OF_CHANGES, judged_changes, slurm_side, what_if_changes
from tests.shared import shared_file
from tests.studies.planted.examples import FOUR_RUNNING, PROCS, small_planted
from traces.cluster.description import Gate

ROW = {
    "predictor": "p",
    "part": "all",
    "value": "",
    "change": "c",
    "jobs": 9,
    "rank": 1.0,
    "alike": 1.0,
    "distance": 0.0,
}


def test_an_error_is_the_factor_between_two_changes() -> None:
    """The wait is halved. It is said to be a third, by a replay that is exact today."""
    waits = {"logged_s": 6000.0, "replayed_s": 6000.0, "true_s": 3000.0, "predicted_s": 2000.0}
    (row,) = with_errors(pl.DataFrame([ROW | waits | {"figure": "mean"}], schema=SCHEMA)).to_dicts()
    assert row["error"] == pytest.approx(3060 / 2060) and row["no_change"] == pytest.approx(6060 / 3060)
    assert row["off"] == 1.0 and row["letter"] == "A"
    nobody = dict.fromkeys(waits, 30.0) | {"figure": "median"}
    assert not with_errors(pl.DataFrame([ROW | nobody], schema=SCHEMA)).height


def cases(seed: int) -> pl.DataFrame:
    """Predicted changes are the more wrong the farther the replay is off today."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(1500):
        sigma = rng.uniform(0, 1)
        off, error = np.exp(sigma * rng.uniform(-1, 1)), np.exp(sigma * rng.uniform(-1, 1))
        waits = {"logged_s": 9000.0, "replayed_s": 9000 * off, "true_s": 5000.0, "predicted_s": 5000 * off * error}
        rows.append(ROW | waits | {"rank": 1 - sigma / 2, "distance": sigma / 4, "figure": ("mean", "p95")[number % 2]})
    return with_errors(pl.DataFrame(rows, schema=SCHEMA)).with_columns(number=pl.int_range(pl.len()))


def test_fitted_thresholds_keep_their_promises_on_other_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = fitted_rules(cases(1))
    for figure, rules in fitted.items():
        assert list(rules) == list(LETTER_RULES[figure]) and rules["A"].off <= rules["B"].off <= rules["C"].off
        monkeypatch.setitem(LETTER_RULES, figure, rules)
    fresh = cases(2)
    rows = rows_by_letter(with_errors(fresh.select(*SCHEMA)).with_columns(number=fresh["number"]))
    for letter, count, _, kept, *_ in rows[:3]:
        assert int(count.replace(",", "")) > 50 and int(kept.removesuffix(" %")) >= 88, letter
    assert rows[-1][3] == ""


# --- changes


def test_more_nodes_are_whole_nodes_and_keep_what_queues_own_and_how_sizes_change() -> None:
    more = ClusterChange(MORE)
    assert more.on(PlantedCluster(PROCS)).procs == 80 and more.on(PlantedCluster(160)).procs == 192
    parted = more.on(PlantedCluster(PROCS, partitions=(("long", 48), ("short", 16))))
    assert parted.procs == sum(procs for _, procs in parted.partitions) == 96
    grown = more.on(PlantedCluster(PROCS, sizes=SizeOverTime((32, PROCS), (9,))))
    assert grown.sizes == SizeOverTime((48, 80), (9,)) and grown.procs == 80


def test_limits_are_raised_by_half_and_hours_are_lifted() -> None:
    cluster = PlantedCluster(PROCS, limits=(FOUR_RUNNING,), gates=(Gate((0,), 0, 60),))
    assert ClusterChange(RAISED, LIMIT).on(cluster).limits[0].bound == 6
    lifted = ClusterChange(RAISED, HOURS).on(cluster)
    assert not lifted.gates and lifted.limits == cluster.limits


def test_each_engine_has_the_changes_that_it_knows() -> None:
    planted = small_planted()
    names = {
        engine: len(list(changes_of(replace(planted, cluster=replace(planted.cluster, engine=engine)))))
        for engine in ("orders", SLURM, PBS)
    }
    assert names == {"orders": 4, SLURM: 3, PBS: 2}
    assert [each.name for each in changes_of(replace(planted, kind=NONE))][:2] == [MORE, ORDER]
    assert ClusterChange(ORDER, "fairshare:half_life_days=28") in changes_of(replace(planted, kind=SHARES))


# --- effects


def test_the_hidden_cluster_itself_predicts_without_an_error_and_a_cluster_without_its_rule_does_not() -> None:
    planted = small_planted()
    rows = effect_rows(
        planted,
        {
            name: predictor_of(cluster, planted.workload)
            for name, cluster in (("exact", planted.cluster), ("plain", PlantedCluster(PROCS)))
        },
    )
    assert dict(rows.schema) == SCHEMA
    exact, plain = (rows.filter(predictor=name) for name in ("exact", "plain"))
    assert exact["logged_s"].equals(exact["replayed_s"]) and exact["true_s"].equals(exact["predicted_s"])
    assert exact["alike"].min() == 1.0 and plain["alike"].max() < 1.0  # type: ignore[operator]
    assert set(rows["change"]) == {"20 % more nodes", "rule relaxed", "another order", "another backfilling"}
    mean = plain.filter(part="all", figure="mean", change="rule relaxed").row(0, named=True)
    assert mean["predicted_s"] == mean["replayed_s"] and mean["true_s"] < mean["logged_s"]  # it has no rule to relax


def test_parts_are_of_the_later_half() -> None:
    workload = small_planted().workload
    parts = list(parts_of(workload))
    for part in ("queue", "user class", "size"):
        assert sum(int(of.sum()) for name, _, of in parts if name == part) == int(workload.later_half.sum())


def test_a_cluster_on_which_jobs_never_start_has_no_rows() -> None:
    planted, narrow = small_planted(), PlantedCluster(PROCS, partitions=(("long", 8),))
    assert not effect_rows(planted, {"none": predictor_of(narrow, planted.workload)}).height


# --- golden pairs


def test_changes_of_recorded_openpbs_are_predicted() -> None:
    """Slurm's pairs are in the published table: they take long."""
    shared_file("golden/pbs/P1/run1/accounting.gz")
    rows = golden_cases(slurm_runs=())
    cases = with_errors(rows)
    assert dict(rows.schema) == SCHEMA and cases.height == 6 * 3 - 2  # medians under a minute
    mean = cases.filter(figure="mean")
    assert mean["error"].max() < 1.3 < mean["no_change"].max()  # type: ignore[operator]
    assert set(mean["letter"]) <= {"A", "B", "C"}


# --- keeping


EMPTY = pl.DataFrame(schema=SCHEMA)


def test_what_is_kept_is_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def result(number: int, series: int, of: int) -> keeping.PlantedResult:
        asked.append(number)
        return keeping.PlantedResult({"number": number, "series": series, "of": of}, EMPTY)

    monkeypatch.setattr(keeping, "result_of", result)
    monkeypatch.setattr(keeping, "data_folder", lambda: tmp_path)
    folder = tmp_path / "planted" / keeping.code_key()
    folder.mkdir(parents=True)
    for number in (2, 4):
        keeping.keep_result(folder, 1, number, 9)
    results = list(keeping.planted_results(1, (4, 2), 9))
    assert asked == [2, 4] and [each.facts["number"] for each in results] == [4, 2]
    assert dict(results[0].effects.schema) == SCHEMA


def test_the_key_is_that_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    before = keeping.code_key()
    assert before == keeping.code_key() and len(before) == 12
    monkeypatch.setattr(keeping, "SOURCES", keeping.SOURCES[:1])
    assert keeping.code_key() != before


# --- planted grades


def test_tables_of_cases() -> None:
    planted = small_planted()
    rows = effect_rows(
        planted,
        {
            name: predictor_of(cluster, planted.workload)
            for name, cluster in (("exact", planted.cluster), ("plain", PlantedCluster(PROCS)))
        },
    )
    cases = with_errors(rows).with_columns(number=pl.lit(3), kind=pl.lit(planted.kind))
    exact, plain = rows_by_group(cases, "predictor")
    assert exact[0] == "exact" and exact[2:6] == ["100 %", "0 %", "0 %", "0 %"] and exact[6] == "100 %"
    assert plain[0] == "plain" and plain[2] == "0 %"
    first = next(pair_rows(cases.filter(predictor="exact", part="all")))
    assert first[1] == "A" and first[-3] == first[-2] and first[-1] == "1.00"


def test_thresholds_of_the_reference_are_those_of_the_code() -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "semantics" / "fidelity.md"
    for row in threshold_rows():
        assert f"| {' | '.join(row)} |" in page.read_text()


# --- planted rules


FACTS = {
    "kind": "limit",
    "counts": "running jobs",
    "scope": "user",
    "number": 1,
    "engine": "orders",
    "planted": ["FCFS, easy", "a"],
    "identified": ["b"],
    "seconds": 1.5,
}
RIGHT = FACTS | {"has_kind": True, "has_value": True, "surplus": []}
WRONG = FACTS | {"has_kind": True, "has_value": False, "surplus": ["hours"]}
FALSE = FACTS | {"kind": "none", "counts": "", "scope": "", "has_kind": False, "has_value": False, "surplus": ["hours"]}


def test_rows() -> None:
    rows = rows_of_kinds([RIGHT, WRONG, FALSE])
    assert rows[0] == ["limit", "running jobs", "user", "2", "100 %", "50 %", "1 (50 %)"]
    assert [row[0] for row in rows] == ["limit", "all with a rule", "no rule"] and rows[2][3:] == [
        "1",
        "",
        "",
        "1 (100 %)",
    ]
    assert rows_of_logs([WRONG])[0] == ["1", "orders", "FCFS, easy; a", "b", "yes", "no", "hours", "1.5"]


def test_the_product_finds_a_planted_limit() -> None:
    facts = result_of(45, 0, 200).facts
    assert facts["has_kind"] and facts["has_value"] and facts["identified"]


# --- what if changes


def test_what_backfilling_is_worth_is_predicted_from_either_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs that differ in SchedulerType, by the configuration files of the other one."""
    shared_file("golden/slurm/S1-builtin/run1/sacct.psv.gz")
    monkeypatch.setattr(study, "PHASES", 3)
    rows = what_if_changes([slurm_side("S1-backfill"), slurm_side("S1-builtin")], "Slurm")
    assert dict(rows.schema) == SCHEMA_OF_CHANGES
    assert set(rows["change"]) == {
        "~ scheduler schedulertype: sched/backfill -> sched/builtin",
        "~ scheduler schedulertype: sched/builtin -> sched/backfill",
    }
    judged = judged_changes(rows)
    assert judged.height >= 18 and {"all", "user", "account", "size"} <= set(judged["kind"])
    assert judged["has_sign"].all()
    assert judged["is_close"].mean() > 0.9  # type: ignore[operator]


def test_figures_of_waits() -> None:
    waits = np.arange(101) * 60
    assert [figure_of(figure, waits) for figure in WAIT_FIGURES] == [3000, 3000, 5700]
