"""The ends of jobs are those that the table of jobs documents."""

from __future__ import annotations

import sql
from traces.common.ends import END_STATES, FAULTS


def test_every_end_is_documented_and_faults_are_ends() -> None:
    line = next(line for line in sql.load("core.jobs").splitlines() if "status VARCHAR" in line)
    assert set(END_STATES) == set(line.partition("-- ")[2].replace(" or ", ", ").split(", "))
    assert set(END_STATES) - set(FAULTS) == {"completed", "cancelled", "unknown"}
