"""Tests of assets/replaying/own/pbs: requests, unmodelled, way."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tracehouse
from assets.common.storage import open_warehouse
from assets.common.trace import load_trace
from assets.replaying.own.clusters import own_cluster_of
from assets.replaying.own.pbs.requests import pbs_jobs_of_rows
from assets.replaying.own.pbs.unmodelled import places_of_held_jobs, unmodelled_by_pbs, unread_by_pbs
from assets.replaying.own.pbs.way import pbs_runs
from assets.replaying.running.settings import REQUEST_LABELS
from simulator.jobs.cluster import Cluster
from simulator.pbs.requests import Piece
from tests.assets.replaying.own.homes import BEHIND, PBS_CLUSTER, own_home
from tests.shared import shared_file
from tests.simulator.busy import pbs_site, starts_on
from tests.traces.pbs.configuration.configurations import QMGR, write_configuration
from tracehouse.clusters import import_cluster
from traces.catalogue.catalogue import load_catalogue
from traces.cluster.accounts import Limit
from traces.pbs.configuration.folder import read_pbs_cluster

# requests: Requests of PBS as the simulator takes them.


def test_chunks_of_a_log_have_what_the_nodes_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", [(0, 0, 60, 100), (5, 5, 60, 100), (5, 5, 60, 100)], monkeypatch, PBS_CLUSTER)
    cluster = own_cluster_of(load_catalogue().source("mine"))
    assert cluster is not None
    rows = load_trace(open_warehouse(), "mine", labels=REQUEST_LABELS).rows.with_columns(
        job_id=pl.Series(["1.head", "2[1].head", "2[2].head"]),
        selected_chunks=pl.Series(["2:ncpus=2:mem=1gb:ompthreads=4:arch=linux+1:ncpus=1", "no chunk:", None]),
        place=pl.Series(["scatter:excl", "no place", None]),
    )

    (first, second, third), _ = pbs_jobs_of_rows(rows, cluster)

    assert first.pieces == (Piece(2, {"ncpus": 2, "mem": 1024 * 1024}), Piece(1, {"ncpus": 1}))
    assert (first.arrangement, first.sharing, first.array) == ("scatter", "excl", -1)
    assert second.pieces == third.pieces == (Piece(1, {"ncpus": 1, "mem": 100 * 1024}),)
    assert second.array == third.array >= 0 and (second.array_task, third.array_task) == (1, 2)


VNODES = """\
g1
     resources_available.host = g1
     resources_available.ncpus = 8
     resources_available.ngpus = 2
     resources_available.gpu_model = a100

g2
     resources_available.host = g2
     resources_available.ncpus = 8
     resources_available.ngpus = 2
     resources_available.gpu_model = v100
"""


def test_a_gpu_of_a_model_is_taken_from_the_node_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first job takes both GPUs of g1, so the one that names its model waits, and the one of the other model does not."""
    texts = {"pbsnodes__txt": VNODES, "qmgr__txt": QMGR.replace("nodetype", "gpu_model")}
    cluster = read_pbs_cluster(write_configuration(tmp_path, **texts), "two").description
    own_home(tmp_path / "home", [(k, 5, 600, 100) for k in range(3)], monkeypatch, PBS_CLUSTER)
    chunks = ["1:ncpus=1:ngpus=2", "1:ncpus=1:ngpus=1:gpu_model=a100", "1:ncpus=1:ngpus=2:gpu_model=v100"]
    rows = load_trace(open_warehouse(), "mine", labels=REQUEST_LABELS).rows.with_columns(
        selected_chunks=pl.Series(chunks), queue=pl.lit("short")
    )
    asked, _ = pbs_jobs_of_rows(rows, cluster)
    assert [job.pieces[0].words for job in asked] == [(), ("gpu_model=a100",), ("gpu_model=v100",)]
    start = starts_on(cluster, asked, [500, 500, 500])
    assert start[1] - start[0] >= 500 and start[2] - start[0] < 60


def test_a_reservation_that_is_no_longer_described_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", [(0, 0, 60, 100), (5, 5, 60, 100)], monkeypatch, PBS_CLUSTER)
    cluster = own_cluster_of(load_catalogue().source("mine"))
    assert cluster is not None
    rows = load_trace(open_warehouse(), "mine", labels=REQUEST_LABELS).rows
    reserved = rows.with_columns(queue=pl.lit("reservation"), reservation=pl.lit("R7.head"))

    asked, changed = pbs_jobs_of_rows(reserved, cluster)

    assert changed == {"jobs_without_their_reservation": 2}
    assert [(one.queue, one.reservation) for one in asked] == [("", "")] * 2
    with pytest.raises(ValueError, match="no queue 'reservation'"):
        pbs_jobs_of_rows(reserved.with_columns(reservation=pl.lit(None, pl.Utf8)), cluster)


# unmodelled: What a replay under PBS leaves out.

QUEUED = Limit("cluster", "", "submitted", "user", "jobs", 10)
COUNTED = Limit("cluster", "", "running", "user", "jobs", 10)


