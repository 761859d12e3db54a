"""Settings that a real scheduler had, as what-if questions."""

import pytest

from studies.planted import what_if_changes as study
from studies.planted.what_if_changes import SCHEMA_OF_CHANGES, judged_changes, slurm_side, what_if_changes
from tests.shared import shared_file


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
