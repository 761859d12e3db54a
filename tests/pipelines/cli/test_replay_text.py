"""What `tracehouse replay` and `compare` print of numbers, whatever they are."""

from __future__ import annotations

import pytest

from pipelines.cli.replay_text import compare_text

METRIC = {"a": 100_000.4, "b": 12.345, "difference": -99_988.055, "low": -123456.7, "high": 0.5}


@pytest.fixture
def comparison() -> dict:
    group = {"jobs_of": "all", "jobs": 1000, "better_share": 0.5, "equal_share": 0.25, "worse_share": 0.25}
    return {
        "source": "mine",
        "run_a": "first",
        "run_b": "second",
        "jobs": 1000,
        "paired_jobs": 999,
        "settings": {"outages": [None, "[]"], "cancelled": [False, True]},
        "metrics": {"average_wait_s": METRIC, "makespan_s": {"a": 1, "b": 2_000, "difference": 1_999}},
        "paired": [group | {"average_wait_s": METRIC, "average_bounded_slowdown": METRIC}],
        "block_days": 7,
        "blocks": 12,
    }


def test_numbers_differences_and_intervals(comparison: dict) -> None:
    lines = compare_text(comparison).splitlines()
    assert lines[:2] == ["mine: second (B) against first (A), 1,000 jobs", "999 of them started in both"]
    words = {line.split()[0]: line.split()[1:] for line in lines if line.startswith("  ")}
    assert words["average_wait_s"] == ["100,000", "12.35", "-99,988.06", "-123,457", "to", "+0.5000"] or words[
        "average_wait_s"
    ] == ["100,000", "12.35", "-99,988.05", "-123,457", "to", "+0.5000"]
    assert words["makespan_s"] == ["1", "2,000", "+1,999"]
    assert any(line.split() == ["outages,", "A", "none"] for line in lines)
    assert any("50.0 % wait less, 25.0 % as long, 25.0 % longer" in line for line in lines)
    assert lines[-1] == "Intervals: 12 blocks of submission time, a week each, resampled whole."


def test_few_blocks_give_no_interval(comparison: dict) -> None:
    comparison["paired"][0]["average_wait_s"] = METRIC | {"low": None, "high": None}
    assert compare_text(comparison | {"block_days": 1, "blocks": 3}).endswith(
        "No intervals: 3 block(s) of submission time, 1 day(s) each; fewer than 5 say nothing."
    )
