"""Tests of assets/replaying/site: every answer is of one scheduler, on one cluster, with one grade."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tracehouse
from assets.common.storage import open_warehouse
from assets.common.trace import load_trace
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from assets.pages.comparison import read_grade
from assets.replay.fidelity import GRADED_LABELS, configuration_rows, fidelity_of
from assets.replaying.site import site_of
from tests.pipelines.command_line import use_home
from tests.tiny import busy_log
from traces.catalogue.catalogue import load_catalogue
from warehouse import replace_partition

JOBS = 400
NODES = '[[nodes]]\nnames = "n[1-4]"\ncores = 4\n'
OWN = f"""
name = "two"
[scheduler]
name = "slurm"
version = "24.05.1"
[scheduler.values]
schedulertype = "sched/backfill"
prioritytype = "priority/basic"
selecttype = "select/cons_tres"
{NODES}[[partitions]]
name = "1"
is_default = true
"""
ONE_EACH = f"""
name = "two"
[scheduler.order]
cycle_s = 60
{NODES}[[limits]]
owner = "cluster"
owner_name = ""
counts = "running"
each = "user"
resource = "jobs"
bound = 1
origin = "found"
"""
KINDS = {
    "its own Slurm": (OWN, ""),
    "its own PBS": (OWN.replace('"slurm"\nversion = "24.05.1"', '"pbs"\nversion = "23.06"'), ""),
    "found rules": (ONE_EACH, ""),
    "the catalogue's order": ("", 'scheduler = { policy = "SJF", backfill = "easy" }\n'),
    "what fits": ("", ""),
}
"""Description of the cluster, and a line of the catalogue, by who replays."""


@pytest.fixture(params=KINDS, scope="module")
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The kind of the source `mine` of the home in use, which is loaded and graded."""
    patch = pytest.MonkeyPatch()
    load(request.param, tmp_path_factory.mktemp("site"), patch)
    warehouse = open_warehouse()
    graded = fidelity_of(warehouse, load_trace(warehouse, "mine", labels=GRADED_LABELS))
    with warehouse.write() as connection:
        replace_partition(connection, "replay.fidelity", "mine", pl.DataFrame(graded.rows, infer_schema_length=None))
        replace_partition(connection, "replay.configurations", "mine", configuration_rows(graded.ranked))
    yield request.param
    patch.undo()


def load(kind: str, folder: Path, patch: pytest.MonkeyPatch, seed: int = 3, days: int = 20) -> None:
    """Loads the source `mine` of this kind into a home in a folder, which is in use then."""
    cluster, line = KINDS[kind]
    log, home = folder / "mine.swf", folder / "home"
    log.write_text(busy_log(JOBS, seed=seed, days=days))
    catalogue = use_home(patch, home)
    linked = 'cluster = "two"\n' if cluster else ""
    catalogue.write_text(f'[sources.mine]\nformat = "swf"\npath = "{log}"\n{linked}{line}')
    if cluster:
        (home / "clusters").mkdir()
        (home / "clusters" / "two.toml").write_text(cluster)
    warehouse = open_warehouse()
    update_raw_log(warehouse, load_catalogue().source("mine"))
    write_jobs(warehouse, "mine")


@cache
def answers(site: str) -> tracehouse.WhatIf:
    """Of a question to the site of this kind, whose home is in use."""
    return tracehouse.what_if({"half a day": {"round_walltimes": "12h"}}, "mine")


