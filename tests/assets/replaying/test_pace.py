"""Tests of assets/replaying: pace.

Users who keep their pace, in replays of every kind of site.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tracehouse
from assets.common.storage import open_warehouse
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from assets.replaying.pace import pace_of
from assets.replaying.running.run import ReplayRun
from simulator.jobs.jobs import NEVER
from tests.assets.replaying.own.homes import CLUSTER, log_of, own_home
from tests.assets.replaying.scenarios.examples import busy_home
from tests.pipelines.command_line import fail, succeed
from tests.simulator.jobs.people import log_of_people
from tests.tiny import swf_line
from traces.catalogue.catalogue import load_catalogue

LIMIT = (
    '[[limits]]\nowner = "cluster"\nowner_name = ""\ncounts = "running"\neach = "user"\nresource = "jobs"\nbound = 2\n'
)
ROUND = [(0, 0, 600), (10, 10, 600), (20, 3020, 3020)]
"""Submissions, starts and ends. The last job is cancelled."""


def replayed(source: str, **given: object) -> ReplayRun:
    return tracehouse.replay(source, **given).replayed  # type: ignore[arg-type]


def assert_closed(source: str, **change: object) -> tuple[ReplayRun, ReplayRun]:
    """The present scheduler has the log's submissions, and another one has others."""
    present, paced = replayed(source), replayed(source, users="keep pace")
    assert paced.counts["jobs_that_follow"] > 0 and paced.counts["jobs_never_submitted"] == 0
    assert np.array_equal(present.jobs.submit, paced.jobs.submit)
    assert np.array_equal(present.schedule.start, paced.schedule.start)
    times, pace = replayed(source, **change), replayed(source, users="keep pace", **change)
    assert not np.array_equal(times.jobs.submit, pace.jobs.submit)
    assert np.array_equal(times.jobs.submit, present.jobs.submit)
    return times, pace


