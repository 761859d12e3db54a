"""Settings of a run: what is wrong is told with the option and the remedy, in an outage file with the line."""

from __future__ import annotations

import pytest

from assets.replay.replayers import check_settings
from assets.replay.settings import (
    RunSettings,
    check_run_name,
)


def test_the_usual_form_of_backfilling() -> None:
    usual = {"EASY": "easy", "Easy-SJBF": "easy-sjbf", "none": "none", "conservative": "conservative",
             "selective": "selective:threshold=2", "Selective:threshold=1.50": "selective:threshold=1.5"}  # fmt: skip
    assert {text: check_settings(RunSettings(backfill=text)).backfill for text in usual} == usual


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"backfill": "greedy"},
            "unknown backfilling 'greedy'; expected one of none, any, easy, easy-sjbf, conservative",
        ),
        ({"backfill": "easy:threshold=2"}, "unknown backfilling"),
        ({"backfill": "selective:limit=2"}, "unknown option 'limit'; expected one of threshold"),
        (
            {"estimates": "guessed"},
            "unknown estimates 'guessed'; did you mean 'requested'? Expected one of requested, actual, predicted",
        ),
        ({"correction": "none"}, "unknown correction 'none'"),
        ({"rules": "pbs"}, "unknown rules 'pbs'; expected one of standard, rlscheduler, rlscheduler-corrected"),
        ({"window": "5"}, "window '5': expected START:LENGTH"),
        ({"window": "0:0"}, "expected START:LENGTH"),
        ({"window": "-1:10"}, "expected START:LENGTH"),
        ({"trim": 0.5}, "trim must be at least 0 and below 0.5"),
        ({"procs": 0}, "procs must be at least 1"),
        ({"rules": "rlscheduler", "backfill": "conservative"}, "'conservative' is not one of the RLScheduler rules"),
        ({"rules": "rlscheduler", "warm_start": True}, "have no --warm-start"),
        ({"rules": "rlscheduler", "admit_by": "requested"}, "have no --admit-by"),
        (
            {"admit_by": "request"},
            "unknown admit_by 'request'; did you mean 'requested'? Expected one of estimate, requested",
        ),
        (
            {"admit_by": "requested", "backfill": "conservative"},
            "--admit-by requested cannot be combined with conservative",
        ),
        ({"load": 0.0}, "load must be between 0.01 and 100, got 0"),
        ({"load": 1.1, "warm_start": True}, "which --warm-start needs: leave one of them out"),
        ({"load": 1.1, "outages": [{"start": 0, "procs": 1}]}, "which --outages needs: leave one of them out"),
        ({"rules": "rlscheduler", "cancelled": True}, "have no --cancelled"),
        ({"rules": "rlscheduler", "correction": "doubling"}, "have no --correction"),
        ({"rules": "rlscheduler", "estimates": "actual"}, "have no --estimates"),
        ({"rules": "rlscheduler", "outages": [{"start": 1, "procs": 1}]}, "have no --outages"),
    ],
    ids=str,
)
def test_faults_of_settings(settings: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError) as caught:
        check_settings(RunSettings(**settings))  # type: ignore[arg-type]
    assert says in str(caught.value)


def test_windows_lie_inside_the_trace() -> None:
    assert RunSettings().window_of(10) == (0, 10)
    assert RunSettings(window="3:7").window_of(10) == (3, 7)
    with pytest.raises(
        ValueError, match="the trace has 10 jobs to replay, at positions 0 to 9, and the window ends at 10"
    ):
        RunSettings(window="3:8").window_of(10)


def test_names_of_runs() -> None:
    assert check_run_name("saf-easy_2.0") == "saf-easy_2.0"
    for name in ("", "-a", "a b", "a/b", "x" * 65):
        with pytest.raises(ValueError, match="bad name of a run"):
            check_run_name(name)
