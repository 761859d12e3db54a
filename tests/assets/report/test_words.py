"""Durations in hours and days, and names that operators know."""

from __future__ import annotations

import pytest

from assets.evaluation.replay_evaluation import Contestant, period_rules
from assets.evaluation.rivals import EXPERT_RIVALS
from assets.report import words
from simulator.policies.registry import RIVAL_HEURISTICS


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 min"), (1, "under 1 min"), (60, "1 min"), (3569, "59 min"), (3599, "1.0 h"), (14_760, "4.1 h"),
        (259_199, "72.0 h"), (259_200, "3.0 days"), (86_400 * 1234, "1,234.0 days"),
    ],
)  # fmt: skip
def test_durations_are_in_minutes_hours_or_days(seconds: float, text: str) -> None:
    assert words.duration_text(seconds) == text


def test_two_durations_have_one_unit_where_that_can_be_read() -> None:
    assert words.instead(4.1 * 3600, 6 * 3600) == "4.1 h instead of 6.0 h"
    assert words.instead(2 * 86_400, 5 * 86_400) == "2.0 days instead of 5.0 days"
    assert words.instead(8.5 * 3600, 32.8 * 86_400) == "8.5 h instead of 32.8 days"
    assert words.instead(60, 7200) == "1 min instead of 2.0 h"


def test_changes_have_a_sign() -> None:
    assert words.change_text(4 * 3600, 6 * 3600) == "-2.0 h (-33 %)"
    assert words.change_text(6 * 3600, 4 * 3600) == "+2.0 h (+50 %)"
    assert words.change_text(29, 0) == "none" and words.change_text(40, 0) == "+1 min"
    assert words.change_text(100 * 3600, 3600) == "+4.1 days (100 times)"


@pytest.mark.parametrize(
    ("part", "text"),
    [(0, "0 %"), (0.0004, "under 0.1 %"), (0.042, "4.2 %"), (0.37, "37 %"), (0.99996, "99.9 %"), (1, "100 %")],
)
def test_shares_are_percent(part: float, text: str) -> None:
    assert words.share(part) == text


def test_sizes_have_no_gap_and_no_overlap() -> None:
    assert list(words.size_names(256).values()) == [
        "1 processor", "2 to 16 processors", "17 to 64 processors", "over 64 processors",
    ]  # fmt: skip
    assert words.size_names(338)["medium"] == "22 to 84 processors"
    assert words.size_names(4)["large"] == "over 1 processors"
    assert words.jobs_of("over 64 processors") == "jobs over 64 processors"
    assert words.jobs_of("1 processor") == "jobs of 1 processor"


def test_every_policy_that_is_evaluated_has_a_name_that_is_explained() -> None:
    contestants = [Contestant(name, name) for name in (*RIVAL_HEURISTICS, "key", "learned")]
    rules = [rule for rule, _ in period_rules(contestants)]
    names = [words.rule_name(rule.name, rule.estimates) for rule in rules]
    assert len({*names}) == len(names) == 19 + len(EXPERT_RIVALS)
    assert "EASY with predicted times" in names and "Bounded key with live estimates" in names
    explained = {name.split(" with ")[0].partition(", after")[0] for name in names}
    assert explained | {"After 6 h, 12 h the oldest", "Random order"} == words.NAMES_EXPLAINED.keys()


def test_what_may_have_written_a_log_has_a_name() -> None:
    assert words.configuration_name("SAF", "conservative") == "smallest area first, conservative backfilling"
    assert words.configuration_name("multifactor:size=3", "none") == "multifactor priority (size=3), no backfilling"


def test_lists_and_counts_read_as_sentences() -> None:
    assert words.sentence_list(["a"]) == "a" and words.sentence_list(["a", "b", "c"]) == "a, b and c"
    assert words.count(1, "job") == "1 job" and words.count(1200, "job") == "1,200 jobs"
    assert words.amount(1234) == "1,234" and words.amount(3_140_000) == "3.1 million"
