"""Tests of assets/replaying/own: wait_causes, waiting_rules, queue_causes, pbs/waiting."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracehouse
from assets.common.storage import open_warehouse
from assets.replaying.own.queue_causes import queue_causes
from assets.replaying.own.wait_causes import CAUSE_COLUMNS, chosen_waits, wait_causes
from assets.replaying.own.waiting_rules import limit_words
from tests.assets.replaying.own.homes import CLUSTER, PBS_CLUSTER, SUBMITTED, log_of, own_home
from tests.pipelines.command_line import succeed, use_home
from tests.shared import shared_file
from tests.tiny import busy_log, swf_line, warehouse_of
from tracehouse.app.queue_page import why_words
from tracehouse.queue import QueueAnswer, with_causes
from traces.cluster.accounts import Limit
from traces.cluster.toml_writing import cluster_toml
from traces.queues import parse_queue
from traces.slurm.configuration.folder import read_slurm_cluster

# wait_causes: Why jobs waited, of a source.

# on one node, whose memory has room for one of them: job 2 waits for it, and job 3 behind job 2
JOBS = [(0, 0, 100, 900), (5, 100, 200, 900), (10, 200, 300, 900)]
ONE_NODE = CLUSTER.replace("n[1-2]", "n1")


def test_causes_of_slurm_s_own_log_and_of_a_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", JOBS, monkeypatch, ONE_NODE)
    causes = wait_causes(open_warehouse(), "mine")
    assert "cluster two" in causes.basis and causes.odd_layouts == 0
    assert dict(causes.of().select("cause", "jobs").iter_rows()) == {"memory": 2, "behind_earlier": 1}
    last = causes.jobs.row(2, named=True)
    assert (last["behind_job"], last["behind_user"], last["behind_s"]) == ("2", last["user"], 90)
    replayed = wait_causes(open_warehouse(), "mine", replayed=True)
    assert replayed.basis.startswith("a replay") and replayed.odd_layouts == 0
    for table in (causes.jobs, replayed.jobs):
        assert table.select(pl.sum_horizontal(CAUSE_COLUMNS)).to_series().to_list() == table["wait_s"].to_list()
    groups = causes.by_group(causes.jobs, "user").row(0, named=True)
    assert groups["value"] == last["user"] and groups["jobs"] == 2 and groups["hours"] == pytest.approx(285 / 3600)


GPU_NODE = ONE_NODE.replace("cores = 4", "cores = 4\ngpus = { a100 = 2 }")
TYPED, UNTYPED = "gres/gpu=2,gres/gpu:a100=2", "gres/gpu=1"


def gpu_log(*held: str) -> str:
    """Job 1 has both GPUs of the node for 100 s, and job 2 waits for 95 s. held: TRES of both."""
    head, *lines = log_of(JOBS[:2]).replace("mem=900M", "mem=100M").splitlines()
    return "\n".join([head, *(line.replace("cpu=1", f"cpu=1,{tres}") for line, tres in zip(lines, held, strict=True))])


@pytest.mark.parametrize(
    "held", [(TYPED, UNTYPED), ("gres/gpu=2", "gres/gpu=1,gres/gpu:a100=1"), ("gres/gpu=2", UNTYPED), (TYPED, TYPED)]
)
def test_gpus_are_missing_with_and_without_a_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: tuple[str, str]
) -> None:
    own_home(tmp_path / "home", [], monkeypatch, GPU_NODE, gpu_log(*held))
    (_, waited) = seconds_of(wait_causes(open_warehouse(), "mine").jobs)
    assert waited == {"gpus": 95}
    replayed = wait_causes(open_warehouse(), "mine", replayed=True).jobs
    assert seconds_of(replayed)[1]["gpus"] == 95 and replayed["start_s"][1] >= SUBMITTED + 100


@pytest.mark.parametrize("name", ["typed_runs_untyped_waits", "untyped_runs_typed_waits"])
def test_the_case_of_a_node_with_two_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Job 4 waits three hours for the GPUs of job 3, by the log and in a replay."""
    folder = shared_file("cases", "logs-and-configurations", "gpus-typed-and-not")
    cluster = cluster_toml(read_slurm_cluster((folder / "conf").iterdir(), "two"))
    own_home(tmp_path / "home", [], monkeypatch, cluster, (folder / f"sacct_{name}.txt").read_text())
    for replayed in (False, True):
        causes = wait_causes(open_warehouse(), "mine", replayed=replayed).jobs.filter(pl.col("job_id") == "4")
        assert causes["gpus_s"].to_list() == [3 * 3600] and causes["wait_s"].item() < 3 * 3600 + 60


