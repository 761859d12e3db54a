"""Tests of assets/replaying/limits: way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tracehouse
from tests.tiny import swf_line
from tracehouse.replaying import asked_settings

# way: Replays and scenarios that name a cluster.

WAY_CLUSTER = """
name = "small"
[[nodes]]
names = "n[1-4]"
cores = 2
"""
ONE_JOB = """
[[limits]]
owner = "cluster"
owner_name = ""
counts = "running"
each = "user"
resource = "jobs"
bound = 1
"""
NIGHTS = "[[gates]]\ndays = [0, 1, 2, 3, 4]\nbegin_minute = 0\nend_minute = 60\nover_cpus = 1\n"
CLOSED = '[[reservations]]\nname = "maint"\nbegin_s = 1767225600\nend_s = 1767225700\n'
HEAD = "; UnixStartTime: 1767225600\n; MaxProcs: 16\n"
"""The log begins on a Thursday, the first second of 2026 in UTC."""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log of four jobs, of the users 1, 1, 2 and 2, and clusters in the home."""
    folder = tmp_path / "clusters"
    folder.mkdir()
    for name, text in (
        ("small", WAY_CLUSTER),
        ("one-job", WAY_CLUSTER + ONE_JOB),
        ("nights", WAY_CLUSTER + NIGHTS),
        ("found-nights", WAY_CLUSTER + NIGHTS + 'origin = "found"\n'),
        ("found-closed", WAY_CLUSTER + CLOSED + 'origin = "found"\n'),
        ("closed", WAY_CLUSTER + CLOSED),
        ("slurm", WAY_CLUSTER + '[[partitions]]\nname = "1"\n[scheduler]\nname = "slurm"\nversion = "22.05.8"\n'),
    ):
        (folder / f"{name}.toml").write_text(text)
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setenv("TRACEHOUSE_SOURCES", "")
    path = tmp_path / "log.swf"
    jobs = [(1, 0, 1, 1), (2, 0, 2, 1), (3, 0, 1, 2), (4, 0, 2, 2)]
    path.write_text(HEAD + "".join(swf_line(k, at, 0, 50, procs, 100, user=user) for k, at, procs, user in jobs))
    return path


def starts(log: Path, cluster: str, **settings: object) -> list[int]:
    return tracehouse.replay(log, "FCFS", cluster=cluster, **settings).replayed.schedule.start.tolist()  # type: ignore[arg-type]


def test_limits_gates_and_reservations_hold_jobs_back(log: Path) -> None:
    assert starts(log, "small") == [0, 0, 0, 0]
    assert starts(log, "one-job") == [0, 50, 0, 50]
    assert starts(log, "nights") == [0, 3600, 0, 3600]
    assert starts(log, "closed") == [100, 100, 100, 100]


def test_the_first_lines_say_what_holds_jobs_and_what_does_not(log: Path) -> None:
    run = tracehouse.replay(log, "FCFS", cluster="one-job")
    lines = str(run).splitlines()
    assert lines[0] == "replayed: under 1 limit (running jobs by user) of the cluster one-job"
    assert lines[1] == "not in the replay: nodes: any free processors serve a job"
    assert run.summary["procs"] == 8 and "8 (from the cluster one-job)" in str(run)


