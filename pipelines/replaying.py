"""`tracehouse replay`: a log or a source, a policy, and what comes of it."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import polars as pl

from assets.ingest import write_jobs, write_raw_log
from assets.reading import COMMAND_LINE, read_source
from assets.storage import open_warehouse
from assets.trace import Trace, load_trace
from traces.catalogue import Source, load_catalogue
from warehouse import Warehouse, first_row


@dataclass(frozen=True)
class Replayed:
    """summary: settings, counts and metrics by name; schedule: job_id, submit_time, start_time, runtime_s, procs in replay
    order, times in the log's own seconds."""

    summary: dict[str, Any]
    schedule: pl.DataFrame


def replay_trace(trace_or_source: str, policy: str, backfill: str, estimates: str, procs: int | None) -> Replayed:
    """Replays every job of a log (an existing path) or of a source.

    procs: overrides the cluster's size. Raises LogError, CatalogueError or ValueError with the remedy.
    """
    from simulator.metrics import SEMANTICS, metrics
    from simulator.replay import replay

    trace = _load(trace_or_source, procs, estimates)
    cluster_procs = procs or trace.cluster_procs
    from_log = bool(trace_or_source) and Path(trace_or_source).exists()
    name, weights, seen = _policy(policy, trace_or_source, from_log)
    if not procs:
        warn_of_peak(trace.cluster_procs, trace.cluster_procs_from)
    jobs = trace.jobs(estimates)
    widest = int(np.argmax(jobs.procs))
    if jobs.procs[widest] > cluster_procs:
        raise ValueError(
            f"{trace_or_source}: job {trace.rows['job_id'][widest]} needs {jobs.procs[widest]} processors, the cluster has "
            f"{cluster_procs}: give --procs {jobs.procs[widest]} or more"
        )
    schedule = replay(jobs, cluster_procs, name, backfill, weights)
    summary = {
        "trace": trace_or_source,
        "policy": policy if name == "learned" else name,
        "backfill": backfill,
        "estimates": estimates,
        "procs": cluster_procs,
        "procs_from": COMMAND_LINE if procs else trace.cluster_procs_from,
        "jobs": len(jobs),
        "jobs_left_out": trace.jobs_left_out,
        **({"jobs_predicted_by_model": trace.jobs_predicted_by_model} if estimates == "predicted" else {}),
        **({"jobs_seen_in_training": min(seen, len(jobs))} if name == "learned" else {}),
        **metrics(jobs, schedule, cluster_procs),
        "semantics": SEMANTICS,
    }
    rows = pl.DataFrame(
        {
            "job_id": trace.rows["job_id"],
            "submit_time": jobs.submit,
            "start_time": schedule.start,
            "runtime_s": jobs.runtime,
            "procs": jobs.procs,
        }
    )
    return Replayed(summary, rows)


def warn_of_peak(cluster_procs: int, cluster_procs_from: str) -> None:
    """Tells the user when the size of the cluster is a guess: a cluster that was never full looks too small."""
    if cluster_procs_from == "peak":
        click.secho(
            f"cluster size unknown: took the peak of processors in use ({cluster_procs}); give --procs for the true size",
            fg="yellow",
            err=True,
        )


def _load(trace_or_source: str, procs: int | None, estimates: str) -> Trace:
    path = Path(trace_or_source)
    if trace_or_source and path.exists():
        if estimates == "predicted":
            raise ValueError(
                f"{path}: a log has no predicted run times: add it with `tracehouse ingest {path} --name NAME`, train with "
                "`tracehouse run --source NAME`, then replay NAME"
            )
        return _load_log(Source(path.name, "auto", path, procs, declared_at=COMMAND_LINE))
    looks_like_a_path = "/" in trace_or_source or path.suffix in (".swf", ".gz", ".zst", ".log")
    catalogue = load_catalogue()
    if looks_like_a_path and trace_or_source not in catalogue.sources:
        raise ValueError(f"{trace_or_source}: no such log file, and no source of that name (see `tracehouse sources`)")
    source = catalogue.source(trace_or_source)
    warehouse = open_warehouse()
    if warehouse.path.exists():
        with warehouse.read() as connection:
            known = first_row(connection, "SELECT 1 FROM core.sources WHERE source = ?", [source.name])
        if known:
            return load_trace(warehouse, source.name)
    if estimates == "predicted":
        raise ValueError(
            f"source {source.name!r} has no predicted run times yet: `tracehouse run --source {source.name}`"
        )
    return _load_log(source)


def _load_log(source: Source) -> Trace:
    """The trace of a log that is not in the warehouse: it goes through one of its own, so that all rules are the same."""
    with tempfile.TemporaryDirectory(prefix="tracehouse-") as folder:
        warehouse = Warehouse(Path(folder) / "one-log.duckdb")
        write_raw_log(warehouse, read_source(source))
        write_jobs(warehouse, source.name)
        return load_trace(warehouse, source.name)


def _policy(policy: str, source: str, from_log: bool) -> tuple[str, Any, int]:
    """(policy name of the simulator, weights or None, jobs of this trace open to its training); names in any case."""
    from simulator.policies import RIVALS

    names = {name.lower(): name for name in (*RIVALS, "learned")}
    name = names.get(policy.lower())
    if name == "learned":
        if from_log:
            raise ValueError(
                f"{source}: a log has no learned policy of its own: give a policy file (--policy FILE.json), or add the log "
                f"with `tracehouse ingest {source} --name NAME` and train with `tracehouse run --source NAME`"
            )
        from assets.replay import learned_policies

        policy_of_source = next(found for found in learned_policies(open_warehouse(), source) if found.chosen)
        return name, policy_of_source.weights, policy_of_source.trained_jobs
    if name is not None:
        return name, None, 0
    if Path(policy).exists() or policy.endswith(".json"):
        from models.scheduling_policy import load_policy

        weights, card = load_policy(Path(policy))
        return "learned", weights, card.get("trained_jobs", 0) if card.get("source") == source and not from_log else 0
    raise ValueError(
        f"unknown policy {policy!r}; expected one of {', '.join(names.values())}, or a policy file (.json)"
    )
