"""Tests of assets/replaying: starts.

When the jobs that wait at a moment start, in replays of the source's site from that moment on.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from assets.common.storage import open_warehouse
from assets.replaying.starts import DAY_S, LEAST_LATER, WEEK_S, SiteStarts, _drawn_later
from assets.waits.loading import SiteWaits, load_site_waits
from models.waits.history import JobSet, State, state_at
from models.waits.replays import ROW
from simulator.engine.replay import OrderReplayer
from simulator.jobs.cluster import Cluster, RunningJobs
from simulator.jobs.jobs import Jobs
from simulator.partitions import PartitionReplayer
from tests.assets.replaying.own.homes import CLUSTER, MANY, PBS_CLUSTER, SUBMITTED, log_of, own_home
from tests.pipelines.command_line import fail, succeed
from tracehouse.queue import answer_queue, read_snapshot
from traces.catalogue.catalogue import load_catalogue

MINUTE_S = 60


def certain(jobs: JobSet, runtime: int) -> JobSet:
    """The jobs with a run time that is known."""
    return replace(jobs, quantiles=np.full_like(jobs.quantiles, float(runtime)))


def known_state(waits: SiteWaits, moment: int, running: int, waiting: int) -> State:
    state = state_at(waits.log.history, moment)
    return replace(state, running=certain(state.running, running), waiting=certain(state.waiting, waiting))


@pytest.fixture
def own_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    head, *lines = log_of(MANY).splitlines()
    held = [f"{line.removesuffix('n1')}n{1 + k % 2}" for k, line in enumerate(lines)]  # one large job on each node
    own_home(tmp_path / "home", [], monkeypatch, log="\n".join([head, *held]) + "\n")
    monkeypatch.chdir(tmp_path / "home")
    return tmp_path / "home"


def test_the_clusters_own_scheduler_knows_what_keeps_a_job(own_slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory keeps two jobs until those that run have ended at 600, and processors keep none."""
    waits = load_site_waits(open_warehouse(), "mine")
    assert isinstance(waits.starts, SiteStarts)
    state = known_state(waits, SUBMITTED + 40, 600, 300)
    assert (len(state.running), len(state.waiting)) == (2, 2)
    monkeypatch.setattr("assets.replaying.starts.MOST_LATER", 0)
    starts = waits.starts(state, 5, 1)
    assert starts.shape == (5, 2) and (starts >= 560).all() and (starts <= 560 + 2 * MINUTE_S).all()
    assert (ROW(state, 5, 1) <= 1).all()
    assert np.array_equal(starts, waits.starts(state, 5, 1))


def test_the_clusters_own_pbs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As under Slurm."""
    head, *lines = log_of(MANY).splitlines()
    held = [f"{line.removesuffix('n1')}n{1 + k % 2}" for k, line in enumerate(lines)]
    own_home(tmp_path / "home", [], monkeypatch, PBS_CLUSTER, log="\n".join([head, *held]) + "\n")
    waits = load_site_waits(open_warehouse(), "mine")
    assert waits.replays.order_words == "PBS"
    starts = waits.starts(known_state(waits, SUBMITTED + 40, 600, 300), 3, 1)
    assert (starts >= 560).all() and (starts <= 560 + 2 * MINUTE_S).all()


def test_limits_of_a_cluster_keep_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user may run two jobs, and both run until 600. Processors are free."""
    cluster = CLUSTER[: CLUSTER.index("[scheduler]")] + CLUSTER[CLUSTER.index("[[nodes]]") :]
    limit = '[[limits]]\nowner = "cluster"\nowner_name = ""\ncounts = "running"\neach = "user"\nresource = "jobs"\nbound = 2\n'
    own_home(tmp_path / "home", MANY, monkeypatch, cluster + limit)
    waits = load_site_waits(open_warehouse(), "mine")
    assert isinstance(waits.starts, SiteStarts) and waits.replays.site.scheduler.cluster == "two"
    state = known_state(waits, SUBMITTED + 40, 600, 300)
    starts = waits.starts(state, 3, 1)
    assert np.abs(starts - 560).max() <= 30
    assert (ROW(state, 3, 1) <= 1).all()


def test_an_order_in_the_place_of_the_clusters_own(own_slurm: Path) -> None:
    waits = load_site_waits(open_warehouse(), "mine", {"policy": "SAF"})
    assert waits.replays.order_words == "SAF in Slurm" and waits.replays.settings.policy == "slurm:SAF"
    state = known_state(waits, SUBMITTED + 40, 600, 300)
    assert (waits.starts(state, 2, 1) >= 560).all()