def test_rules_without_a_model_are_named() -> None:
    site = pbs_site((QUEUED, COUNTED), backfill_prime=True, job_sort_formula="fairshare_perc", round_robin=False)
    words = "\n".join(unmodelled_by_pbs(site))
    assert "backfill_prime=True" in words and "job_sort_formula=fairshare_perc" in words
    assert "1 limit on queued jobs: the log has only accepted jobs" in words and "round_robin" not in words
    soft = Limit("cluster", "", "running", "user", "jobs", 10, is_soft=True)
    assert unmodelled_by_pbs(pbs_site((COUNTED, soft), backfill_prime=True, prime_time="MO 0600-1730")) == []
    plain = pbs_site(node_sort_key='"ncpus HIGH unused"')
    parts = replace(plain, nodes=tuple(replace(node, host="h") for node in plain.nodes))
    assert [rule.partition(":")[0].partition("=")[0] for rule in unmodelled_by_pbs(parts)] == [
        "node_sort_key",
        "4 vnodes of 1 hosts",
    ]
    orders = pbs_site(preempt_order="SCR 80 S", preempt_prio="express_queue, fairshare+normal_jobs, normal_jobs")
    assert [rule.partition(":")[0] for rule in unmodelled_by_pbs(orders)] == ["preempt_order=SCR 80 S", "preempt_prio"]


def test_what_the_log_does_not_say_is_named() -> None:
    texts = {
        "selected_chunks": ["1:ncpus=1", None],
        "place": ["free:group=switch", None],
        "reservation": ["R7.head", None],
    }
    words = unread_by_pbs(pbs_site(()), pl.DataFrame(texts, schema=dict.fromkeys(texts, pl.Utf8)))
    assert [rule.split(":")[0] for rule in words] == [
        "chunks of 1 jobs and their placement",
        "place=group of 1 jobs",
        "reservations of 1 jobs",
    ]


@pytest.mark.parametrize(
    ("values", "is_said"), [({}, True), ({"strict_ordering": False}, False), ({"backfill_depth": 0}, False)]
)
def test_jobs_that_a_limit_holds_back_take_places(values: dict[str, Any], is_said: bool) -> None:
    assert bool(places_of_held_jobs(pbs_site((COUNTED,), **values))) == is_said
    assert places_of_held_jobs(pbs_site(())) == []


# way: Runs under the PBS of a described cluster.


def test_memory_holds_a_job_back_and_the_next_one_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", BEHIND, monkeypatch, PBS_CLUSTER)

    own = tracehouse.replay("mine", "pbs")

    start = own.replayed.schedule.start - own.replayed.jobs.submit[0]
    assert start.tolist() == [0, 10, 600, 600]
    assert own.summary["jobs_never_started"] == 0 and "not in the replay: chunks of 4 jobs" in str(own)


@pytest.mark.parametrize(("name", "most_s"), [("P5", 7.3), ("P7", 1.0)])
def test_a_recorded_run_is_replayed_as_near_as_pbs_to_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, most_s: float
) -> None:
    """Through the product: import of the configuration and of the reservations in the log, then a replay of the log."""
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "home"))
    folder = shared_file(f"golden/pbs/{name}/run1/sched_config").parent
    log = tmp_path / f"{name}.log"
    log.write_bytes(gzip.decompress((folder / "accounting.gz").read_bytes()))
    files = ("qmgr.txt", "qmgr_sched.txt", "sched_config", "resource_group", "pbsnodes.txt.gz")
    import_cluster([*(folder / file for file in files), log], "recorded")

    own = tracehouse.replay(str(log), cluster="recorded")

    run = own.replayed
    away = np.abs(run.schedule.start - run.rows["start_s"].to_numpy())
    assert away.mean() <= most_s
    assert [rule.partition("=")[0] for rule in own.summary["pbs"]["not_modelled"]] == ["node_fail_requeue"]
    assert bool(own.summary["pbs"]["remarks"]) == (name == "P5")  # it has limits


def test_the_second_half_of_a_recorded_run_is_nearer_than_from_an_idle_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "home"))
    folder = shared_file("golden/pbs/P5/run1/sched_config").parent
    log = tmp_path / "P5.log"
    log.write_bytes(gzip.decompress((folder / "accounting.gz").read_bytes()))
    files = ("qmgr.txt", "qmgr_sched.txt", "sched_config", "resource_group", "pbsnodes.txt.gz")
    import_cluster([*(folder / file for file in files), log], "recorded")
    away = {}
    for warm in (True, False):
        run = tracehouse.replay(str(log), cluster="recorded", window=(44, 45), warm_start=warm).replayed
        away[warm] = np.abs(run.schedule.start - run.rows["start_s"].to_numpy()).mean()
    assert away[True] < 0.5 * away[False]


def test_runs_differ_by_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", BEHIND, monkeypatch, PBS_CLUSTER)
    trace, cluster = (
        load_trace(open_warehouse(), "mine", labels=REQUEST_LABELS),
        own_cluster_of(load_catalogue().source("mine")),
    )
    assert cluster is not None
    runs = pbs_runs(cluster, trace.rows, 0, None)

    outcome = runs.replay(trace.jobs(), Cluster(8))

    away = [abs(other.start - outcome.schedule.start).max() for other in outcome.others]
    assert len(away) == 4 and max(away) == 1
    again = runs.run(trace.jobs(), Cluster(8), 1).schedule.start
    assert (again == outcome.others[0].start).all()
