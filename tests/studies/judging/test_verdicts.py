"""The table of verdicts: its numbers on one log are those that were measured independently."""

from __future__ import annotations

import pytest

import tracehouse
from papers.archive import ARCHIVE_LOGS
from studies.judging.verdicts import RULES, heading, judged, line
from tests.shared import shared_file

KTH = {
    "SJF": (0.37, 0.54, 0.81, 1.19, 0.74),
    "SAF": (0.36, 0.55, 0.90, 1.46, 1.20),
    "F1": (0.48, 0.57, 1.01, 1.12, 1.66),
    "key8": (0.37, 0.55, 0.87, 1.37, 0.98),
    "EASY-SJBF": (0.73, 0.89, 1.02, 1.03, 0.99),
    "bounded-key": (0.61, 0.85, 1.04, 1.06, 0.95),
}
"""Bounded slowdown, mean, p99, area-weighted and wide jobs' wait over FCFS + EASY's, on the second half of KTH-SP2's jobs."""
DOMINATE = {"EASY-SJBF", "bounded-key"}
MEASURES = ("bounded_slowdown", "wait", "p99_wait", "area_wait", "wide_wait")


@pytest.fixture(scope="module")
def log() -> tracehouse.Log:
    file, procs = ARCHIVE_LOGS["KTH-SP2"]
    return tracehouse.load_log(shared_file("traces", "swf", file), procs=procs)


@pytest.mark.parametrize("name", KTH)
def test_ratios_are_those_measured_before(log: tracehouse.Log, name: str) -> None:
    (rule,) = (rule for rule in RULES if rule.name == name)
    judgement = judged(log, [rule])[name]
    first = judgement.verdict.ratios[0]
    assert [getattr(first, measure) for measure in MEASURES] == pytest.approx(KTH[name], abs=0.0101)
    assert (judgement.verdict.word == "dominates") == (name in DOMINATE)
    assert len(judgement.panels) == (8 if rule.estimates == "live" else 1)
    text = line(name, judgement)
    assert text.startswith(f"| {name} | {first.bounded_slowdown:.2f}")
    assert text.count("|") == heading().splitlines()[0].count("|") == heading().splitlines()[1].count("|")
