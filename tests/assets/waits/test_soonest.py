"""Tests of assets/predictions: soonest.

Which request near the one that is asked for would start soonest.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.assets.replaying.own.homes import CLUSTER, SUBMITTED, log_of, own_home
from tests.pipelines.command_line import fail, succeed

SHORT = '[[partitions]]\nname = "short"\nnodes = ["n2"]\nmax_time_s = 3600\n'
"""A partition with a node of its own, in which nobody may run longer than an hour."""
JOBS = [(4000 * k, 4000 * k, 4000 * k + 3000, 900) for k in range(30)]
"""One job after another holds the memory of the first node."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of(JOBS).splitlines()
    log[3] = log[3].replace("|main|", "|short|").replace("n1", "n2")
    main = 'name = "main"\nnodes = ["n1"]\n'
    own_home(
        tmp_path / "home", [], monkeypatch, CLUSTER.replace('name = "main"\n', main) + SHORT, "\n".join(log) + "\n"
    )
    monkeypatch.chdir(tmp_path / "home")


def test_another_partition_starts_at_once() -> None:
    """All processors of the only node of main are asked for, of which one runs a job. The partition short has an idle node."""
    asked = (
        "wait",
        "mine",
        "--procs",
        "4",
        "--queue",
        "main",
        "--at",
        str(SUBMITTED + 4000 * 20 + 60),
        "--samples",
        "20",
        "--soonest",
    )
    answer = json.loads(succeed(*asked, "--walltime", "1h", "--json"))
    first, *others = answer["soonest"]
    assert first["request"] == "as asked" and first["start_p50_s"] > 600
    assert next(row for row in others if row["request"] == "queue short")["start_p50_s"] <= 60
    assert [row["start_p50_s"] for row in others] == sorted(row["start_p50_s"] for row in others)
    text = succeed(*asked, "--walltime", "1h")
    assert "queue short" in text and "In the same replays, which are not corrected by the past" in text
    longer = json.loads(succeed(*asked, "--walltime", "2h", "--json"))["soonest"]
    assert all(row["request"] != "queue short" for row in longer), "short lets nobody run for two hours"


def test_fewer_processors_fit_beside_what_runs() -> None:
    asked = (
        "wait",
        "mine",
        "--procs",
        "4",
        "--walltime",
        "2h",
        "--at",
        str(SUBMITTED + 4000 * 20 + 60),
        "--samples",
        "20",
    )
    rows = json.loads(succeed(*asked, "--queue", "main", "--soonest", "--json"))["soonest"]
    fewer = next(row for row in rows if row["request"] == "fewer processors for longer")
    assert (fewer["procs"], fewer["requested_walltime_s"]) == (2, 4 * 3600) and fewer["start_p50_s"] <= 60
    assert json.loads(succeed(*asked, "--json"))["soonest"] == []


def test_it_is_about_a_new_job() -> None:
    assert "leave --soonest out" in fail("wait", "mine", "--job", "3", "--soonest")
