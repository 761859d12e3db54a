"""What the jobs of a log asked PBS for, as the simulator takes it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import polars as pl

from assets.replaying.own.dependencies import held_s, with_dependencies
from assets.replaying.own.kept_requests import kept_for_rows
from assets.replaying.running.settings import REQUEST_LABELS
from simulator.pbs.requests import PbsJob, Piece
from traces.cluster.description import ClusterDescription
from traces.pbs.requests import Chunk, JobPlacement, chunks_of_select, place_of

_TASK = re.compile(r"(\d+)\[(\d+)\]")


def piece_of(chunk: Chunk) -> Piece:
    """A chunk as the simulator takes it."""
    amounts = {"ncpus": chunk.ncpus, "mem": chunk.memory_kb or 0, "ngpus": chunk.ngpus, **chunk.amounts}
    return Piece(chunk.count, {name: amount for name, amount in amounts.items() if amount}, chunk.words)


@kept_for_rows
def pbs_jobs_of_rows(rows: pl.DataFrame, cluster: ClusterDescription) -> tuple[list[PbsJob], dict[str, int]]:
    """The jobs of a trace as PBS gets them, and how many of them were changed, by why. rows: of a trace, with REQUEST_LABELS.

    A job without chunks in its log gets one for each node that it asked for, as equal as can be, and one for each CPU where the log does
    not tell nodes and none is as large. What PBS does not schedule by, because no node has any of it, is left out of chunks. A job waits
    for those that it names (`with_dependencies`). One that was not eligible for another reason when it was submitted waits as long as in
    the log. A reservation that the cluster does not have is left out: its jobs are those of the default queue.

    Raises ValueError where a job is of a queue that the cluster does not have.
    """
    reservations = reserved_names(cluster)
    of_reservation = rows["queue"].is_in(sorted(reservations)) | rows["reservation"].is_not_null()
    names = rows.filter(~of_reservation)["queue"].drop_nulls().unique()
    strange = sorted({queue for queue in names if not cluster.has_queue(queue)})
    if strange:
        raise ValueError(
            f"the cluster {cluster.name} has no queue {strange[0]!r}, which jobs of the log are in: leave them out with "
            f"--without-queue {strange[0]}, or add the queue to clusters/{cluster.name}.toml (`tracehouse cluster check`)"
        )
    counted = {"ncpus", "mem", "ngpus", *(name for node in cluster.nodes for name in node.resources)}
    keys = {"host", "vnode", *(word.partition("=")[0] for node in cluster.nodes for word in node.features)}
    pieces_of = lru_cache(maxsize=None)(partial(_selected_pieces, counted=counted, keys=keys))
    wanted = ("job_id", "submit_s", "requested_walltime_s", "requested_procs", "procs", "user_name", *REQUEST_LABELS)
    largest = max((node.cpus for node in cluster.nodes), default=1)
    asked = [_job_of_row(row, reservations, pieces_of, largest) for row in rows.select(wanted).iter_rows(named=True)]
    lost = without_reservation(rows, cluster)
    return with_dependencies(_in_arrays(asked, rows["job_id"]), rows), {
        "jobs_without_their_reservation": lost
    } if lost else {}


def without_reservation(rows: pl.DataFrame, cluster: ClusterDescription) -> int:
    """How many jobs are of reservations that the cluster does not have. rows: with REQUEST_LABELS."""
    return int((rows["reservation"].is_not_null() & ~rows["reservation"].is_in(sorted(reserved_names(cluster)))).sum())


def reserved_names(cluster: ClusterDescription) -> set[str]:
    """The names of reservations, and of their queues."""
    return {name for each in cluster.reservations for name in (each.name, each.queue) if name}


def _job_of_row(
    row: dict[str, Any],
    reservations: set[str],
    pieces_of: Callable[[str], tuple[Piece, ...] | None],
    largest: int,
) -> PbsJob:
    """largest: CPUs of the largest node."""
    cpus = max(row["requested_procs"] or row["procs"], 1)
    nodes = max(row["requested_nodes"] or row["nodes"] or (1 if cpus <= largest else cpus), 1)
    reservation = next((name for name in (row["reservation"], row["queue"]) if name in reservations), "")
    walltime_s = row["requested_walltime_s"]
    pieces = pieces_of(row["selected_chunks"]) if row["selected_chunks"] else None
    placement = _placement(row["place"])
    return PbsJob(
        submit_s=row["submit_s"],
        pieces=pieces or _equal_pieces(min(nodes, cpus), cpus, row["gpus"] or 0, row["requested_memory_kb"] or 0),
        walltime_s=walltime_s if walltime_s is not None and walltime_s > 0 else None,
        arrangement=placement.arrangement,
        sharing=placement.sharing or ("excl" if row["is_exclusive"] else ""),
        queue="" if reservation or row["reservation"] is not None else row["queue"] or "",
        user=row["user_name"] or "",
        project=row["project"] or "",
        account=row["account"] or "",
        reservation=reservation,
        begin_s=row["submit_s"] + held_s(row),
    )


def _selected_pieces(text: str, counted: set[str], keys: set[str]) -> tuple[Piece, ...] | None:
    """The chunks of a text of select, by what nodes have: `counted` amounts, and words with these `keys`. None for a text that is none."""
    try:
        chunks = chunks_of_select(text)
    except ValueError:
        return None
    pieces = (piece_of(chunk) for chunk in chunks)
    return tuple(
        Piece(
            each.count,
            {name: amount for name, amount in each.amounts.items() if name in counted},
            tuple(word for word in each.words if word.partition("=")[0] in keys),
        )
        for each in pieces
    )


def _placement(text: str | None) -> JobPlacement:
    try:
        return place_of(text) if text else JobPlacement()
    except ValueError:
        return JobPlacement()


def _in_arrays(asked: list[PbsJob], ids: pl.Series) -> list[PbsJob]:
    """The jobs, with tasks of the same array as such. ids: of jobs, `35[3].head` of tasks."""
    arrays: dict[tuple[str, int], int] = {}
    for k, name in enumerate(ids):
        if task := _TASK.match(name):
            array = arrays.setdefault((task[1], asked[k].submit_s), len(arrays))
            asked[k] = replace(asked[k], array=array, array_task=int(task[2]))
    return asked


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
