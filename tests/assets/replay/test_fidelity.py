"""Every source gets a grade of how well a replay gives back what happened, or the reason why it has none."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import dagster as dg
import numpy as np
import polars as pl
import pytest

from assets.common.partitions import SOURCES
from assets.common.trace import load_trace
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from assets.replay import fidelity as judging
from models.judging.machine import Machine, SizeOverTime, partitions_of
from simulator.engine.replay import OrderReplayer, replay
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import jobs_from_log
from simulator.partitions import PartitionReplayer, shares_of
from tests.pipelines.command_line import use_home
from tests.shared import shared_file
from tests.tiny import busy_log, in_queues, swf_line, warehouse_of
from traces.catalogue.catalogue import load_catalogue
from warehouse import Warehouse


def made(warehouse: Warehouse, source: str = "mine") -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows of replay.fidelity and replay.configurations after the asset was made."""
    assert SOURCES.name is not None
    with dg.instance_for_test() as instance:
        instance.add_dynamic_partitions(SOURCES.name, [source])
        result = dg.materialize(
            [judging.fidelity], instance=instance, partition_key=source, resources={"warehouse": warehouse}
        )
    assert result.success
    with warehouse.read() as connection:
        fitted = connection.sql("FROM replay.configurations ORDER BY place").pl()
        return connection.sql("FROM replay.fidelity").pl(), fitted


def test_the_scheduler_of_a_log_is_named_and_its_replay_graded(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(1500, seed=3, days=60))
    rows, fitted = made(warehouse)
    assert fitted.row(0, named=True).items() >= {"policy": "FCFS", "backfill": "none", "procs": 16, "jobs": 750}.items()
    assert fitted["factor"][0] == 1.0 and fitted["factor"].is_sorted()
    (of_all,) = rows.filter(part="all").to_dicts()
    assert of_all["grade"] == "A" and of_all["no_grade_because"] is None and of_all["jobs"] == 750
    for name in ("wait_s", "p95_wait_s", "bounded_slowdown", "utilisation"):
        assert of_all[f"logged_{name}"] == pytest.approx(of_all[f"replayed_{name}"])
    assert 0.3 < of_all["logged_utilisation"] <= 1
    assert (
        of_all["logged_room_share"] == of_all["replayed_room_share"] > 0.05
    )  # FCFS alone leaves room behind a blocked head
    for part in ("size", "month"):
        assert rows.filter(part=part)["jobs"].sum() == 750
    assert set(rows.filter(part="month")["value"]) == {"2026-01", "2026-02"} | ({"2026-03"} & set(rows["value"]))


def test_the_first_half_fits_and_the_second_is_graded(tmp_path: Path) -> None:
    """A log whose second half has made-up waits is fitted as if nothing was wrong. Then no fit is the scheduler of answers."""
    lines = busy_log(1500, seed=3, days=60).splitlines(keepends=True)
    rng = np.random.default_rng(1)
    for k in range(3 + 750, len(lines)):
        words = lines[k].split()
        words[2] = str(rng.integers(0, 100_000))
        lines[k] = " ".join(words) + "\n"
    rows, fitted = made(warehouse_of(tmp_path, "".join(lines)))
    assert fitted["factor"][1] == fitted["factor"].min() == 1.0 and rows.filter(part="all")["grade"].to_list() == ["D"]
    plain = {"place": 1, "policy": "FCFS", "backfill": "easy", "jobs": 750}
    assert fitted.row(0, named=True).items() >= plain.items(), (
        "what is assumed where no order gives the log back is graded"
    )


def jobs_of(wait: int, header: str = "") -> str:
    """A log of 59 jobs that all wait as long."""
    return f"; MaxProcs: 4\n{header}" + "".join(swf_line(k, 1000 * k, wait, 500, 1) for k in range(1, 60))


def test_where_nobody_waited_there_is_no_grade(tmp_path: Path) -> None:
    rows, fitted = made(warehouse_of(tmp_path, jobs_of(0)))
    (of_all,) = rows.filter(part="all").to_dicts()
    assert of_all["grade"] is None
    assert (
        of_all["no_grade_because"] == "0 of these 30 jobs waited longer than a minute, and a grade needs 100 that did"
    )
    assert of_all["logged_room_share"] is None and of_all["replayed_room_share"] is None
    assert fitted["factor"][0] == 1.0


def why_no_grade(warehouse: Warehouse) -> str | None:
    trace = load_trace(warehouse, "mine")
    return judging._no_real_waits(warehouse, trace, judging.LoggedJobs(trace.jobs(), judging.logged_waits(trace)))


def test_without_real_waits_nothing_is_replayed(tmp_path: Path) -> None:
    rows, fitted = made(warehouse_of(tmp_path, jobs_of(-1)))
    assert rows["no_grade_because"].to_list() == ["the log does not say when its jobs started"]
    assert rows["jobs"].to_list() == [0] and fitted.is_empty()


@pytest.mark.parametrize("line", ["Note: the wait times are simulated", "Computer: none: synthetic"])
def test_a_header_says_that_waits_are_made_up(tmp_path: Path, line: str) -> None:
    warehouse = warehouse_of(tmp_path, jobs_of(500, f"; {line}\n"))
    why = why_no_grade(warehouse)
    assert why is not None and f"header says under {line.partition(':')[0]!r}" in why