def test_a_replay_has_the_jobs_that_replays_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It counted those that never started, too, as if they had not waited."""
    own_home(tmp_path / "home", JOBS, monkeypatch, ONE_NODE)
    with open_warehouse().write() as connection:
        connection.execute(
            "UPDATE core.jobs SET start_time = NULL, runtime_s = 0, status = 'cancelled' WHERE job_id = '3'"
        )
    replayed = wait_causes(open_warehouse(), "mine", replayed=True)
    assert replayed.jobs["job_id"].to_list() == ["1", "2"]
    assert replayed.left_out == {"jobs_of_the_log_that_no_replay_has": 1}


@pytest.mark.parametrize("cluster", [ONE_NODE, PBS_CLUSTER], ids=["slurm", "pbs"])
def test_waits_of_a_replay_are_those_of_the_sites_first_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: str
) -> None:
    """It was a replay of its own, with other phases and other jobs, and of Slurm alone."""
    own_home(tmp_path / "home", JOBS, monkeypatch, cluster)
    jobs = wait_causes(open_warehouse(), "mine", replayed=True).jobs
    run = tracehouse.replay("mine").replayed
    assert jobs["wait_s"].to_list() == (run.schedule.start - run.jobs.submit).tolist()
    assert jobs["wait_s"].sum() > 0


def test_without_a_cluster_it_is_a_row_of_processors(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(400))
    causes = wait_causes(warehouse, "mine")
    assert "row of" in causes.basis
    waits = causes.jobs.select(pl.sum_horizontal(CAUSE_COLUMNS)).to_series()
    assert waits.to_list() == causes.jobs["wait_s"].to_list() and waits.sum() > 0
    with pytest.raises(ValueError, match="no cluster whose scheduler or limits"):
        wait_causes(warehouse, "mine", replayed=True)
    rows, words = chosen_waits(warehouse, "mine", causes, {"user": causes.jobs["user"][0]})
    assert 0 < rows.height < 400 and words.startswith("user ")
    with pytest.raises(ValueError, match=r"no such job of 'mine' .* 2020-01.*: the log is of 2026-01-01 to 20"):
        chosen_waits(warehouse, "mine", causes, {}, "2020-01")
    for wanted, jobs, said in (({"user": "x"}, (), "most are of"), ({}, ("none",), "no job 'none'")):
        with pytest.raises(ValueError, match=said):
            chosen_waits(warehouse, "mine", causes, wanted, jobs=jobs)


def test_a_job_that_ran_from_a_time_nobody_knows_did_not_wait(tmp_path: Path) -> None:
    """Its line has a run time and no wait, and it is counted."""
    log = (
        "; MaxProcs: 4\n"
        + swf_line(1, 0, 0, 500, 4, 900)
        + swf_line(2, 10, 490, 100, 4, 900)
        + swf_line(3, 20, -1, 300, 4, 900)
    )
    causes = wait_causes(warehouse_of(tmp_path, log), "mine")
    assert causes.jobs["job_id"].to_list() == ["1", "2"] and causes.jobs["wait_s"].sum() == 490
    assert causes.left_out == {"jobs_whose_wait_the_log_does_not_say": 1}
    (tmp_path / "none").mkdir()
    never = warehouse_of(tmp_path / "none", "; MaxProcs: 4\n" + swf_line(1, 20, -1, 300, 4, 900))
    with pytest.raises(ValueError, match="does not say when its jobs started"):
        wait_causes(never, "mine")


ADOPTED = """
name = "two"
[scheduler.order]
cycle_s = 30
[[nodes]]
names = "all"
cores = 4
"""
LIMIT = """
[[limits]]
owner = "cluster"
owner_name = ""
counts = "running"
each = "account"
resource = "jobs"
bound = 1
origin = "found"
"""


def seconds_of(causes: pl.DataFrame) -> list[dict[str, int]]:
    """Of each job what kept it, and for how many seconds."""
    assert causes.select(pl.sum_horizontal(CAUSE_COLUMNS)).to_series().to_list() == causes["wait_s"].to_list()
    rows = causes.select(CAUSE_COLUMNS).to_dicts()
    return [{name.removesuffix("_s"): value for name, value in row.items() if value} for row in rows]


@pytest.mark.parametrize(
    ("changes", "last"),
    [
        ("", {"limit": 200}),
        # the bound is two jobs from the 150th second on, and then nothing keeps the third one
        (f"end_s = {SUBMITTED + 150}\n{LIMIT}begin_s = {SUBMITTED + 150}\n".replace("bound = 1", "bound = 2"),
         {"limit": 140, "pace": 60}),
    ],
)  # fmt: skip
def test_adopted_limits_keep_jobs_on_a_row_of_processors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: str, last: dict[str, int]
) -> None:
    """Of any queue, of accounts that no file describes, and however many nodes or how much memory they ask for."""
    jobs = [(0, 0, 100, 900), (5, 100, 210, 900), (10, 210, 300, 900)]
    own_home(tmp_path / "home", jobs, monkeypatch, ADOPTED + LIMIT + changes)
    with open_warehouse().write() as connection:
        connection.execute("UPDATE core.jobs SET nodes = 3, requested_nodes = 3, queue = 'batch'")
    causes = wait_causes(open_warehouse(), "mine")
    assert causes.basis == "4 processors and limits of cluster two, jobs in the order of submission"
    assert seconds_of(causes.jobs) == [{}, {"limit": 95}, last] and causes.jobs["queue"][0] == "batch"
    assert causes.jobs["limit"][1] == "at most 1 running jobs of an account (cluster)" and not causes.left_out


def test_a_boundary_of_a_log_keeps_jobs_each_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their requested hour would end after it."""
    noon = SUBMITTED + 12 * 3600
    boundary = f'[[reservations]]\nname = "b"\nbegin_s = {noon}\nend_s = {noon + 1}\nrepeats = "daily"\n'
    day = 86_400
    jobs = [(day + 11 * 3600 + 60, day + 12 * 3600 + 1, day + 46_000, 100)]
    own_home(tmp_path / "home", jobs, monkeypatch, ADOPTED + boundary)
    assert seconds_of(wait_causes(open_warehouse(), "mine").jobs) == [{"reservation": 3541}]