@pytest.mark.parametrize("site", ["birch", "larch"])
def test_the_clusters_own_scheduler(site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f'[sources.tiny]\nformat = "{ {"birch": "pbs", "larch": "slurm"}[site] }"\ncluster = "{site}"\n'
    generated = f'{text}generator = {{ site = "{site}", seed = 2, jobs = 700 }}\n'
    (tmp_path / "sources.local.toml").write_text(generated, encoding="utf-8")
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setenv("TRACEHOUSE_SOURCES", "")
    update_raw_log(open_warehouse(), load_catalogue().source("tiny"))
    write_jobs(open_warehouse(), "tiny")
    write_jobs(open_warehouse(), "tiny")
    times, pace = assert_closed("tiny", procs="-20%")
    assert len(pace.others) == len(times.others) > 0, (
        "further runs are of the same submissions, with waits of their own"
    )
    assert all(np.array_equal(each.started, pace.all_starts.started) for each in pace.others)
    assert_closed("tiny", policy="FCFS")
    if site == "birch":
        with pytest.raises(ValueError, match="pbs:F1: this order looks at submissions"):
            replayed("tiny", policy="F1", users="keep pace")


def test_an_order_over_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy_home(monkeypatch, tmp_path)
    assert_closed("mine", policy="SAF")
    assert_closed("mine", backfill="conservative", procs="+25%")


def home_of_three(folder: Path, patch: pytest.MonkeyPatch, cluster: str) -> list[str]:
    """Makes a home whose log has three users, and returns the user of each job. Ann's and Bob's second jobs follow their first ones."""
    round_of_jobs = (
        *(("ann", 0, 600, 500), ("bob", 10, 600, 600), ("cat", 20, 60, 450)),
        *(("ann", 700, 600, 900), ("bob", 800, 600, 900)),
    )  # user, submission, run time, memory
    jobs = [(user, at + 6000 * n, run, memory) for n in range(5) for user, at, run, memory in round_of_jobs]
    heading, *lines = log_of([(at, at, at + run, memory) for _, at, run, memory in jobs]).splitlines()
    lines = [line.replace("|ann|", f"|{user}|") for line, (user, *_) in zip(lines, jobs, strict=True)]
    own_home(folder, [], patch, cluster, log="\n".join([heading, *lines]) + "\n")
    return [user for user, *_ in jobs]


def test_an_order_under_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = CLUSTER[: CLUSTER.index("[scheduler]")] + CLUSTER[CLUSTER.index("[[nodes]]") :]
    home_of_three(tmp_path / "home", monkeypatch, cluster + LIMIT)
    assert_closed("mine", procs=1)


def test_live_estimates_under_the_clusters_own_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On two nodes nobody waits. On one, Bob's first job waits for Ann's, so that his second one comes later. Cat's go before Bob's where
    live estimates say how short they are, since all ask for an hour."""
    users = home_of_three(tmp_path / "home", monkeypatch, CLUSTER)
    logged = replayed("mine").jobs.submit
    present, pace = (replayed("mine", users="keep pace", estimates="live", **it) for it in ({}, {"procs": "-50%"}))
    assert present.counts["jobs_that_follow"] == 10 and present.jobs.submit.tolist() == logged.tolist()
    later = pace.jobs.submit - logged
    assert [user for user, moved in zip(users, later.tolist(), strict=True) if moved > 0] == ["bob"] * 5
    by_request = replayed("mine", users="keep pace", procs="-50%")
    requested, live = ((run.schedule.start - run.jobs.submit)[2::5] for run in (by_request, pace))
    assert requested.min() > 1000 < live[0] and live[1:].max() < 30  # nothing had ended when Cat's first job came


def test_a_job_that_is_submitted_later_waits_from_then_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processors. Ann submits a job a minute after her last one has ended, which a smaller machine lets end later."""
    log = tmp_path / "a.swf"
    jobs = [(1, 0, 0, 1000, 1, 1), (2, 10, 0, 1000, 1, 2), (3, 1070, 0, 500, 1, 2)]
    log.write_text(
        "; MaxProcs: 2\n"
        + "".join(swf_line(job, at, wait, run, procs, run, user=user) for job, at, wait, run, procs, user in jobs)
    )
    monkeypatch.chdir(tmp_path)
    times, pace = (replayed(str(log), procs=1, users=users) for users in ("keep times", "keep pace"))
    assert times.schedule.start.tolist() == [0, 1000, 2000]
    assert pace.jobs.submit.tolist() == [0, 10, 2060] and pace.schedule.start.tolist() == [0, 1000, 2060]
    assert (pace.metrics()["average_wait_s"], times.metrics()["average_wait_s"]) == (330.0, 640.0)
    shown = succeed("replay", str(log), "--procs", "1", "--users", "keep pace")
    assert "keep pace" in shown and "jobs_that_follow" in shown and "in hindsight" not in shown


def test_tables_of_a_run_have_its_submissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy_home(monkeypatch, tmp_path)
    run = tracehouse.replay("mine", "LJF", users="keep pace")
    assert run.jobs["wait_s"].mean() == pytest.approx(run.metrics["average_wait_s"]) and run.jobs["wait_s"].min() >= 0
    assert run.replayed.logged_rows["submit_s"].equals(tracehouse.replay("mine", "LJF").replayed.rows["submit_s"])


def test_jobs_without_a_user_follow_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "a.swf"
    jobs = [(1, 0, -1), (2, 0, 1), (3, 200, -1), (4, 200, 1), (5, 250, 2)]
    lines = (swf_line(job, at, 0, 100, 1, 100, user=user) for job, at, user in jobs)
    log.write_text("; MaxProcs: 8\n" + "".join(lines))
    monkeypatch.chdir(tmp_path)
    run = replayed(str(log), users="keep pace")
    assert run.counts["jobs_that_follow"] == 1


def impatient_log(folder: Path) -> Path:
    """Two processors. Ann's jobs run all the time, one behind the other. Of Ben's, which wait for both processors, 24 were cancelled after
    3000 s, and Cid's wait 2000 s for theirs."""
    lines = [swf_line(1, 0, 0, 3_000, 2, 3_000, user=1)]
    for k in range(1, 25):
        at = 5_000 * k
        lines.append(swf_line(10 * k, at, 0, 2_000, 2, 2_000, user=1))
        lines.append(swf_line(10 * k + 1, at + 10, 1_990, 500, 2, 600, user=3))
        lines.append(swf_line(10 * k + 2, at + 20, 3_000, 0, 2, 600, status=5, user=2))
    log = folder / "a.swf"
    log.write_text("; MaxProcs: 2\n" + "".join(lines))
    return log


def test_users_give_up_where_jobs_wait_for_longer_than_they_were_seen_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No job of the log waited for 3000 s and started. Where jobs come more densely, those that wait for so long are cancelled."""
    log = impatient_log(tmp_path)
    monkeypatch.chdir(tmp_path)
    present, paced = replayed(str(log)), replayed(str(log), users="keep pace")
    assert present.trace.cancelled_waits["wait_s"].to_list() == [3_000] * 24
    assert np.array_equal(present.schedule.start, paced.schedule.start) and paced.counts["jobs_that_gave_up"] == 0
    assert (paced.jobs.cancel - paced.jobs.submit == 3_000).all(), "all who wait for so long give up"
    denser, lossless = (replayed(str(log), users=users, load=2.5) for users in ("keep pace", "keep times"))
    gave_up = ~denser.schedule.started
    assert denser.counts["jobs_that_gave_up"] == gave_up.sum() > 5 and lossless.schedule.started.all()
    hours = (denser.jobs.procs * denser.jobs.runtime)[gave_up].sum() / 3600
    assert denser.counts["core_hours_given_up"] == round(hours) > 0
    assert (denser.schedule.start - denser.jobs.submit)[~gave_up].max() < 3_000
    shown = succeed("replay", str(log), "--load", "2.5", "--users", "keep pace")
    assert "jobs_that_gave_up" in shown and "core_hours_given_up" in shown


def test_a_job_that_is_refused_at_its_submission_has_not_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ann has two jobs at once, but for the first time. Ben's are cancelled after 3000 s, so that all have a patience."""
    jobs = [(6000 * k + at, 6000 * k + start, 6000 * k + end, 300) for k in range(24) for at, start, end in ROUND]
    heading, *lines = log_of(jobs).splitlines()
    lines[2::3] = [line.replace("|ann|", "|ben|").replace("|COMPLETED|", "|CANCELLED|") for line in lines[2::3]]
    lines[0] = lines[0].replace("|ann|", "|ben|")
    limited = CLUSTER.replace("[[nodes]]", 'accountingstorageenforce = "limits,qos"\n[[nodes]]', 1)
    limited += '[[qualities]]\nname = "normal"\n'
    own_home(tmp_path / "home", [], monkeypatch, limited, log="\n".join([heading, *lines]) + "\n")
    paced = replayed("mine", users="keep pace", edits=["qos.normal.MaxSubmitPU=1"])
    assert (paced.jobs.cancel < NEVER).all(), "every job would be given up after some wait"
    assert paced.counts["jobs_that_gave_up"] == paced.counts["core_hours_given_up"] == 0
    assert paced.counts["jobs_never_started"] == (~paced.schedule.started).sum() == 23


def test_what_has_no_rule_for_them_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy_home(monkeypatch, tmp_path)
    pace = ("--users", "keep pace")
    assert "are not saved" in fail("replay", "mine", *pace, "--save", "x")
    for option in (("--warm-start", "--window", "10:20"), ("--estimates", "live")):
        assert "--users 'keep pace' replays a whole log" in fail("replay", "mine", *pace, *option)
    assert "users" in fail("replay", "mine", "--users", "leave")
    assert "leave --users out" in fail("replay", "mine", *pace, "--topology", "2x2")


def test_a_log_of_one_user_has_no_followers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "a.swf"
    log.write_text("; MaxProcs: 2\n" + swf_line(1, 0, 0, 100, 1, 100) + swf_line(2, 200, 0, 100, 1, 100))
    monkeypatch.chdir(tmp_path)
    assert "names no users, or one" in fail("replay", str(log), "--users", "keep pace")


def test_jobs_of_a_service_account_follow_by_program_or_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All have one user name, and each person a program. Where these are accounts instead, the same jobs follow the same ones."""
    submit, end, person, after = log_of_people(3)
    log = tmp_path / "portal.swf"
    log.write_text(
        "; MaxProcs: 200\n"
        + "".join(
            f"{k} {at} 0 {left - at} 1 -1 -1 -1 {left - at} -1 1 1 1 {one + 1} 1 1 -1 -1\n"
            for k, (at, left, one) in enumerate(zip(submit, end, person, strict=True))
        )
    )
    monkeypatch.chdir(tmp_path)
    given = tracehouse.load_log(log)
    present, paced, fewer = (
        tracehouse.replay(given, **change).replayed
        for change in ({}, {"users": "keep pace"}, {"users": "keep pace", "procs": 4})
    )
    assert 0.75 < paced.counts["jobs_that_follow"] / len(submit) < 0.85
    assert np.array_equal(present.jobs.submit, paced.jobs.submit)
    assert (fewer.jobs.submit > present.jobs.submit).any()
    pace = pace_of(present)
    assert pace.lines == 20 and (pace.after == after)[after >= 0].mean() > 0.95
    rows = present.rows.with_columns(account="executable", executable=pl.lit(None, pl.String))
    assert np.array_equal(pace_of(replace(present, all_rows=rows)).after, pace.after)
    alone = present.rows.with_columns(executable="job_id")
    assert pace_of(replace(present, all_rows=alone)).lines == 1
