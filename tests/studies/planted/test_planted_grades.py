"""The tables of the calibration."""

from pathlib import Path

import polars as pl

from studies.planted.calibration import with_errors
from studies.planted.clusters import PlantedCluster
from studies.planted.effects import effect_rows, predictor_of
from studies.planted.planted_grades import pair_rows, rows_by_group, threshold_rows
from tests.studies.planted.examples import PROCS, small_planted


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
