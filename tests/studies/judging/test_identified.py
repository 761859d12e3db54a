"""The product finds the rules of real logs alone."""

from __future__ import annotations

import pytest

from assets.replay.limits.identified import logged_jobs, rules_of_trace
from models.identification.rules import BOUNDARY, CYCLE, RUNNING_JOBS
from studies.judging.identified import SEARCHED_LOGS, best_rows, letter_rows, micro_rows, rows_of_rules
from studies.judging.limited import trace_of
from tests.shared import shared_file


@pytest.mark.parametrize(
    ("name", "kinds", "least_rank"),
    [
        ("IU Mason", [RUNNING_JOBS, CYCLE], 0.85),
        ("KTH-SP2", [BOUNDARY], 0.4),
        pytest.param("CTC-SP2", None, 0.4, marks=pytest.mark.thorough),
        pytest.param("HPC2N", None, 0.55, marks=pytest.mark.thorough),
    ],
)
def test_rules_explain_the_second_half(name: str, kinds: list[str] | None, least_rank: float, tmp_path) -> None:  # type: ignore[no-untyped-def]
    (log,) = (each for each in SEARCHED_LOGS if each.name == name)
    shared_file("traces", *log.file.split("/"))
    trace = trace_of(log, tmp_path)
    identification = rules_of_trace(trace, None, None, 400)
    after = identification.after
    if kinds is not None:
        assert [rule.kind for rule in identification.rules] == kinds
    assert after.rank_correlation is not None and after.rank_correlation >= least_rank
    if name in ("IU Mason", "HPC2N"):
        assert after.replayed_wait_s == pytest.approx(after.logged_wait_s, rel=0.3)
    if name == "HPC2N":
        assert after.replayed_p95_wait_s == pytest.approx(after.logged_p95_wait_s, rel=0.2)
        assert identification.beside is not None and (identification.beside.rank_correlation or 0) >= 0.65
    assert next(rows_of_rules(name, identification))[1] == "no rules"
    if name == "IU Mason":
        jobs = logged_jobs(trace)
        waits = identification.cluster.waits(jobs)
        assert waits is not None
        rows = list(letter_rows(name, jobs, waits, identification.procs))
        assert rows[0][1] == "all" and int(rows[0][2].replace(",", "")) == after.jobs
        letters = {row[1]: row[5:] for row in rows}
        assert letters["users with more than 1,000 jobs"] == ["B", "D", "B"]
        assert [row[1:4] for row in best_rows(rows)] == [["B", "D", "B"]]


def test_a_real_run_of_slurm_has_b_for_its_mean_wait() -> None:
    rows = list(micro_rows(shared_file("traces", "clusters", "ub-micro", "etc", "slurm.conf").parents[1]))
    assert rows[0][:3] == ["UB micro", "all", "500"] and rows[0][5] == "B"
    assert {row[1] for row in rows} >= {"user user1", "nodes any"}


def test_the_best_letter_names_its_parts() -> None:
    rows = [
        ["log", "all", "9", "1.00", "1.00", "C", "D", "D"],
        ["log", "queue gpu", "4", "1.00", "1.00", "A", "C", "D"],
    ]
    assert list(best_rows(rows)) == [["log", "A", "C", "D", "mean: queue gpu"]]