def test_every_answer_has_one_mean_wait(site: str) -> None:
    run = tracehouse.replay("mine").replayed
    waits, logged = run.schedule.start - run.jobs.submit, run.rows["start_s"] - run.rows["submit_s"]
    asked = answers(site)
    base = next(row for row in asked.scenarios.to_dicts() if row["scenario"] == "base")
    with open_warehouse().read() as connection:
        graded = connection.sql("SELECT jobs, replayed_wait_s FROM replay.fidelity WHERE part = 'all'").fetchall()

    is_graded = (np.arange(JOBS) >= JOBS // 2) & run.schedule.started & (logged >= 0).to_numpy()
    assert graded == [(int(is_graded.sum()), pytest.approx(waits[is_graded].mean()))]
    assert base["average_wait_h"] * 3600 == pytest.approx(waits[run.schedule.started].mean())
    assert waits.any(), "in each kind jobs wait"


def test_every_answer_has_one_grade(site: str) -> None:
    here = site_of("mine")
    assert here.grade is not None and here.grade.grade is not None

    said = answers(site).summary["trust"][0]
    of_report, _ = read_grade(open_warehouse(), "mine")

    assert said == here.trust == here.grade.words
    words = {
        "found rules": "FCFS with backfilling easy under the limits of its cluster",
        "what fits": "what fits it best",
    }
    assert words.get(site, "") in said and here.grade.is_of_limits == (site == "found rules")
    assert of_report.letter == here.grade.grade


def test_every_answer_names_what_it_lacks(site: str) -> None:
    replayed = tracehouse.replay("mine").summary
    lacks = [about["not_modelled"] for key in ("slurm", "pbs", "limits") if (about := replayed.get(key))]

    said = answers(site).summary["trust"]

    assert all(f"not in the replay: {rule}" in said for rules in lacks for rule in rules)


CHANGES = {
    "an order": {"policy": "SJF"},
    "true run times": {"estimates": "actual"},
    "more jobs": {"load": 1.2},
    "more processors": {"procs": "+25%"},
}


def test_a_change_means_the_same_in_a_replay_and_in_a_scenario(site: str) -> None:
    """An order was replayed over a row of processors, and in a scenario on the nodes and under the limits of the base."""
    changes: dict[str, dict[str, object]] = dict(CHANGES)
    if site_of("mine").own_cluster is None:
        changes["reservations by requests"] = {"reserve_by": "requested", "estimates": "actual"}
    asked = {row["scenario"]: row for row in tracehouse.what_if(changes, "mine").scenarios.to_dicts()}
    here = tracehouse.site("mine")
    for name, change in changes.items():
        run = here.replay(**change)
        assert run.metrics["average_wait_s"] == pytest.approx(asked[name]["average_wait_h"] * 3600), name
        assert (run.policy, run.summary["procs"]) == (asked[name]["policy"], asked[name]["procs"])


def test_what_no_limit_takes_is_replayed_over_a_row(site: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It was refused once the jobs were read, since limits take no order that changes while jobs wait."""
    if site != "found rules":
        return
    run = tracehouse.site("mine").replay(policy="WFP3")
    assert run.replayed.settings.cluster is None
    assert "replayed over a row of processors: WFP3: under limits an order must be known" in capsys.readouterr().err
    with pytest.raises(ValueError, match='go with cluster ""'):
        tracehouse.what_if({"WFP3": {"policy": "WFP3"}}, "mine")


def test_the_face_of_python_is_of_the_site(site: str) -> None:
    here, face = site_of("mine"), tracehouse.site("mine")
    assert (face.scheduler, face.why_this, face.trust) == (here.scheduler.policy, here.scheduler.why, here.trust)
    assert face.grade in "ABCD" and face.cluster == ("two" if here.is_described else None)
    assert f"grade {face.grade}" in repr(face)
    assert face.causes()["wait_s"].sum() == tracehouse.why("mine")["wait_s"].sum()
    drawn = face.lottery(2)
    assert drawn["seed"].to_list() == [None, 1, 2] and drawn["average_wait_s"].n_unique() == 3
    assert drawn["average_wait_s"][0] == face.replay().metrics["average_wait_s"]
    assert drawn["average_wait_s"][1] == face.replay(policy="random:seed=1").metrics["average_wait_s"]


def test_the_site_says_who_replays(site: str) -> None:
    scheduler = site_of("mine").scheduler
    expected = {
        "its own Slurm": ("slurm", "the Slurm that the cluster two describes"),
        "its own PBS": ("pbs", "the PBS that the cluster two describes"),
        "found rules": ("FCFS", "what most centres run, with the limits that are described for the source"),
        "the catalogue's order": ("SJF", "the scheduler that the catalogue names"),
        "what fits": ("FCFS", "the scheduler that fits the log best, with grade B"),
    }
    assert (scheduler.policy, scheduler.why) == expected[site]
    assert tracehouse.replay("mine").summary["policy"] == scheduler.policy


@pytest.mark.parametrize("kind", ["its own Slurm", "its own PBS"])
def test_orders_have_their_verdicts_beside_a_lottery_in_the_same_place(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(kind, tmp_path, monkeypatch, *((5, 25) if "Slurm" in kind else (3, 20)))
    orders = {"good": "SJF", "harmful": "LAF", "harmless": "FCFS"}

    answer = tracehouse.what_if({name: {"policy": order} for name, order in orders.items()}, "mine")

    rows = {row["scenario"]: row for row in answer.scenarios.to_dicts()}
    words = {name: row["verdict"].partition(",")[0] for name, row in rows.items() if name in orders}
    assert words["good"] in ("dominates", "trades") and words["harmless"] == "no difference"
    assert words["harmful"] in ("worse", "no significant difference")
    assert all(row["no_verdict_because"] is None for row in rows.values())
    assert rows["good"]["random_orders_as_good"] < 0.05 < rows["harmful"]["random_orders_as_good"]
    assert any(text.startswith("beside the base, 42 random orders") for text in answer.summary["remarks"])


@pytest.mark.parametrize("kind", ["its own Slurm", "its own PBS"])
def test_jobs_of_a_log_without_nodes_lie_on_as_many_as_they_need(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are wider than a node never started."""
    load(kind, tmp_path, monkeypatch)
    assert tracehouse.replay("mine").summary["jobs_never_started"] == 0


@pytest.mark.parametrize("kind", ["its own Slurm", "its own PBS"])
def test_a_scheduler_that_knows_run_times_plans_by_them(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(kind, tmp_path, monkeypatch)

    strict = ["strict_ordering=True"] if "PBS" in kind else []

    answer = tracehouse.what_if(
        {"known": {"estimates": "actual"}, "known, in order": {"estimates": "actual", "policy": "SJF"}},
        "mine",
        base={"edits": strict} if strict else None,
    )

    base, known, ordered = answer.scenarios.to_dicts()[1:]
    assert f"known: {base['policy']}, actual times" in str(answer)
    assert known["estimates"] == "actual" and known["policy"] == base["policy"] == site_of("mine").scheduler.policy
    assert 0 < known["average_wait_h"] != base["average_wait_h"] and known["no_verdict_because"] is None
    assert ordered["policy"] == f"{base['policy']}:SJF" and ordered["average_wait_h"] < known["average_wait_h"]
    run = tracehouse.replay("mine", estimates="actual", edits=strict).replayed
    assert run.settings.own_scheduler == base["policy"]
    begin, end = run.schedule.start, run.schedule.start + run.jobs.runtime
    for second in np.unique(begin):
        assert run.jobs.procs[(begin <= second) & (second < end)].sum() <= 16


@pytest.mark.parametrize("kind", ["its own Slurm", "its own PBS"])
def test_without_backfilling_jobs_start_in_order(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(kind, tmp_path, monkeypatch)

    answer = tracehouse.what_if(
        {"none": {"backfill": "none"}, "none of SAF": {"backfill": "none", "policy": "SAF"}}, "mine"
    )

    base, none, ordered = answer.scenarios.to_dicts()[1:]
    assert none["average_wait_h"] > 2 * base["average_wait_h"], "the log was made so"
    if kind == "its own Slurm":  # PBS keeps a job of four CPUs on one node
        logged = answer.scenarios.row(0, named=True)["average_wait_h"]
        assert none["average_wait_h"] == pytest.approx(logged, rel=0.05)
    assert ordered["policy"].endswith(":SAF") and ordered["average_wait_h"] < none["average_wait_h"]
    assert answer.summary["changed_lines"]["none"]


def test_slurm_learns_run_times_while_jobs_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load("its own Slurm", tmp_path, monkeypatch)

    live, requested = tracehouse.replay("mine", estimates="live").replayed, tracehouse.replay("mine").replayed

    assert live.settings.own_scheduler == "slurm" and live.estimates == "live:mean"
    begin, end = live.schedule.start, live.schedule.start + live.jobs.runtime
    assert (begin != requested.schedule.start).any()
    assert max(live.jobs.procs[(begin <= second) & (second < end)].sum() for second in begin) <= 16
    again = tracehouse.replay("mine", estimates="live").replayed
    assert (again.schedule.start == begin).all() and len(live.others) == 4
    with pytest.raises(ValueError, match="go with its own order"):
        tracehouse.replay("mine", "slurm:SAF", estimates="live")