def test_later_jobs_come_at_the_same_hours_of_past_weeks(own_slurm: Path) -> None:
    """Nothing of the future is used, and what still runs has its predicted run time."""
    waits = load_site_waits(open_warehouse(), "mine")
    rows = waits.trace.rows
    first = rows.head(1)
    submit = np.arange(0, 5 * WEEK_S, DAY_S // 4)
    ran = np.where(np.arange(len(submit)) % 2, 2 * WEEK_S, 3600)
    many = pl.concat([first] * len(submit)).with_columns(
        submit_s=pl.Series(submit),
        start_s=pl.Series(submit),
        runtime_s=pl.Series(ran),
        job_index=pl.Series(range(len(submit))),
    )
    many = many.with_columns(runtime_p50_s=pl.lit(777.0))
    now = 4 * WEEK_S + 3 * DAY_S + 100
    assert isinstance(waits.starts, SiteStarts)
    starts = replace(waits.starts, trace=replace(waits.trace, rows=many), place=np.arange(len(submit)))
    none = waits.log.history.job_set(np.array([], dtype=np.int64), np.array([], dtype=np.int64))
    are_over = []
    for seed in range(8):
        later = starts._later(State(now, 8, none, none), np.random.default_rng(seed))
        assert later.height == LEAST_LATER and (later["submit_s"] >= now).all() and later["submit_s"].is_sorted()
        origin = submit[later["job_index"].to_numpy()]
        assert (origin < now).all() and ((later["submit_s"].to_numpy() - origin) % WEEK_S == 0).all()
        mine = ran[later["job_index"].to_numpy()]
        is_over = origin + mine <= now
        assert (later["runtime_s"].to_numpy() == np.where(is_over, mine, 777)).all()
        are_over += is_over.tolist()
    assert any(are_over) and not all(are_over)


def test_later_jobs_of_a_log_that_is_weeks_old() -> None:
    """They went back from now, so that nobody came in a quarter of the draws, and in none where the log was eight weeks old."""
    submit, rng = np.arange(0, 20 * WEEK_S, 3600), np.random.default_rng(1)
    for weeks in (0, 4, 10):
        now = 20 * WEEK_S + weeks * WEEK_S
        for _ in range(20):
            places, seconds = _drawn_later(submit, int(submit[-1]), now, 300, rng)
            assert len(places) == 300 and (seconds >= now).all() and (np.diff(seconds) >= 0).all()
            assert (submit[places] < now).all() and ((seconds - submit[places]) % WEEK_S == 0).all()
    assert len(_drawn_later(submit, int(submit[-1]), 200 * WEEK_S, 300, rng)[0]) == 300


def test_what_frees_a_job_later_is_not_known_yet(own_slurm: Path) -> None:
    """A job behind a dependency is eligible five hours after the moment by the log. It was known at the moment when."""
    waits = load_site_waits(open_warehouse(), "mine")
    state = known_state(waits, SUBMITTED + 40, 600, 300)
    starts = waits.starts(state, 2, 1)
    freed = pl.col("eligible_time").fill_null(pl.col("submit_time")) + pl.duration(hours=5)
    rows = waits.trace.rows.with_columns(eligible_time=freed)
    later = waits._replace(trace=replace(waits.trace, rows=rows)).starts(state, 2, 1)
    assert np.array_equal(later, starts)


def test_a_job_that_is_too_wide_keeps_no_other_from_a_start(own_slurm: Path) -> None:
    """One that was cancelled while it waited may be. The whole answer failed."""
    waits = load_site_waits(open_warehouse(), "mine")
    state = known_state(waits, SUBMITTED + 40, 600, 300)
    wide = replace(state.waiting, procs=np.array([90, 1]))
    rows = waits.trace.rows.with_columns(
        procs=pl.when(pl.col("job_index") == 2).then(90).otherwise("procs"),
        requested_procs=pl.when(pl.col("job_index") == 2).then(90).otherwise("requested_procs"),
    )
    for starts in (waits._replace(trace=replace(waits.trace, rows=rows)).starts, ROW):
        times = starts(replace(state, waiting=wide), 2, 1)
        assert np.isinf(times[:, 0]).all() and np.isfinite(times[:, 1]).all()


def squeue(now: int, *jobs: dict[str, Any]) -> str:
    usual = {
        "job_state": ["PENDING"], "state_reason": "Priority", "user_name": "ann", "account": "physics", "partition": "main", "cpus": 1,
        "node_count": {"set": True, "number": 1}, "time_limit": 60, "submit_time": now - 60, "start_time": 0,
    }  # fmt: skip
    return json.dumps({"jobs": [usual | job for job in jobs], "last_update": now})


def test_the_queue_of_this_moment_by_the_clusters_own_scheduler(own_slurm: Path) -> None:
    """Two jobs hold the memory of both nodes. Processors are free, so that a row of them would start the third at once."""
    now = SUBMITTED + 60_000
    running = [
        {
            "job_id": 500 + k, "job_state": ["RUNNING"], "start_time": now - 300, "nodes": f"n{k + 1}",
            "tres_req_str": "cpu=1,mem=900M,node=1", "tres_alloc_str": "cpu=1,mem=900M,node=1",
        }
        for k in range(2)
    ]  # fmt: skip
    waiting = {"job_id": 510, "tres_req_str": "cpu=1,mem=900M,node=1"}
    (own_slurm / "q.json").write_text(squeue(now, *running, waiting))
    answer = json.loads(succeed("queue", "mine", "q.json", "--samples", "20", "--policy", "SAF", "--json"))
    (row,) = answer["jobs"]
    assert row["job"] == "510" and row["start_p50_s"] > MINUTE_S
    assert any(
        line.startswith("replayed 20 times under Slurm; the Slurm that the cluster two describes")
        for line in answer["lines"]
    )
    assert any(line.startswith("under SAF in Slurm jobs start after") for line in answer["lines"])


def test_a_job_that_never_starts_has_no_start(own_slurm: Path) -> None:
    """It asks for more memory than a node has."""
    now = SUBMITTED + 60_000
    text = squeue(now, {"job_id": 510, "tres_req_str": "cpu=1,mem=5000M,node=1"}, {"job_id": 511})
    (own_slurm / "q.json").write_text(text)
    snapshot, moment = read_snapshot(load_catalogue().source("mine"), "q.json")
    rows = {row["job"]: row for row in answer_queue("mine", snapshot, moment, (None, None), (20, 1)).rows.to_dicts()}
    assert rows["510"]["start_p50_s"] is None and rows["511"]["start_p50_s"] is not None
    assert "does not start in most of the replays" in rows["510"]["not_predicted"]
    assert rows["511"]["not_predicted"] is None
    alone = replace(snapshot, jobs=snapshot.jobs[:1])  # the mean of nobody's starts could not be said
    assert not any(
        "jobs start after" in line for line in answer_queue("mine", alone, moment, ("SAF", None), (20, 1)).lines
    )


def test_a_queue_that_is_not_described_is_named(own_slurm: Path) -> None:
    """The whole answer failed. Who runs there holds the nodes all the same."""
    now = SUBMITTED + 60_000
    running = {
        "job_id": 500,
        "job_state": ["RUNNING"],
        "start_time": now - 300,
        "nodes": "n1",
        "cpus": 4,
        "partition": "new",
    }
    (own_slurm / "q.json").write_text(
        squeue(now, running, {"job_id": 510, "partition": "new"}, *({"job_id": k, "cpus": 4} for k in (511, 512)))
    )
    snapshot, moment = read_snapshot(load_catalogue().source("mine"), "q.json")
    rows = {row["job"]: row for row in answer_queue("mine", snapshot, moment, (None, None), (20, 1)).rows.to_dicts()}
    assert rows["510"]["not_predicted"] == "the cluster that is described has no queue 'new'"
    assert rows["510"]["start_p50_s"] is None and rows["511"]["start_p50_s"] < MINUTE_S < rows["512"]["start_p50_s"]


def test_queues_that_own_processors_begin_with_their_own_jobs() -> None:
    """Queue a owns four processors, which one job holds until 100. Jobs of both queues wait since 50; that of b starts at once."""
    running = RunningJobs(*(np.array([value]) for value in (0, 100, 4, 100, 100, 0)))
    length = np.array([10, 10])
    jobs = Jobs(np.array([50, 50]), length, np.array([4, 4]), length, length)
    replayer = PartitionReplayer(OrderReplayer("FCFS", "easy"), np.array([0, 0, 1]), [4, 4])
    assert replayer.replay(jobs, Cluster(8, running, waiting=2, begin=50)).schedule.start.tolist() == [100, 50]


def test_a_new_job_asks_what_the_cluster_has(own_slurm: Path) -> None:
    new = ("wait", "mine", "--procs", "1", "--walltime", "1h", "--at", str(SUBMITTED + 40), "--samples", "20")
    answer = json.loads(succeed(*new, "--queue", "main", "--json"))
    assert answer["backfill"] == "own" and answer["policy"] == "slurm" and answer["queue"] == "main"
    assert "Replayed under Slurm; the Slurm that the cluster two describes" in " ".join(succeed(*new).split())
    assert "has no queue 'nowhere': it has main" in fail(*new, "--queue", "nowhere")
    assert "has no GPUs: leave --gpus out" in fail(*new, "--gpus", "1")
    assert "has no qos 'high': it has none" in fail(*new, "--qos", "high")
