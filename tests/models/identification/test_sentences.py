"""Sentences that an operator can confirm or deny."""

from __future__ import annotations

import pytest

from models.identification.rules import (
    BACKFILL,
    BOUNDARY,
    CYCLE,
    HOURS,
    ORDER,
    OUTSTANDING_CPU,
    RUNNING_CPU,
    RUNNING_JOBS,
    SIZE,
    Bound,
    Edge,
    Evidence,
    IdentifiedRule,
)
from models.identification.sentences import days_words, sentence_of
from traces.cluster.reservations import Gate

SEEN = Evidence(34, 31, 1480, 46)


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (
            IdentifiedRule(RUNNING_JOBS, "user", 10, evidence=SEEN),
            "Each user has at most 10 running jobs: seen for 31 of 34 that could have had more.",
        ),
        (
            IdentifiedRule(RUNNING_CPU, "all", 64, queue="gpu", evidence=SEEN),
            "All jobs together has at most 64 running processors in queue gpu: seen for 31 of 34 that could have had more.",
        ),
        (
            IdentifiedRule(
                OUTSTANDING_CPU, "user", bounds=(Bound("a", 0, 3600), Bound("a", 9, 7200), Bound("b", 0, None))
            ),
            "Each user has a limit of its own on outstanding processor-hours, which changes from month to month: seen for 2, "
            "with 2 in the middle.",
        ),
        (
            IdentifiedRule(HOURS, "all", gate=Gate((0, 1, 2, 3, 4), 420, 1080, over_time_s=14_400), evidence=SEEN),
            "No job over 4 h starts from 07:00 to 18:00 on Monday to Friday (UTC): 46 did, where 1,480 were to be expected.",
        ),
        (
            IdentifiedRule(BOUNDARY, "all", edges=(Edge((5, 6), 480, "UTC"),), evidence=SEEN),
            "No job runs past 08:00 on Saturday and Sunday (UTC): 46 did, where 1,480 were to be expected.",
        ),
        (
            IdentifiedRule(RUNNING_JOBS, "user", 10, bounds=(Bound("ann", 0, 20), Bound("bob", 0, 5)), evidence=SEEN),
            "Each user has at most 10 running jobs (ann 20, bob 5): seen for 31 of 34 that could have had more.",
        ),
        (
            IdentifiedRule(CYCLE, "all", 121, evidence=Evidence(starts=2564, kept=1290)),
            "Jobs start every 121 s only: 1,290 of 2,564 pauses between starts last as long.",
        ),
        (IdentifiedRule(ORDER, "all", word="SJF"), "Jobs start in the order of SJF."),
        (IdentifiedRule(BACKFILL, "all", word="none"), "No job goes past one that does not fit."),
        (
            IdentifiedRule(SIZE, "all", bounds=(Bound("", 0, 48), Bound("", 9, 64))),
            "The cluster has 48, then 64 processors.",
        ),
    ],
)
def test_what_is_said(rule: IdentifiedRule, sentence: str) -> None:
    assert sentence_of(rule) == sentence


def test_days() -> None:
    assert [days_words(days) for days in (tuple(range(7)), (2,), (0, 2))] == [
        "all days",
        "Wednesday",
        "Monday and Wednesday",
    ]