@pytest.mark.parametrize(
    ("log", "why"),
    [
        ("SDSC-SP2-1998-derived", "header says"),
        ("NASA-iPSC-1993-3.1-cln", "does not say when"),
        ("lublin_256", "does not say when"),
    ],
)
def test_archive_logs_without_real_waits(tmp_path: Path, log: str, why: str) -> None:
    text = gzip.decompress(shared_file("traces", "swf", f"{log}.swf.gz").read_bytes()).decode("latin-1")
    warehouse = warehouse_of(tmp_path, text)
    assert why in str(why_no_grade(warehouse))


def test_a_cluster_that_grew_is_named_and_its_replay_graded(tmp_path: Path) -> None:
    """Its log is written by our own engine, with the growth hidden."""
    text = busy_log(3000, seed=3, days=60)
    jobs = load_trace(warehouse_of(tmp_path / "asked", text), "mine").jobs()
    grew = SizeOverTime((10, 16), (int(jobs.submit[900]),))
    narrow = np.minimum(jobs.procs, 10)
    jobs = jobs_from_log(jobs.submit, jobs.runtime, narrow, jobs.estimate)
    waits = replay(jobs, grew.cluster, "FCFS", "easy").start - jobs.submit
    columns = (jobs.submit, waits, jobs.runtime, narrow, jobs.estimate)
    # each job has a user of its own, since a log whose users follow their own jobs has a lower letter
    lines = [swf_line(k, *map(int, row), user=k) for k, row in enumerate(zip(*columns, strict=True), 1)]
    rows, fitted = made(warehouse_of(tmp_path, "; MaxProcs: 16\n" + "".join(lines)))
    assert fitted["size_over_time"][0] is not None and fitted["size_over_time"][0].startswith("10 until ")
    assert rows.filter(part="all")["grade"].to_list() == ["A"]


def partitioned_log(text: str, owned: dict[str, int], procs: int) -> str:
    """The log of a scheduler of ours that gives queues processors of their own: EASY, shortest jobs first."""
    rows = [line.split() for line in in_queues(text).splitlines() if not line.startswith(";")]
    submit, runtime, width, request = (np.array([int(row[k]) for row in rows]) for k in (1, 3, 4, 8))
    shares = shares_of(owned, procs)
    partition = partitions_of(pl.Series([row[14] for row in rows]), owned)
    width = np.minimum(width, np.array(shares)[partition])
    jobs = jobs_from_log(submit, runtime, width, request)
    replayer = PartitionReplayer(OrderReplayer("SJF", "easy"), partition, shares)
    waits = replayer.replay(jobs, Cluster(procs)).schedule.start - jobs.submit
    for row, wait, procs_of_job in zip(rows, waits.tolist(), width.tolist(), strict=True):
        row[2], row[4] = str(wait), str(procs_of_job)
    return f"; MaxProcs: {procs}\n" + "".join(f"{' '.join(row)}\n" for row in rows)


@pytest.mark.parametrize("declared", [True, False])
def test_queues_that_own_processors_are_found(tmp_path: Path, declared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the catalogue tells of them, or each queue has had all of its processors in use at one time."""
    log = tmp_path / "mine.swf"
    log.write_text(partitioned_log(busy_log(2000, seed=3, days=60), {"1": 4, "7": 2}, 14))
    catalogue = use_home(monkeypatch, tmp_path / "home")
    owned = 'partitions = { "1" = 4, "7" = 2 }\n' if declared else ""
    catalogue.write_text(f'[sources.mine]\nformat = "swf"\npath = "{log}"\n{owned}')
    warehouse = Warehouse(tmp_path / "w.duckdb")
    source = load_catalogue().source("mine")
    update_raw_log(warehouse, source)
    write_jobs(warehouse, "mine")
    rows, fitted = made(warehouse)
    best = fitted.row(0, named=True)
    assert (best["policy"], best["backfill"], best["procs"], best["factor"]) == ("SJF", "easy", 14, 1.0)
    assert json.loads(best["partitions"]) == ({"1": 4, "7": 2} if declared else {"1": 4, "2": 8, "7": 2})
    assert rows.filter(part="all")["grade"].to_list() == ["A"]


def test_queues_that_share_processors_own_none(tmp_path: Path) -> None:
    trace = load_trace(warehouse_of(tmp_path, in_queues(busy_log(600))), "mine", labels=["queue"])
    logged = judging.LoggedJobs(trace.jobs(), judging.logged_waits(trace), judging.job_queues(trace))
    assert judging._machines(trace, logged.first(300)) == [Machine(16)]
    alone = load_trace(warehouse_of(tmp_path / "alone", busy_log(600)), "mine", labels=["queue"])
    logged = judging.LoggedJobs(alone.jobs(), judging.logged_waits(alone), judging.job_queues(alone))
    assert judging._machines(alone, logged.first(300)) == [Machine(16)]


def test_a_smaller_machine_is_tried_where_fewer_processors_were_ever_in_use(tmp_path: Path) -> None:
    text = busy_log(300, procs=16).replace("MaxProcs: 16", "MaxProcs: 20")
    trace = load_trace(warehouse_of(tmp_path, text), "mine")
    logged = judging.LoggedJobs(trace.jobs(), judging.logged_waits(trace))
    assert judging._machines(trace, logged) == [Machine(20), Machine(16)]
