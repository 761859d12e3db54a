"""Limits and hours that logs show, and how far they explain waits."""

from __future__ import annotations

import pytest

from studies.judging.limited import RULED_LOGS, rows_of, trace_of
from tests.shared import shared_file


@pytest.mark.parametrize(
    ("name", "rank_without", "rank"), [("HPC2N", 0.47, 0.57), ("KTH-SP2", 0.22, 0.43), ("IU Mason", 0.28, 0.89)]
)
def test_rules_explain_the_order_of_waits(name: str, rank_without: float, rank: float, tmp_path) -> None:  # type: ignore[no-untyped-def]
    (log,) = (each for each in RULED_LOGS if each.name == name)
    shared_file("traces", *log.file.split("/"))
    _, without, ruled, *others = rows_of(log, trace_of(log, tmp_path))
    assert (float(without[4]), float(ruled[4])) == (rank_without, rank)
    if name == "HPC2N":  # a prototype, which looked at limits when a job came or went, had 27.2 h and 70.0 h
        (late,) = others
        assert float(late[2]) == pytest.approx(27.2, rel=0.05) and float(late[3]) == pytest.approx(70.0, rel=0.051)
        assert float(ruled[2]) == pytest.approx(27.2, rel=0.05)
