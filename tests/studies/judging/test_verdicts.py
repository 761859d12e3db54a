"""The table of verdicts: its numbers on one log are those that were measured independently."""

from __future__ import annotations

import pytest

import tracehouse
from assets.common.trace import Trace
from assets.policies.verdicts import chance_cloud, judged_replays
from models.judging.chance import ChanceCloud
from models.judging.judge import beside_cloud
from models.judging.panel import SHIFTS
from models.judging.verdict import DOMINATES, LIKE_CHANCE
from papers.archive import ARCHIVE_LOGS
from studies.judging.verdicts import RULES, SEARCHED_ELSEWHERE, chance_line, heading, line, wins
from studies.publishing.results import stored
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
WORDS = {"EASY-SJBF": LIKE_CHANCE, "bounded-key": DOMINATES}
"""Of the rules that gain in both averages and keep the guards. Of the first, random orders do as well."""
MEASURES = ("bounded_slowdown", "wait", "p99_wait", "area_wait", "wide_wait")


@pytest.fixture(scope="module")
def trace() -> Trace:
    file, procs = ARCHIVE_LOGS["KTH-SP2"]
    return tracehouse.load_log(shared_file("traces", "swf", file), procs=procs).trace()


@pytest.fixture(scope="module")
def cloud(trace: Trace) -> ChanceCloud:
    return chance_cloud(trace, trace.rows.height // 2)


def test_the_lottery_has_a_row(cloud: ChanceCloud) -> None:
    text = chance_line(cloud)
    assert (
        text.startswith("| random orders, 102 | 0.84 (0.68 to 0.97) | 0.93 (0.86 to 0.99) |")
        and "77% of them dominate" in text
    )
    assert text.count("|") == heading().splitlines()[0].count("|")
    assert cloud.carries_verdict


@pytest.mark.parametrize("name", KTH)
def test_ratios_are_those_measured_before(trace: Trace, cloud: ChanceCloud, name: str) -> None:
    (rule,) = (rule for rule in RULES if rule.name == name)
    ((_, alone),) = judged_replays(trace, [rule], trace.rows.height // 2, SHIFTS)
    judgement = beside_cloud(alone, cloud)
    first = judgement.verdict.ratios[0]
    assert [getattr(first, measure) for measure in MEASURES] == pytest.approx(KTH[name], abs=0.0101)
    assert name not in WORDS or judgement.verdict.word == WORDS[name]
    assert name in WORDS or judgement.verdict.word != DOMINATES
    assert len(judgement.panels) == (8 if rule.estimates == "live" else 1)
    text = line(name, judgement)
    assert text.startswith(f"| {name} | {first.bounded_slowdown:.2f}")
    assert text.count("|") == heading().splitlines()[0].count("|") == heading().splitlines()[1].count("|")


def test_the_blind_key_is_that_of_the_study_that_searched_it() -> None:
    """On each log, as the first halves of the other five chose it."""
    rows = {
        line.split(" | ")[0].strip("| "): line.split(" | ")[1].strip("`")
        for line in stored()["guarded_keys, chosen on the other logs, with caps"].lines
    }
    assert {name: rows[name] for name in SEARCHED_ELSEWHERE} == SEARCHED_ELSEWHERE
    assert wins({"a": "dominates, certain", "b": "trades"}) == 1