def test_a_cluster_of_slurm_is_replayed_by_slurm(log: Path) -> None:
    assert asked_settings({"cluster": "slurm"}, str(log)).settings.policy == "slurm"
    assert asked_settings({"cluster": "slurm", "backfill": "none"}, str(log)).settings.policy == "FCFS"
    assert starts(log, "slurm") == [0, 0, 0, 0]  # FCFS, on a row of processors
    with pytest.raises(ValueError, match="has the scheduler none: give another policy than slurm"):
        tracehouse.replay(log, "slurm", cluster="small")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cluster": "nights", "load": 2}, "which the gates and reservations of the cluster nights need"),
        ({"cluster": "found-closed", "load": 2}, "between two that moved as well what fits today would not fit"),
        ({"cluster": "one-job", "estimates": "live", "policy": "F1"}, "write it as formula:TEXT"),
        ({"cluster": "one-job", "warm_start": True, "estimates": "live"}, "live estimates have no --warm-start"),
        ({"cluster": "one-job", "backfill": "conservative"}, "plan all waiting jobs"),
        ({"cluster": "theirs"}, "unknown cluster 'theirs'"),
    ],
)
def test_what_limits_do_not_go_with_is_refused(log: Path, settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tracehouse.replay(log, **({"policy": "FCFS"} | settings))  # type: ignore[arg-type]


def test_a_warm_start_has_the_running_and_the_waiting_jobs_of_the_log(log: Path) -> None:
    """When the third job of user 1 comes, the first one runs and the second one waits. A job of user 2 has ended."""
    lines = [swf_line(k, at, wait, 50, 1, 100, user=1) for k, at, wait in ((2, 60, 0), (3, 61, 49), (4, 80, 80))]
    log.write_text(HEAD + swf_line(1, 0, 0, 50, 1, 100, user=2) + "".join(lines))
    assert starts(log, "one-job", window=(3, 1)) == [80]
    assert starts(log, "one-job", window=(3, 1), warm_start=True) == starts(log, "one-job")[3:] == [160]
    used = ONE_JOB.replace('"running"', '"used"').replace('"jobs"', '"cpu"')
    for bound, start in ((150, -1), (151, 160)):
        rules = used.replace('each = "user"', 'each = "all"').replace("bound = 1", f"bound = {bound}")
        (log.parent / "clusters" / "used.toml").write_text(WAY_CLUSTER + ONE_JOB + rules)
        assert starts(log, "used", window=(3, 1), warm_start=True) == [start]


def test_shares_count_what_was_used_before_a_warm_start(log: Path) -> None:
    """User 2 has used something, and comes behind user 1, though its job came first."""
    jobs = ((1, 0, 0, 50, 2), (2, 60, 0, 60, 3), (3, 70, 100, 50, 2), (4, 80, 100, 50, 1))
    log.write_text(HEAD + "".join(swf_line(k, at, wait, ran, 8, 100, user=who) for k, at, wait, ran, who in jobs))
    given = {"cluster": "small", "window": (3, 1), "warm_start": True}
    assert starts(log, **given) == [170]  # type: ignore[arg-type]
    assert tracehouse.replay(log, "fairshare", **given).replayed.schedule.start.tolist() == [120]  # type: ignore[arg-type]


def test_hours_that_were_found_are_squeezed_like_the_submissions(log: Path) -> None:
    assert starts(log, "found-nights") == [0, 3600, 0, 3600]
    assert starts(log, "found-nights", load=2) == [0, 1800, 0, 1800]
    answer = tracehouse.what_if({"busier": {"load": 2}}, log, base={"cluster": "found-nights"})
    assert "busier: found in the log and squeezed like the submissions: hours" in answer.results.remarks
    limit = ONE_JOB.replace("bound = 1", 'bound = 1\nbegin_s = 1767225700\norigin = "found"')
    (log.parent / "clusters" / "later.toml").write_text(WAY_CLUSTER + limit)
    late = (swf_line(5, 110, 0, 50, 1, 100, user=1), swf_line(6, 110, 0, 50, 1, 100, user=1))
    log.write_text(log.read_text() + "".join(late))
    assert starts(log, "later")[-2:] == [110, 160]
    assert starts(log, "later", load=2)[-2:] == [55, 105], "the limit begins at second 50 then"


def test_live_estimates_go_with_limits(log: Path) -> None:
    for cluster, expected in (("one-job", [0, 50, 0, 50]), ("nights", [0, 3600, 0, 3600])):
        assert starts(log, cluster, estimates="live") == expected


def test_hours_need_a_calendar(log: Path) -> None:
    log.write_text(log.read_text().replace(HEAD, "; MaxProcs: 16\n"))
    with pytest.raises(ValueError, match="does not say when its second 0 was"):
        starts(log, "nights")
    assert starts(log, "one-job") == [0, 50, 0, 50]


def test_scenarios_may_name_clusters(log: Path) -> None:
    scenarios = {"no limit": {"cluster": "small"}, "larger": {"procs": "+100%"}}
    answer = tracehouse.what_if(scenarios, log, base={"cluster": "one-job"})
    rows = {row["scenario"]: row for row in answer.scenarios.iter_rows(named=True)}
    assert [rows[name]["procs"] for name in ("base", "no limit", "larger")] == [8, 8, 16]
    waits = [rows[name]["average_wait_h"] * 3600 for name in ("base", "no limit", "larger")]
    assert np.round(waits).tolist() == [25, 0, 25]
    assert "under the limits of the cluster one-job" in answer.results.base_words
    assert "not in the replay: nodes: any free processors serve a job" in answer.summary["trust"]
