"""Rules that a log shows: the log as the search takes it, and what it finds as a cluster file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.common.progress import progress_bar
from assets.common.trace import Trace
from assets.replaying.limits.way import clock_zero_s
from models.identification.closed_hours import STEP_MINUTES
from models.identification.identify import Advance, Identification, identify_rules
from models.identification.logged_jobs import Holders, StartedJobs
from models.identification.replaying import DescribedRules, described_rules
from models.judging.fidelity import NO_REACTION, Reacting
from traces.cluster.description import ClusterDescription, Gate, Node, SchedulerSettings
from traces.cluster.notes import DescribedCluster

SCOPE_COLUMNS = {"user": "user_name", "account": "account", "group": "group_name", "queue": "queue"}
"""Scopes of rules, and their columns of core.jobs."""
QUEUE_SHARE = 0.75
"""Least part of the hours of long or wide jobs in which none of their queue starts, if they are the queue's."""
_BAR_STEPS = 100


def logged_jobs(trace: Trace, reacting: Reacting = NO_REACTION) -> StartedJobs:
    """The jobs of a trace whose starts the log has. trace: with the columns of SCOPE_COLUMNS; a scope that says the same of every job as
    the one before it is left out. reacting: the users of the source."""
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
    return StartedJobs(trace.jobs_of(rows), rows["start_s"].to_numpy(), holders, zero_s, trace.time_zone, reacting)


def _same_parts(number: np.ndarray, other: np.ndarray) -> bool:
    """Whether two columns part the jobs alike."""
    pairs = len(np.unique(np.stack([number, other]), axis=1).T)
    return pairs == len(np.unique(number)) == len(np.unique(other))


def rules_of_trace(
    trace: Trace,
    declared: ClusterDescription | None,
    procs: int | None,
    budget: int,
    reacting: Reacting = NO_REACTION,
) -> Identification:
    """The rules that a trace shows, with a progress bar. declared: what is taken and not searched. procs: of the cluster, None for the
    trace's. reacting: the users of the source, who cap its grades. Raises ValueError as `identify_rules` does."""
    with _bar() as advance:
        return identify_rules(logged_jobs(trace, reacting), procs or trace.cluster_procs, declared, budget, advance)


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


def found_cluster(trace: Trace, identification: Identification, by_queue: bool = False) -> DescribedCluster:
    """A cluster of one node with all processors, under the found rules alone. by_queue: as `gates_of_queues`, for schedulers that know no
    other gates. trace: with the columns of SCOPE_COLUMNS."""
    rules = found_rules(trace, identification)
    description = ClusterDescription(
        trace.source,
        (Node("all", identification.procs),),
        scheduler=SchedulerSettings(order=rules.order),
        limits=rules.limits,
        gates=tuple(gates_of_queues(trace, rules.gates)) if by_queue else rules.gates,
        reservations=rules.reservations,
    )
    return DescribedCluster(description, ())


def gates_of_queues(trace: Trace, gates: Iterable[Gate]) -> Iterator[Gate]:
    """The gates, and in place of one that holds long or wide jobs one of each queue that these are in, where no job of such a queue starts
    in its hours, or only near their begin and end. Then the hours are those between. trace: with queues."""
    starts = pl.lit(trace.clock_zero) + pl.duration(seconds="start_s")
    for gate in gates:
        local = starts.dt.replace_time_zone("UTC").dt.convert_time_zone(gate.timezone)
        minute = local.dt.hour().cast(pl.Int32) * 60 + local.dt.minute()
        is_closed = (local.dt.weekday() - 1).is_in(gate.days) & minute.is_between(
            gate.begin_minute, gate.end_minute, closed="left"
        )
        is_held = pl.lit(True)
        for column, amount in (("requested_walltime_s", gate.over_time_s), ("procs", gate.over_cpus)):
            is_held &= pl.lit(True) if amount is None else pl.col(column) > amount
        queues = trace.rows.filter(is_held)["queue"].unique().sort().to_list()
        inside = trace.rows.filter(pl.col("queue").is_in([queue for queue in queues if queue]), is_closed)
        begin, end = _hours_without(
            inside.select(minute=minute)["minute"].to_numpy(), gate.begin_minute, gate.end_minute
        )
        length = gate.end_minute - gate.begin_minute
        if gate.partition or length <= 0 or end - begin < QUEUE_SHARE * length or None in queues or not queues:
            yield gate
        else:
            of_queues = replace(gate, begin_minute=begin, end_minute=end, over_time_s=None, over_cpus=None)
            yield from (replace(of_queues, partition=queue) for queue in queues)


def _hours_without(starts: NDArray[np.int32], begin: int, end: int) -> tuple[int, int]:
    """The part of a span, minutes of the day, between the steps of the search in which jobs start."""
    early = starts < (begin + end) / 2
    begin = max(begin, (int(starts[early].max(initial=-1)) // STEP_MINUTES + 1) * STEP_MINUTES)
    return begin, min(end, int(starts[~early].min(initial=end)) // STEP_MINUTES * STEP_MINUTES)
