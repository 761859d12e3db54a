"""What `tracehouse replay` and `compare` print of numbers, whatever they are."""

from __future__ import annotations

import pytest

from tracehouse.text.replay_text import compare_text

METRIC = {"a": 100_000.4, "b": 12.345, "difference": -99_988.055}
INTERVAL = {"ratio": 0.8, "low": 0.7, "high": 0.9, "blocks": 16, "why_none": None}


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
        "verdict": {
            "word": "trades",
            "is_certain": False,
            "scored_jobs": 500,
            "panel": {
                "bounded_slowdown": {"a": 10.0, "b": 8.0, "ratio": 0.8},
                "wait_s": {"a": 3600.0, "b": 1800.0, "ratio": 0.5},
                "wide_wait_s": {"a": None, "b": None, "ratio": None},
                "lost_capacity": {"a": 0.05, "b": 0.07, "difference": 0.02},
            },
            "payers": ["2.0% more of the capacity lost"],
            "typical_block": {"bounded_slowdown": INTERVAL, "wait_s": INTERVAL | {"why_none": "6 blocks", "low": None}},
        },
    }


def test_numbers_and_differences(comparison: dict) -> None:
    lines = compare_text(comparison).splitlines()
    assert lines[:2] == ["mine: second (B) against first (A), 1,000 jobs", "999 of them started in both"]
    words = {line.split()[0]: line.split()[1:] for line in lines if line.startswith("  ")}
    assert words["average_wait_s"][:2] == ["100,000", "12.3"]
    assert words["average_wait_s"][2] == "-99,988"
    assert words["makespan_s"] == ["1", "2,000", "+1,999"]
    assert any(line.split() == ["outages,", "A", "none"] for line in lines)
    assert any("50.0 % wait less, 25.0 % as long, 25.0 % longer" in line for line in lines)


def test_the_verdict_says_who_pays_and_how_sure_it_is(comparison: dict) -> None:
    lines = compare_text(comparison).splitlines()
    assert "verdict on B over the later 500 jobs: trades" in lines
    assert "  who pays: 2.0% more of the capacity lost" in lines
    words = {line.split()[0]: line.split()[1:] for line in lines if line.startswith("  ")}
    assert words["bounded_slowdown"] == [
        "10.0",
        "8.000",
        "0.800",
        *["0.80,", "0.70", "to", "0.90", "(16", "blocks)"],
    ]
    assert words["wait_s"] == ["3,600", "1,800", "0.500", *["0.80,", "none:", "6", "blocks"]]
    assert words["lost_capacity"] == ["0.050", "0.070", "0.020", "(B", "-", "A)"]
    assert "wide_wait_s" not in words
    comparison["verdict"] = {"why_none": "there are outages"}
    assert "no verdict: there are outages" in compare_text(comparison).splitlines()
