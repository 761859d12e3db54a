"""Pairs of recorded runs that differ in a setting."""

from studies.planted.calibration import with_errors
from studies.planted.effects import SCHEMA
from studies.planted.golden_pairs import golden_cases
from tests.shared import shared_file


def test_changes_of_recorded_openpbs_are_predicted() -> None:
    """Slurm's pairs are in the published table: they take long."""
    shared_file("golden/pbs/P1/run1/accounting.gz")
    rows = golden_cases(slurm_runs=())
    cases = with_errors(rows)
    assert dict(rows.schema) == SCHEMA and cases.height == 6 * 3 - 2  # medians under a minute
    mean = cases.filter(figure="mean")
    assert mean["error"].max() < 1.3 < mean["no_change"].max()  # type: ignore[operator]
    assert set(mean["letter"]) <= {"A", "B", "C"}
