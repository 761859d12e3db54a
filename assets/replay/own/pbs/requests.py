"""What the jobs of a log asked PBS for, as the simulator takes it."""

from __future__ import annotations

from typing import Any

import polars as pl

from assets.replay.settings import REQUEST_LABELS
from simulator.pbs.requests import PbsJob, Piece
from traces.cluster.description import ClusterDescription
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


def pbs_jobs_of_rows(rows: pl.DataFrame, cluster: ClusterDescription) -> tuple[list[PbsJob], dict[str, int]]:
    """The jobs of a trace as PBS gets them, and how many of them were changed, by why. rows: of a trace, with REQUEST_LABELS.

    A log has processors, nodes, memory and GPUs, but no chunks. So a job gets a chunk for each node that it asked for, as equal as can
    be. A job that was not eligible when it was submitted waits as long as in the log. A reservation that the cluster does not have is
    left out, and counted: its jobs are those of the default queue.

    Raises ValueError where a job is of a queue that the cluster does not have.
    """
    queues = {partition.name for partition in cluster.partitions}
    reservations = {name for each in cluster.reservations for name in (each.name, each.queue) if name}
    of_reservation = rows["queue"].is_in(sorted(reservations)) | rows["reservation"].is_not_null()
    strange = sorted({queue for queue in rows.filter(~of_reservation)["queue"].drop_nulls() if queue not in queues})
    if strange:
        raise ValueError(
            f"the cluster {cluster.name} has no queue {strange[0]!r}, which jobs of the log are in: leave them out with "
            f"--without-queue {strange[0]}, or add the queue to clusters/{cluster.name}.toml (`tracehouse cluster check`)"
        )
    wanted = ("submit_s", "requested_walltime_s", "requested_procs", "procs", "user_name", *REQUEST_LABELS)
    asked = [_job_of_row(row, reservations) for row in rows.select(wanted).iter_rows(named=True)]
    lost = sum(row is not None and row not in reservations for row in rows["reservation"])
    return asked, {"jobs_without_their_reservation": lost} if lost else {}


def _job_of_row(row: dict[str, Any], reservations: set[str]) -> PbsJob:
    nodes = max(row["requested_nodes"] or row["nodes"] or 1, 1)
    cpus = max(row["requested_procs"] or row["procs"], 1)
    nodes = min(nodes, cpus)
    reservation = next((name for name in (row["reservation"], row["queue"]) if name in reservations), "")
    held_s = 0
    if row["eligible_time"] is not None:
        held_s = max(int((row["eligible_time"] - row["submit_time"]).total_seconds()), 0)
    walltime_s = row["requested_walltime_s"]
    return PbsJob(
        submit_s=row["submit_s"],
        pieces=_equal_pieces(nodes, cpus, row["gpus"] or 0, row["requested_memory_kb"] or 0),
        walltime_s=walltime_s if walltime_s is not None and walltime_s > 0 else None,
        sharing="excl" if row["is_exclusive"] else "",
        queue="" if reservation or row["reservation"] is not None else row["queue"] or "",
        user=row["user_name"] or "",
        account=row["account"] or "",
        reservation=reservation,
        begin_s=row["submit_s"] + held_s,
    )


def _equal_pieces(nodes: int, cpus: int, gpus: int, memory_kb: int) -> tuple[Piece, ...]:
    """A chunk for each node. Those in front have one processor or GPU more where they do not divide."""
    chunks: dict[tuple[int, int], int] = {}
    for node in range(nodes):
        amounts = (cpus // nodes + (node < cpus % nodes), gpus // nodes + (node < gpus % nodes))
        chunks[amounts] = chunks.get(amounts, 0) + 1
    memory = -(-memory_kb // nodes)
    return tuple(
        Piece(
            count,
            {name: amount for name, amount in (("ncpus", of_cpus), ("mem", memory), ("ngpus", of_gpus)) if amount},
        )
        for (of_cpus, of_gpus), count in chunks.items()
    )
