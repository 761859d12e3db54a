"""What the jobs of a log asked Slurm for, as the simulator takes it."""

from __future__ import annotations

from typing import Any

import polars as pl

from assets.replaying.own.dependencies import held_s, with_dependencies
from assets.replaying.own.kept_requests import kept_for_rows
from assets.replaying.running.settings import REQUESTED_OF_JOBS
from simulator.cluster.requests import Request
from traces.cluster.description import ClusterDescription

KIB_PER_MIB = 1024


@kept_for_rows
def requests_of_rows(rows: pl.DataFrame, cluster: ClusterDescription) -> tuple[list[Request], dict[str, int]]:
    """The requests of jobs, and how many of them were changed, by why. rows: of a trace, with REQUESTED_OF_JOBS.

    A log has CPUs and nodes, but no tasks. So a job gets its CPUs as single tasks on as many nodes as it asked for, evenly where they can
    be. A job waits for those that it names (`with_dependencies`). One that was not eligible for another reason when it was submitted is
    held for as long as in the log. A QOS, a reservation or a type of GPUs that the cluster does not have is left out, and counted: such
    GPUs may be of any type. With a feature that no node has a job never starts.

    Raises ValueError where a job is of a partition that the cluster does not have.
    """
    strange = sorted({queue for queue in rows["queue"].drop_nulls().unique() if not cluster.has_queue(queue)})
    if strange:
        raise ValueError(
            f"the cluster {cluster.name} has no partition {strange[0]!r}, which jobs of the log are in: leave them out with "
            f"--without-queue {strange[0]}, or add the partition to clusters/{cluster.name}.toml (`tracehouse cluster check`)"
        )
    of_cluster = {
        "qos": {quality.name for quality in cluster.qualities},
        "reservation": {reservation.name for reservation in cluster.reservations},
    }
    left_out: dict[str, int] = {}
    for column, names in of_cluster.items():
        is_strange = rows[column].is_not_null() & ~rows[column].is_in(sorted(names))
        if is_strange.any():
            left_out[f"jobs_without_their_{column}"] = int(is_strange.sum())
            rows = rows.with_columns(pl.when(pl.Series(is_strange)).then(None).otherwise(pl.col(column)).alias(column))
    wanted = ("submit_s", "requested_walltime_s", "requested_procs", "procs", "user_name", *REQUESTED_OF_JOBS)
    types = {kind.lower(): kind for node in cluster.nodes for kind in node.gpus}
    asked = []
    for row in rows.select(wanted).iter_rows(named=True):
        named = gpus_by_type(row["requested_gpu_types"], row["gpus"] or 0)
        # accounting may write a type in another case than the nodes have it
        gpus = {types.get(kind.lower(), kind): count for kind, count in named.items()}
        strange_gpus = sum(count for kind, count in gpus.items() if kind and kind.lower() not in types)
        if strange_gpus:
            left_out["jobs_without_their_gpu_type"] = left_out.get("jobs_without_their_gpu_type", 0) + 1
            gpus = {kind: count for kind, count in gpus.items() if kind.lower() in types} | {
                "": gpus.get("", 0) + strange_gpus
            }
        asked.append(_request(row, gpus))
    return with_dependencies(asked, rows), left_out


def _request(row: dict[str, Any], gpus: dict[str, int]) -> Request:
    nodes, held = row["requested_nodes"] or row["nodes"] or 1, row["nodes"] or 0
    is_unknown = row["requested_nodes"] is None and row["nodes"] is None
    is_free = is_unknown or (nodes == 1 and held > 1)  # it gave no number of nodes, and got several
    cpus = row["requested_procs"] or row["procs"]
    per = row["memory_per"] if row["memory_per"] in ("node", "cpu", "gpu") else "node"
    share = {"node": nodes, "cpu": cpus, "gpu": max(sum(gpus.values()), 1)}[per]
    limit = row["requested_walltime_s"]
    return Request(
        submit_s=row["submit_s"],
        limit_s=limit if limit is not None and limit > 0 else None,
        min_nodes=0 if is_free else nodes,
        max_nodes=0 if is_free else max(nodes, held),
        cpus=cpus,
        tasks_per_node=cpus // nodes if nodes > 1 and cpus % nodes == 0 else 0,
        memory_mib=-(-(row["requested_memory_kb"] or 0) // (KIB_PER_MIB * share)),
        memory_per=per,
        gpus=gpus,
        gpus_per="job",
        features=row["features"] or "",
        exclusive=bool(row["is_exclusive"]),
        partitions=() if row["queue"] is None else (row["queue"],),
        qos=row["qos"] or "",
        account=row["account"] or "",
        user=row["user_name"] or "",
        reservation=row["reservation"] or "",
        begin_s=row["submit_s"] + held_s(row),
    )


def gpus_by_type(text: str | None, count: int) -> dict[str, int]:
    """GPUs of a job by type, of a text such as `a100=2,v100=1`. Those that have no type there are of the type ""."""
    typed = {name: int(number) for name, _, number in (word.partition("=") for word in (text or "").split(",") if word)}
    untyped = count - sum(typed.values())
    return {**typed, "": untyped} if untyped > 0 else typed
