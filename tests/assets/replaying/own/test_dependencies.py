"""Tests of assets/replaying/own: dependencies."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tracehouse
from assets.replaying.own.dependencies import EARLY_S, LATE_S, behind, with_dependencies
from assets.replaying.pace import pace_of
from simulator.cluster.requests import Request
from tests.assets.replaying.own.homes import CLUSTER, LARGE, PBS_CLUSTER, SMALL, SUBMITTED, own_home
from tests.pipelines.command_line import succeed
from tests.tiny import swf_line

LINES = [
    ("1", 0, 0, 0, 600, LARGE, "COMPLETED", "sbatch a.sh"),
    ("2", 10, 10, 10, 900, LARGE, "COMPLETED", "sbatch a.sh"),
    ("3", 20, 600, 600, 1_000, SMALL, "COMPLETED", "sbatch --dependency=afterok:1 b.sh"),
    ("4", 30, 1_001, 1_005, 1_200, SMALL, "COMPLETED", "sbatch -d afterany:3:2 b.sh"),
    ("5", 1_500, 1_500, 1_500, 1_600, SMALL, "COMPLETED", "sbatch -dafterok:4 b.sh"),
    ("6", 1_510, 1_510, 1_700, 1_700, SMALL, "CANCELLED by 9", "sbatch --dependency afternotok:5 b.sh"),
]
"""Ids, submissions, when they could start, starts, ends, memory, states, and how they were submitted."""


def home_of(
    folder: Path,
    patch: pytest.MonkeyPatch,
    lines: list[tuple[str, int, int, int, int, int, str, str]],
    cluster: str = CLUSTER,
) -> None:
    names = "JobID User Account Partition Submit Eligible Start End Timelimit State NNodes NCPUS ReqCPUS ReqMem ReqTRES AllocTRES NodeList"
    text = ["|".join([*names.split(), "SubmitLine"])]
    for job, submit, eligible, start, end, memory, state, line in lines:
        times = "|".join(str(SUBMITTED + second) for second in (submit, eligible, start, end))
        held, nodes = f"cpu=1,mem={memory}M,node=1", "n1" if state == "COMPLETED" else "None assigned"
        text.append(f"{job}|ann|physics|main|{times}|01:00:00|{state}|1|1|1|{memory}M|{held}|{held}|{nodes}|{line}")
    own_home(folder, [], patch, cluster, log="\n".join(text) + "\n")


def test_jobs_wait_for_those_that_they_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On one node the second job waits for the first, and what is behind it waits with it. By the log's own times it would not."""
    home_of(tmp_path / "home", monkeypatch, LINES)
    present, fewer = (tracehouse.replay("mine", **change).replayed for change in ({}, {"procs": "-50%"}))
    starts = present.schedule.start
    assert np.abs(starts - present.rows["start_s"].to_numpy()).max() <= 60
    end = fewer.schedule.start + fewer.jobs.runtime
    assert fewer.schedule.start[1] >= end[0] and fewer.schedule.start[2] >= end[0]
    assert fewer.schedule.start[3] >= max(end[1], end[2]) > starts[3] + 300
    assert "depend    4 jobs name others that must leave first" in succeed("who", "mine", "--habits")
    named = tracehouse.query("SELECT job_id, dependency FROM core.jobs WHERE dependency IS NOT NULL ORDER BY job_index")
    assert named.rows() == [("3", "afterok:1"), ("4", "afterany:3:2"), ("5", "afterok:4"), ("6", "afternotok:5")]


def test_a_job_follows_one_that_it_names_whenever_that_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is short, so think times are 20 minutes at most. Ann's last job names one that ended 100 minutes before."""
    lines = [
        swf_line(1, 0, 0, 100, 1, 100, user=1),
        swf_line(2, 50, 0, 400, 1, 400, user=2),
        swf_line(3, 6_100, 0, 100, 1, 100, user=1),
        swf_line(4, 6_450, 0, 100, 1, 100, user=1),
    ]
    lines[3] = " ".join([*lines[3].split()[:16], "1", "6350"]) + "\n"
    log = tmp_path / "a.swf"
    log.write_text("; MaxProcs: 2\n" + "".join(lines))
    monkeypatch.chdir(tmp_path)
    run = tracehouse.replay(str(log)).replayed
    pace = pace_of(run)
    assert pace.after.tolist() == [-1, -1, -1, 0] and pace.think_s.tolist()[3] == 6_350
    closed = tracehouse.replay(str(log), users="keep pace").replayed
    assert closed.jobs.submit.tolist() == run.jobs.submit.tolist() and closed.counts["jobs_that_follow"] == 1


def asked(begin_s: int, started: bool = True, later_s: int = 0) -> Request:
    """What the second of two jobs asks, which names the first. That one ran from second 100 to 200. later_s: of its submission."""
    noon = datetime(2024, 1, 1, 12)

    def times(*seconds: int | None) -> list[datetime | None]:
        return [None if second is None else noon + timedelta(seconds=second) for second in seconds]

    rows = pl.DataFrame(
        {
            **{"job_id": ["1", "2"], "dependency": [None, "afterok:1"], "submit_s": [0, 10 + later_s]},
            **{"user_name": ["ann"] * 2, "executable": ["x"] * 2, "submit_time": times(0, 10)},
            **{"eligible_time": times(0, begin_s), "start_time": times(100, 5_000 if started else None)},
            "end_time": times(200, 5_000),
        },
        schema_overrides={"start_time": pl.Datetime("us")},
    )
    return with_dependencies([Request(0), Request(10 + later_s, begin_s=begin_s + later_s)], rows)[1]


def test_what_the_log_shows_of_a_dependency() -> None:
    waits = (("afterok", 0),)
    free = Request(10, begin_s=10, dependencies=waits)
    assert asked(200) == asked(201) == asked(200 - EARLY_S) == asked(200 + LATE_S) == free
    assert asked(201 + LATE_S) == Request(10, begin_s=201 + LATE_S, dependencies=waits), "it was kept by a time, too"
    assert asked(199 - EARLY_S) == Request(10, begin_s=199 - EARLY_S), "it did not wait for this job"
    assert asked(10, started=False).dependencies == (("afternotok", 0),), "it never could start"
    assert asked(200, started=False).dependencies == waits
    assert asked(200, later_s=7_000) == Request(7_010, begin_s=7_010, dependencies=waits), "the log's times decide"


def test_jobs_behind_others_name_the_same_ones() -> None:
    jobs = [Request(0), Request(1, dependencies=(("afterany", 0),))]
    assert [one.dependencies for one in behind(jobs, 3)] == [(), (("afterany", 3),)]


@pytest.mark.parametrize("cluster", [CLUSTER, PBS_CLUSTER], ids=["slurm", "pbs"])
def test_jobs_wait_for_those_that_they_name_at_another_load_and_after_a_warm_start(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home_of(tmp_path / "home", monkeypatch, LINES, cluster)
    for change in ({"load": 2.0}, {"load": 0.5}, {"window": "2:2", "warm_start": True}):
        run = tracehouse.replay("mine", **change).replayed
        end = dict(zip(run.rows["job_id"], run.schedule.start + run.jobs.runtime, strict=True))
        start = dict(zip(run.rows["job_id"], run.schedule.start.tolist(), strict=True))
        assert start["4"] >= end["3"], change
        assert start["4"] - end["3"] <= 120 or change.get("load") == 0.5
