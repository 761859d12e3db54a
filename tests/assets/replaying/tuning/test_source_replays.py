"""Tests of assets/replaying/tuning: source_replays. Searches of real sources replay as every other answer does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tracehouse
from assets.replaying.pace import pace_of
from assets.replaying.scenarios.base_configuration import NOT_IN_LOG
from assets.replaying.tuning.paced_runs import PacedReplays
from assets.replaying.tuning.source_replays import formula_of, source_replays, tunable_source
from tests.assets.replaying.own.homes import CLUSTER, COLUMNS, MANY, SUBMITTED, log_of, own_home
from tests.assets.replaying.scenarios.examples import busy_home
from tests.pipelines.command_line import fail, succeed, use_home
from tests.tiny import busy_log

LIMITED = (
    CLUSTER.replace("is_default = true", 'is_default = true\nqos = "normal"').replace("cores = 4", "cores = 16")
    + '[[qualities]]\nname = "normal"\n[[limits]]\nowner = "qos"\nowner_name = "normal"\ncounts = "running"\neach = "user"\n'
    + 'resource = "jobs"\nbound = 2\n'
)


def bursts() -> str:
    """Thirty times eight jobs of two users, who may run two jobs each where there is room for all."""
    lines = ["|".join(COLUMNS)]
    for number in range(240):
        submit = SUBMITTED + 6000 * (number // 8) + number % 8
        times = "|".join(str(second) for second in (submit, submit + 60, submit + 660))
        held = "cpu=1,mem=100M,node=1"
        user = "ann" if number % 2 else "bob"
        lines.append(f"{number + 1}|{user}|physics|main|{times}|01:00:00|COMPLETED|1|1|1|100M|{held}|{held}|n1")
    return "\n".join(lines) + "\n"


ACCOUNTS = CLUSTER + (
    '[[accounts]]\nname = "physics"\n[[limits]]\nowner = "account"\nowner_name = "physics"\ncounts = "running"\n'
    'each = "all"\nresource = "jobs"\nbound = 4\n'
)


def test_settings_of_accounts_are_searched_under_the_names_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.assets.replaying.own.homes.log_of", lambda jobs: bursts())
    own_home(tmp_path, [], monkeypatch, ACCOUNTS)
    replays, knobs = tunable_source("mine")
    tunable = replays.tunable()
    (knob,) = (each for each in knobs if each.template.startswith("account."))
    name = knob.template.split(".")[1]
    assert name.startswith("account-")
    edits = (f"account.{name}.GrpJobs=2",), ("account.physics.GrpJobs=2",)
    assert tunable.changes(edits[0]) == tunable.changes(edits[1]) != ()
    first, second = (tunable.replay(each, 0, 60).start.tolist() for each in edits)
    assert first == second != tunable.replay((), 0, 60).start.tolist()


def test_a_search_replays_as_what_if_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.assets.replaying.own.homes.log_of", lambda jobs: bursts())
    own_home(tmp_path, [], monkeypatch, LIMITED)
    replays = source_replays("mine")
    edits = ("qos.normal.maxjobspu=8",)
    for lines in ((), edits):
        asked = tracehouse.replay("mine", edits=list(lines)).replayed
        for run, schedule in enumerate((asked.all_starts, *asked.others)):
            assert (replays.tunable().replay(lines, run, 240).start == schedule.start).all()
    ordered = tracehouse.replay("mine", policy="slurm:searched:balanced").replayed.schedule
    replays = source_replays("mine", policy="searched:balanced")
    assert (replays.replay(240).schedule.start == ordered.start).all()


def test_a_job_that_is_too_wide_for_edited_nodes_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replays of a search have the same jobs, whatever the edits, or they could not be compared."""
    lines = log_of(MANY).splitlines()
    lines[5] = (
        lines[5].replace("|1|1|1|900M|", "|2|8|8|900M|").replace("cpu=1,mem=900M,node=1", "cpu=8,mem=900M,node=2")
    )
    own_home(tmp_path, [], monkeypatch, log="\n".join(lines) + "\n")
    tunable = source_replays("mine").tunable()
    before, after = (tunable.replay(edits, 0, 48) for edits in ((), ("node.n[1-2].CPUs=2",)))
    assert before.started.all() and np.flatnonzero(~after.started).tolist() == [4]


def test_a_listed_order_is_searched_without_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list that `tune --list` prints there was refused when it was given back."""
    use_home(monkeypatch, tmp_path / "home")
    log = tmp_path / "log.swf"
    log.write_text(busy_log(400))
    settings = tmp_path / "settings.toml"
    settings.write_text(succeed("tune", log, "--list"))
    tuned = tracehouse.tune(log, settings, trials=3)
    assert tuned.settings.tried == 3 and tuned.settings.knobs[0].template.startswith("formula:")


def test_a_planted_limit_of_slurm_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.assets.replaying.own.homes.log_of", lambda jobs: bursts())
    own_home(tmp_path, [], monkeypatch, LIMITED)
    assert "'qos.normal.maxjobspu={}' = [1, 8]" in succeed("tune", "mine", "--list")
    settings = tmp_path / "settings.toml"
    settings.write_text("[settings]\n'qos.normal.maxjobspu={}' = [1, 8]\n'bf_max_job_test={}' = [50, 500]\n")
    tuned = tracehouse.tune("mine", settings, trials=12)
    assert NOT_IN_LOG not in tuned.trust  # limits, nodes and priorities are in its replays
    assert tuned.settings.edits == ("qos.normal.maxjobspu=8",) or int(tuned.settings.edits[0].partition("=")[2]) >= 4
    assert len(tuned.settings.edits) == 1 and tuned.settings.later is not None
    assert tuned.settings.later.mean_of("wait") < 0.5 and tuned.settings.later.keeps
    assert "~ limit qos normal running jobs of each user: 2 ->" in str(tuned) and "Tuned(mine:" in repr(tuned)
    text = succeed("tune", "mine", "--settings", settings, "--trials", 12)
    assert text.splitlines()[0].startswith("mine: ") and "0 made now" in text
    assert '"edits"' in succeed("tune", "mine", "--settings", settings, "--trials", 12, "--json")
    assert "expected NAME=RATIO" in fail("tune", "mine", "--guard", "x=1")
    settings.write_text("[settings]\n'bf_max_job_tests={}' = [1, 8]\n")
    assert "did you mean 'bf_max_job_test'" in fail("tune", "mine", "--settings", settings)


def test_users_have_the_pace_of_the_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy_home(monkeypatch, tmp_path)
    replays = source_replays("mine", policy="searched:balanced")
    few = PacedReplays("mine", replays)
    assert few.run(()) is None and few.pace is None, "hardly a job of this log follows another"
    monkeypatch.setattr("assets.replaying.scenarios.paced.LEAST_REACTING", 0.0)
    monkeypatch.setattr("assets.replaying.pace.longest_think", lambda *_: 1_200)
    paced = PacedReplays("mine", replays)
    base, other = (paced.run(edits) for edits in ((), (formula_of("searched:cautious"),)))
    assert base is not None and other is not None and base.counts["jobs_that_follow"] > 0
    assert (base.jobs.submit != other.jobs.submit).any(), "they follow the ends of their replay"
    log = replace(replays, order=None, settings=replays.settings.model_copy(update={"policy": "FCFS"}))
    run = log.replay(400)
    assert (log.replay(400, pace=pace_of(run)).schedule.start == run.schedule.start).all()
