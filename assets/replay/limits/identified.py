"""Rules that a log shows: the log as the search takes it, and what it finds as a cluster file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC

import numpy as np
import polars as pl

from assets.common.progress import progress_bar
from assets.common.trace import Trace
from assets.replay.limits.named import clock_zero_s
from models.identification.descriptions import DescribedRules, described_rules
from models.identification.identify import Advance, Identification, identify_rules
from models.identification.logged_jobs import Holders, StartedJobs
from traces.cluster.description import ClusterDescription
from traces.cluster.nodes import Node
from traces.cluster.remarks import DescribedCluster

SCOPE_COLUMNS = {"user": "user_name", "account": "account", "group": "group_name", "queue": "queue"}
"""Scopes of rules, and their columns of core.jobs."""
_BAR_STEPS = 100


def logged_jobs(trace: Trace) -> StartedJobs:
    """The jobs of a trace whose starts the log has. trace: with the columns of SCOPE_COLUMNS; a scope that says the same of every job as
    the one before it is left out."""
    rows = trace.rows.filter(
        pl.col("cancel_s").is_null(), pl.col("start_s").is_not_null(), pl.col("start_s") >= pl.col("submit_s")
    )
    holders: dict[str, Holders] = {}
    for scope, column in SCOPE_COLUMNS.items():
        if rows[column].null_count() == rows.height:
            continue
        number = (rows[column].rank("dense").cast(pl.Int64) - 1).fill_null(-1).to_numpy().copy()
        names = tuple(rows[column].drop_nulls().unique().sort().to_list())
        if not any(_same_parts(number, other.number) for other in holders.values()):
            holders[scope] = Holders(number, names)
    zero_s = int(trace.clock_zero.replace(tzinfo=UTC).timestamp()) if trace.has_calendar else None
    return StartedJobs(trace.jobs_of(rows), rows["start_s"].to_numpy(), holders, zero_s, trace.time_zone)


def _same_parts(number: np.ndarray, other: np.ndarray) -> bool:
    """Whether two columns part the jobs alike."""
    pairs = len(np.unique(np.stack([number, other]), axis=1).T)
    return pairs == len(np.unique(number)) == len(np.unique(other))


def rules_of_trace(trace: Trace, declared: ClusterDescription | None, procs: int | None, budget: int) -> Identification:
    """The rules that a trace shows, with a progress bar. declared: what is taken and not searched. procs: of the cluster, None for the
    trace's. Raises ValueError as `identify_rules` does."""
    with _bar() as advance:
        return identify_rules(logged_jobs(trace), procs or trace.cluster_procs, declared, budget, advance)


@contextmanager
def _bar() -> Iterator[Advance]:
    with progress_bar("rules", _BAR_STEPS) as bar:
        done = 0

        def advance(share: float, step: str) -> None:
            nonlocal done
            steps = int(share * _BAR_STEPS) - done
            done += max(steps, 0)
            bar.update(max(steps, 0))

        yield advance


def found_rules(trace: Trace, identification: Identification) -> DescribedRules:
    """The rules as a cluster file has them."""
    return described_rules(identification.rules, clock_zero_s(trace), int(trace.rows["submit_s"][0]))


def found_cluster(trace: Trace, identification: Identification) -> DescribedCluster:
    """A cluster of one node with all processors, under the found rules alone."""
    rules = found_rules(trace, identification)
    description = ClusterDescription(
        trace.source,
        (Node("all", identification.procs),),
        limits=rules.limits,
        gates=rules.gates,
        reservations=rules.reservations,
    )
    return DescribedCluster(description, ())
