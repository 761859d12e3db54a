"""Tests of assets/replaying/scenarios/freed: who comes into a scenario, and that no figure of the base changes with it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracehouse
from assets.common.storage import open_warehouse
from assets.common.trace import waiting_jobs
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from assets.replaying.running.settings import REQUEST_LABELS
from assets.replaying.scenarios.freed import held_jobs
from tests.pipelines.command_line import call, use_home
from tests.shared import shared_file
from tests.tiny import swf_line
from tests.traces.slurm.slurm_lines import document, job_line
from traces.catalogue.catalogue import load_catalogue

CLUSTER = """
name = "two"
[scheduler]
name = "slurm"
version = "24.05.1"
[scheduler.values]
schedulertype = "sched/backfill"
prioritytype = "priority/basic"
selecttype = "select/cons_tres"
accountingstorageenforce = "associations,limits,qos"
[[nodes]]
names = "n[1-4]"
cores = 4
[[partitions]]
name = "short"
is_default = true
[[qualities]]
name = "normal"
[[qualities]]
name = "free"
[[limits]]
owner = "qos"
owner_name = "normal"
counts = "running"
each = "user"
resource = "cpu"
bound = 4
"""
ZERO = datetime(2024, 1, 15, 10)
RAISED = "qos.normal.MaxTRESPU=cpu=16"


def line(
    number: int, user: str, cpus: int, submitted: float, start: float | None, end: float | None, **more: str
) -> str:
    """A job of whole minutes on nodes of four cores. start: None for one that left the queue at `end`, or that waits where this is None."""
    submit, begun, over = (
        "Unknown" if minute is None else (ZERO + timedelta(minutes=minute)).isoformat()
        for minute in (submitted, start, end)
    )
    ran_min = 0 if start is None or end is None else end - start
    state = "PENDING" if end is None else "CANCELLED by 7" if start is None else "COMPLETED"
    nodes = -(-cpus // 4)
    words = {
        "JobID": f"{number}", "JobIDRaw": f"{number}", "User": user, "Submit": submit, "Eligible": submit,
        "Start": over if start is None and end is not None else begun, "End": over, "State": state, "NNodes": f"{nodes}",
        "Elapsed": f"{int(ran_min // 60):02}:{int(ran_min % 60):02}:00", "NCPUS": f"{0 if start is None else cpus}",
        "ReqCPUS": f"{cpus}", "ReqMem": "", "ReqTRES": f"billing={cpus},cpu={cpus},node={nodes}",
        "AllocTRES": "" if start is None else f"billing={cpus},cpu={cpus},node={nodes}",
        "NodeList": "None assigned" if start is None else "", "TotalCPU": "", "Timelimit": "01:00:00",
    }  # fmt: skip
    return job_line(**words | more)


LOG = [
    *(line(k, "ann" if k % 2 else "bob", 2, 10 * k, 10 * k, 10 * k + 30) for k in range(1, 31)),
    line(40, "cat", 12, 120, 120, 175, QOS="free"),
    line(41, "cat", 16, 125, None, 145, QOS="free"),  # cancelled while it waits for nodes
    line(42, "bob", 8, 60, None, 240),  # above the limit, until it is cancelled
    line(43, "bob", 8, 250, None, None),  # and for good
    line(44, "bob", 8, 130, None, 131),  # cancelled before the raised limit would let it start
    line(45, "bob", 8, 255, None, 256, Partition="short,long"),  # for whichever comes first, which is no partition
]


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """In use: with the source `mine`."""
    folder, patch = tmp_path_factory.mktemp("freed"), pytest.MonkeyPatch()
    log = folder / "sacct.psv"
    log.write_text(document(*LOG))
    catalogue = use_home(patch, folder / "home")
    catalogue.write_text(
        f'[sources.mine]\nformat = "slurm"\npath = "{log}"\ntime_zone = "UTC"\ncluster = "two"\npseudonyms = []\n'
    )
    (folder / "home" / "clusters").mkdir()
    (folder / "home" / "clusters" / "two.toml").write_text(CLUSTER)
    update_raw_log(open_warehouse(), load_catalogue().source("mine"))
    write_jobs(open_warehouse(), "mine")
    yield
    patch.undo()


@pytest.fixture(scope="module")
def answer(home: None) -> tracehouse.WhatIf:
    return tracehouse.what_if({"raised": {"edits": [RAISED]}, "more": {"nodes": "+4"}}, "mine")


def _held(answer: tracehouse.WhatIf) -> pl.DataFrame:
    plan = answer.results.plan
    return held_jobs(plan.trace, plan.base, plan.scenarios)


def test_jobs_that_a_limit_kept_come_into_the_scenario_that_lets_them_start(answer: tracehouse.WhatIf) -> None:
    rows = {row["scenario"]: row for row in answer.scenarios.to_dicts()}
    assert (rows["raised"]["freed_jobs"], rows["more"]["freed_jobs"], rows["base"]["freed_jobs"]) == (2, 0, None)
    assert 0 <= rows["raised"]["freed_wait_h"] < 1 and rows["more"]["freed_wait_h"] is None
    said = [text for text in answer.results.remarks if "limit kept" in text]
    assert len(said) == 1 and said[0].startswith("raised: 2 jobs that a limit kept") and "predicted" in said[0]
    assert rows["raised"]["utilisation"] > rows["base"]["utilisation"]


def test_a_replay_has_the_same_jobs_and_waits_as_the_scenario(answer: tracehouse.WhatIf) -> None:
    row = answer.scenarios.filter(scenario="raised").row(0, named=True)
    run = tracehouse.replay("mine", edits=[RAISED])
    assert run.summary["jobs"] == 31 and int(run.replayed.freed.sum()) == row["freed_jobs"] == 2
    assert run.metrics["average_wait_s"] / 3600 == pytest.approx(row["average_wait_h"])
    assert run.metrics["utilisation"] == pytest.approx(row["utilisation"])
    assert "2 jobs that a limit kept" in str(run) and "in hindsight" in str(run)
    assert sum(each["jobs"] for each in run.summary["by_class"]) == 31
    base = tracehouse.replay("mine")
    assert (
        len(run.jobs) == 31 and run.summary["trace_sha256"] == base.summary["trace_sha256"] and "31 jobs" in repr(run)
    )
    assert tracehouse.compare(base, run).verdict["scored_jobs"] > 0
    order = tracehouse.replay("mine", "FCFS", cluster="two")
    assert len(order.replayed.jobs) == 31 and not order.replayed.freed.any()
    assert "limit kept" not in str(tracehouse.replay("mine", edits=["PriorityWeightAge=5"]))


@pytest.mark.parametrize("asked", [{"cluster": "two"}, {"procs": 16}], ids=["the source's own", "today's size"])
def test_no_job_is_explained_where_the_cluster_is_the_bases(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "assets.replaying.scenarios.freed._kept_by_limits", lambda *_: pytest.fail("jobs are explained")
    )
    assert tracehouse.replay("mine", **asked).summary["jobs"] == 31
    with pytest.raises(pytest.fail.Exception):
        tracehouse.replay("mine", edits=[RAISED])


def test_figures_are_of_the_jobs_of_the_log(answer: tracehouse.WhatIf) -> None:
    rows = {row["scenario"]: row for row in answer.scenarios.to_dicts()}
    run = tracehouse.replay("mine").replayed
    assert (run.rows["job_index"] >= 0).all() and len(run.jobs) == rows["base"]["jobs"] == rows["raised"]["jobs"] == 31
    assert rows["base"]["average_wait_h"] * 3600 == pytest.approx((run.schedule.start - run.jobs.submit).mean())
    assert rows["raised"]["paired_jobs"] == 31 and not rows["raised"]["scenario_only_jobs"]


def test_held_jobs_are_those_of_a_limit_and_run_for_predicted_times(answer: tracehouse.WhatIf) -> None:
    """Not job 41, which waited for nodes. Jobs of this user and request ran for half an hour."""
    held = _held(answer)
    assert held.select("job_id", "cancel_s").rows() == [
        ("42", held["submit_s"][0] + 180 * 60), ("44", held["submit_s"][1] + 60), ("43", None),
    ]  # fmt: skip
    assert held["job_index"].to_list() == [-1, -2, -3] and held.columns == answer.results.plan.trace.rows.columns
    assert held["runtime_s"].to_list() == [1800] * 3


def test_all_that_never_started_are_counted(answer: tracehouse.WhatIf) -> None:
    words = "left out: 4 jobs that left the queue without a start, 1 job that had not started when the log ended"
    assert answer.results.left_out_words == answer.summary["left_out"] == words
    told = tracehouse.replay("mine")
    assert words in str(told)
    assert (told.summary["jobs_left_before_start"], told.summary["jobs_still_waiting"]) == (4, 1)
    with open_warehouse().read() as connection:
        assert waiting_jobs(connection, "mine").select(pl.col("queue", "qos")).rows() == [("short", "normal")]
    assert set(REQUEST_LABELS) <= set(answer.results.plan.trace.rows.columns)


LIMITED = """
name = "NAME"
SCHEDULER[[nodes]]
names = "n[1-4]"
cores = 4
[[partitions]]
name = "1"
is_default = true
[[limits]]
owner = "cluster"
owner_name = ""
counts = "running"
each = "user"
resource = "jobs"
bound = BOUND
"""


PBS = '[scheduler]\nname = "pbs"\nversion = "23.06"\n'


@pytest.mark.parametrize("scheduler", ["", PBS], ids=["an order under limits", "PBS"])
def test_other_schedulers_let_them_start_too(scheduler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """User 1 cancels a job that waits for his other one to end, and one that waits for processors."""
    jobs = [
        swf_line(1, 0, 0, 36_000, 1, 40_000, user=1),
        swf_line(2, 100, 5_000, 0, 1, 600, status=5, user=1),
        *(swf_line(k, 1_000 * k, 0, 600, 2, 900, user=2) for k in range(3, 12)),
        swf_line(12, 40_000, 0, 3_600, 16, 3_600, user=3),
        swf_line(13, 40_100, 600, 0, 1, 600, status=5, user=1),
    ]
    log = tmp_path / "mine.swf"
    log.write_text("; MaxProcs: 16\n; UnixStartTime: 1767225600\n" + "".join(jobs))
    catalogue = use_home(monkeypatch, tmp_path / "home")
    catalogue.write_text(f'[sources.mine]\nformat = "swf"\npath = "{log}"\ncluster = "two"\n')
    (tmp_path / "home" / "clusters").mkdir()
    for name, bound in (("two", 1), ("wide", 4)):
        text = LIMITED.replace("NAME", name).replace("BOUND", str(bound)).replace("SCHEDULER", scheduler)
        (tmp_path / "home" / "clusters" / f"{name}.toml").write_text(text)
    update_raw_log(open_warehouse(), load_catalogue().source("mine"))
    write_jobs(open_warehouse(), "mine")
    answer = tracehouse.what_if({"raised": {"cluster": "wide"}, "load": {"load": 1.1}}, "mine")
    rows = {row["scenario"]: row for row in answer.scenarios.to_dicts()}
    assert _held(answer)["job_id"].to_list() == ["2"]
    assert (rows["raised"]["freed_jobs"], rows["raised"]["freed_wait_h"], rows["load"]["freed_jobs"]) == (1, 0, 0)
    assert rows["base"]["jobs"] == rows["raised"]["jobs"] == rows["raised"]["paired_jobs"] == 11


def test_twelve_jobs_of_a_recorded_run_come_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """T1 of 24.11: twelve ask for eight GPUs where a user may have six, and four for more CPUs than a QOS or an account may have. So said
    Slurm of all sixteen when the run ended."""
    run = shared_file("golden", "slurm24", "T1", "run1")
    use_home(monkeypatch, tmp_path / "home")
    call("cluster", "import", f"{run}", "--name", "t1")
    call(
        "ingest",
        f"{run / 'sacct.txt.gz'}",
        "--format",
        "slurm",
        "--name",
        "t1",
        "--cluster",
        "t1",
        "--time-zone",
        "UTC",
    )
    answer = tracehouse.what_if(
        {"gpus": {"edits": ["qos.normal.MaxTRESPU=gres/gpu=16"]}, "more": {"nodes": "+3"}}, "t1"
    )
    rows = {row["scenario"]: row for row in answer.scenarios.to_dicts()}
    held = _held(answer)
    assert len(held) == 16 and int((held["gpus"] == 8).sum()) == 12
    assert (rows["gpus"]["freed_jobs"], rows["more"]["freed_jobs"]) == (12, 0)
    assert rows["base"]["jobs"] == rows["gpus"]["paired_jobs"] == 339
    assert "16 jobs that had not started when the log ended" in answer.results.left_out_words