PBS_LINES = """
[scheduler.values]
strict_ordering = true
backfill_depth = 1
job_sort_key = "mem LOW"
by_queue = false
"""


def test_causes_of_pbs_are_those_of_its_own_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both wait for memory until the first job ends, and then there is room for both."""
    own_home(tmp_path / "home", [(0, 0, 100, 900), (5, 200, 300, 500), (10, 100, 200, 400)], monkeypatch,
             PBS_CLUSTER.replace("n[1-2]", "n1").replace(_values(PBS_CLUSTER), PBS_LINES))  # fmt: skip
    causes = wait_causes(open_warehouse(), "mine")
    assert causes.basis == "the rules, the order and the nodes of cluster two (PBS 23.06)" and causes.odd_layouts == 0
    first, second, third = seconds_of(causes.jobs)
    assert first == {} and third == {"memory": 90}
    assert second == {"memory": 95, "pace": 100}
    assert causes.jobs["job_id"].to_list() == ["1", "2", "3"]


def _values(cluster: str) -> str:
    begin = cluster.index("[scheduler.values]")
    return cluster[begin : cluster.index("[[nodes]]")]


def test_a_limit_is_said_as_an_operator_says_it() -> None:
    assert (
        limit_words(Limit("qos", "few", "running", "user", "jobs", 10)) == "at most 10 running jobs of a user (qos few)"
    )


# queue_causes: What keeps the jobs of a live queue.

NOW = SUBMITTED + 100_000


def entry(job_id: int, submitted: int, **fields: Any) -> dict[str, Any]:
    memory = fields.pop("memory", 100)
    return {
        "job_id": job_id, "job_state": ["PENDING"], "state_reason": "Priority", "user_name": f"u{job_id}", "partition": "main",
        "account": "physics", "cpus": 1, "tres_req_str": f"cpu=1,mem={memory}M,node=1", "time_limit": 60,
        "submit_time": NOW - submitted, "start_time": 0,
    } | fields  # fmt: skip


def test_the_cause_of_each_waiting_job_is_that_of_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", [(0, 0, 100, 100)], monkeypatch, CLUSTER.replace("n[1-2]", "n1"))
    running = {"job_state": ["RUNNING"], "start_time": NOW - 900, "nodes": "n1"}
    jobs = [
        entry(10, 1000, memory=900, **running),
        entry(11, 800, memory=500),
        entry(12, 700),
        entry(13, 600, hold=True),
    ]
    snapshot = parse_queue(json.dumps({"jobs": jobs, "last_update": NOW}), "queue", "UTC")
    causes = queue_causes(open_warehouse(), "mine", snapshot, NOW)
    rows = {row["job_id"]: row for row in causes.jobs.iter_rows(named=True)}
    assert {name: row["now"] for name, row in rows.items()} == {"11": "memory", "12": "behind_earlier"}
    assert (rows["12"]["behind_job"], rows["12"]["behind_user"], rows["11"]["behind_job"]) == ("11", "u11", None)
    assert "cluster two" in causes.basis and causes.odd_layouts == 0
    rows_of_queue = pl.DataFrame({"job": ["11", "12", "13"], "not_predicted": [None, None, "held"]})
    answer = with_causes(QueueAnswer(rows_of_queue, ["first"]), "mine", snapshot, NOW)
    assert answer.rows["why"].to_list() == ["memory is missing", "behind jobs submitted earlier", None]
    assert answer.rows["reason"].to_list()[:2] == ["Priority", "Priority"] and "cluster two" in answer.lines[1]
    assert why_words(answer.rows.row(1, named=True)) == "behind jobs submitted earlier: job 11 of u11"
    alone = parse_queue(json.dumps({"jobs": jobs[:1], "last_update": NOW}), "queue", "UTC")
    assert queue_causes(open_warehouse(), "mine", alone, NOW).jobs.is_empty()


@pytest.mark.parametrize(
    ("running", "waiting", "now"),
    [(TYPED, UNTYPED, "gpus"), ("gres/gpu=2", "gres/gpu=1,gres/gpu:a100=1", "gpus"), (UNTYPED, UNTYPED, "pace")],
)
def test_a_waiting_job_lacks_gpus_that_another_one_has_with_a_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, running: str, waiting: str, now: str
) -> None:
    own_home(tmp_path / "home", [(0, 0, 100, 100)], monkeypatch, GPU_NODE)
    runs = {"job_state": ["RUNNING"], "start_time": NOW - 900, "nodes": "n1"}
    asked = [f"cpu=1,mem=100M,node=1,{tres}" for tres in (running, waiting)]
    jobs = [entry(10, 1000, tres_req_str=asked[0], **runs), entry(11, 30, tres_req_str=asked[1])]
    snapshot = parse_queue(json.dumps({"jobs": jobs, "last_update": NOW}), "queue", "UTC")
    assert queue_causes(open_warehouse(), "mine", snapshot, NOW).jobs["now"].to_list() == [now]


def test_gpus_that_no_resource_tracks_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From files to answer: GPUs of Slurm 25.11's squeue are in gres_detail and tres_per_node alone."""
    cases = shared_file("cases", "logs-and-configurations")
    use_home(monkeypatch, tmp_path / "home")
    log, conf = (
        cases / "gpus-typed-and-not" / "sacct_typed_runs_untyped_waits.txt",
        cases / "gpus-typed-and-not" / "conf",
    )
    succeed("ingest", log, "--name", "w", "--format", "slurm", "--time-zone", "UTC", "--keep-names")
    succeed("cluster", "import", conf, "--name", "w", "--source", "w")
    queue = cases / "squeue-gpus-not-in-tres" / "of_cluster_w.json"
    succeed("queue", "w", queue, "--why", "--samples", "10", "--json", "--out", tmp_path / "o.json")
    (job,) = json.loads((tmp_path / "o.json").read_text())["jobs"]
    assert (job["job"], job["why"], job["reason"]) == ("51", "GPUs are missing", "Resources")


def test_a_source_without_a_cluster_has_no_rules(tmp_path: Path) -> None:
    snapshot = parse_queue(json.dumps({"jobs": [entry(1, 5)]}), "queue", "UTC")
    with pytest.raises(ValueError, match="cluster import"):
        queue_causes(warehouse_of(tmp_path, busy_log(30)), "mine", snapshot, NOW)
