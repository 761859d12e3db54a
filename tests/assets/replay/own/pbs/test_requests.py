"""Requests of PBS as the simulator takes them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from assets.common.storage import open_warehouse
from assets.common.trace import load_trace
from assets.replay.own.clusters import own_cluster_named
from assets.replay.own.pbs.requests import job_of_request, pbs_jobs_of_rows
from assets.replay.settings import REQUEST_LABELS
from simulator.pbs.requests import Piece
from tests.assets.replay.own.homes import PBS_CLUSTER, own_home
from traces.pbs.requests import pbs_request_of


def test_chunks_and_placement_of_a_record() -> None:
    attributes = {
        "user": "ann",
        "queue": "R7",
        "resvID": "R7.head",
        "Resource_List.select": "2:ncpus=8:mem=12gb+1:ncpus=2:ngpus=2",
        "Resource_List.place": "scatter:excl",
        "Resource_List.walltime": "00:01:30",
    }
    job = job_of_request(pbs_request_of(attributes), 5)
    assert job.pieces == (Piece(2, {"ncpus": 8, "mem": 12 * 1024 * 1024}), Piece(1, {"ncpus": 2, "ngpus": 2}))
    assert (job.submit_s, job.walltime_s, job.arrangement, job.sharing) == (5, 90, "scatter", "excl")
    assert (job.queue, job.reservation, job.user) == ("", "R7.head", "ann")


def test_chunks_of_a_log_have_what_the_nodes_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", [(0, 0, 60, 100), (5, 5, 60, 100), (5, 5, 60, 100)], monkeypatch, PBS_CLUSTER)
    cluster = own_cluster_named("mine")
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


def test_a_reservation_that_is_no_longer_described_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", [(0, 0, 60, 100), (5, 5, 60, 100)], monkeypatch, PBS_CLUSTER)
    cluster = own_cluster_named("mine")
    assert cluster is not None
    rows = load_trace(open_warehouse(), "mine", labels=REQUEST_LABELS).rows
    reserved = rows.with_columns(queue=pl.lit("reservation"), reservation=pl.lit("R7.head"))

    asked, changed = pbs_jobs_of_rows(reserved, cluster)

    assert changed == {"jobs_without_their_reservation": 2}
    assert [(one.queue, one.reservation) for one in asked] == [("", "")] * 2
    with pytest.raises(ValueError, match="no queue 'reservation'"):
        pbs_jobs_of_rows(reserved.with_columns(reservation=pl.lit(None, pl.Utf8)), cluster)
