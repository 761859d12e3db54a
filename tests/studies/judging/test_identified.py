"""The product finds the rules of real logs alone."""

from __future__ import annotations

import pytest

from assets.replay.limits.identified import rules_of_trace
from models.identification.rules import BOUNDARY, RUNNING_JOBS
from studies.judging.identified import LOGS, rows_of_rules
from studies.judging.limited import trace_of
from tests.shared import shared_file


@pytest.mark.parametrize(
    ("name", "kind", "least_rank"),
    [
        ("IU Mason", RUNNING_JOBS, 0.85),
        ("KTH-SP2", BOUNDARY, 0.4),
        pytest.param("CTC-SP2", None, 0.4, marks=pytest.mark.thorough),
        pytest.param("HPC2N", None, 0.55, marks=pytest.mark.thorough),
    ],
)
def test_rules_explain_the_second_half(name: str, kind: str | None, least_rank: float, tmp_path) -> None:  # type: ignore[no-untyped-def]
    (log,) = (each for each in LOGS if each.name == name)
    shared_file("traces", *log.file.split("/"))
    identification = rules_of_trace(trace_of(log, tmp_path), None, None, 400)
    after = identification.after
    if kind is not None:
        assert [rule.kind for rule in identification.rules] == [kind]
    assert after.rank_correlation is not None and after.rank_correlation >= least_rank
    if name in ("IU Mason", "HPC2N"):
        assert after.replayed_wait_s == pytest.approx(after.logged_wait_s, rel=0.3)
    if name == "HPC2N":
        assert after.replayed_p95_wait_s == pytest.approx(after.logged_p95_wait_s, rel=0.2)
        assert identification.beside is not None and (identification.beside.rank_correlation or 0) >= 0.65
    assert [row[1] for row in rows_of_rules(name, identification)][:2] == ["*the log*", "no rules"]
