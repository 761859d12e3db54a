"""Requests of PBS as the simulator takes them."""

from __future__ import annotations

from assets.replay.pbs.requests import job_of_request
from simulator.pbs.requests import Piece
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
