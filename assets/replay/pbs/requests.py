"""What the jobs of a log asked PBS for, as the simulator takes it."""

from __future__ import annotations

from simulator.pbs.requests import PbsJob, Piece
from traces.pbs.requests import Chunk, PbsRequest


def job_of_request(request: PbsRequest, submit_s: int) -> PbsJob:
    """A job of the simulator with what a record of PBS asks for. Dependencies, arrays and holds are for the caller to add."""
    return PbsJob(
        submit_s=submit_s,
        pieces=tuple(_piece(chunk) for chunk in request.chunks),
        walltime_s=request.walltime_s,
        arrangement=request.placement.arrangement,
        sharing=request.placement.sharing,
        queue="" if request.reservation else request.queue,
        user=request.user,
        group=request.group,
        project=request.project,
        account=request.account,
        reservation=request.reservation,
        priority=request.priority,
    )


def _piece(chunk: Chunk) -> Piece:
    amounts = {"ncpus": chunk.ncpus, "mem": chunk.memory_kb or 0, "ngpus": chunk.ngpus, **chunk.amounts}
    return Piece(chunk.count, {name: amount for name, amount in amounts.items() if amount}, chunk.words)
