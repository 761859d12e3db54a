"""What kept jobs waiting: hours of waiting by cause, of the log's own starts or of those of a replay.

The starts and ends are given. Under them a look at the queue, at every change, says what keeps each job that waits: a rule, a
resource, or jobs of higher priority. So the causes of a job add up to its wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import numpy as np
import polars as pl

from assets.common.trace import load_trace, with_labels
from assets.replaying.limits.way import clock_zero_s
from assets.replaying.own.pbs.waiting import followed_pbs
from assets.replaying.own.slurm.requests import requests_of_rows
from assets.replaying.own.slurm.standing import QueueState
from assets.replaying.own.waiting_rules import (
    FollowedWaits,
    WaitingRules,
    limit_texts,
    starts_of_log,
    waiting_rules,
)
from assets.replaying.running.replayers import choose_policy
from assets.replaying.running.run import replay_run
from assets.replaying.running.settings import REQUEST_LABELS, REQUESTED_OF_JOBS
from assets.replaying.site import site_of
from assets.usage.cluster_check import described_cluster
from assets.usage.waits_and_waste import submitted_in
from models.waits.clock import LogClock
from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import request_arrays
from simulator.limits.rules import gate_changes
from simulator.slurm.limits import numbered_limits
from simulator.slurm.waiting.following import GivenSchedule, KeptWaits, follow_schedule
from simulator.slurm.waiting.words import CAUSES
from traces.cluster.accounts import Limit
from traces.common.pseudonyms import pseudonym_hint
from warehouse import Warehouse, first_row

CAUSE_COLUMNS = tuple(f"{cause.name}_s" for cause in CAUSES.values())
CAUSES_TABLE = "marts.job_wait_causes"
MOST_EXPLAINED_JOBS = 2_000_000
"""Longer logs have no rows, since they would take many minutes: `tracehouse why` has them."""
_STORED = f"""
SELECT causes.*, jobs.user_name AS user, jobs.account, jobs.queue, jobs.qos
FROM {CAUSES_TABLE} AS causes INNER JOIN core.jobs AS jobs USING (source, job_index)
WHERE source = $source AND starts = 'log'
"""
_IS_UNSEEN = "(wait_s IS NULL)"
"""A job of which the log does not say from when it ran, or until when it was in the queue: nobody knows whether it waited."""
_JOBS = f"""
SELECT
    job_index, job_id, status, user_name, epoch(submit_time)::BIGINT AS submit_s, epoch(start_time)::BIGINT AS start_s,
    epoch(end_time)::BIGINT AS end_s, coalesce(procs, requested_procs, 1) AS procs, requested_procs,
    requested_walltime_s, group_name, executable, {", ".join(name for name in REQUESTED_OF_JOBS)}
FROM core.jobs WHERE source = $source AND NOT {_IS_UNSEEN} ORDER BY job_index
"""
_NODES = "SELECT job_index, node_name, procs FROM core.job_nodes WHERE source = $source ORDER BY job_index, node_name"


@dataclass(frozen=True)
class WaitCauses:
    """jobs: job_index, job_id, user, account, queue, qos, submit_s, start_s (null for a job that did not start) and wait_s. Then
    the seconds of CAUSE_COLUMNS, which add up to wait_s. behind_job, behind_user and behind_s: the job that it was behind longest at
    one go. limit: in words. basis: by which rules, in words. odd_layouts: jobs that started where they cannot by these rules.
    left_out: jobs that were changed or are not there, by why. state: of Slurm's shares and priorities at the last moment, where one was
    asked for."""

    jobs: pl.DataFrame
    basis: str
    odd_layouts: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    state: QueueState | None = None

    def of(self, rows: pl.DataFrame | None = None) -> pl.DataFrame:
        """cause, hours and jobs (that waited for it), of some of the jobs or of all. Causes nobody waited for are left out."""
        rows = self.jobs if rows is None else rows
        sums = [
            {"cause": cause.name, "hours": (rows[column].sum() or 0) / 3600, "jobs": int((rows[column] > 0).sum())}
            for cause, column in zip(CAUSES.values(), CAUSE_COLUMNS, strict=True)
        ]
        schema = {"cause": pl.Utf8, "hours": pl.Float64, "jobs": pl.Int64}
        return pl.DataFrame([row for row in sums if row["jobs"]], schema=schema)

    def by_group(self, rows: pl.DataFrame, kind: str) -> pl.DataFrame:
        """value (of user, account, queue or qos), jobs, hours, the cause of most of these hours, and its share; those with most hours
        first. Empty where the log names none."""
        named = rows.filter(pl.col(kind).is_not_null(), pl.col("wait_s") > 0)
        sums = named.group_by(value=kind).agg(
            jobs=pl.len(), hours=pl.col("wait_s").sum() / 3600, **{name: pl.col(name).sum() for name in CAUSE_COLUMNS}
        )
        most = pl.max_horizontal(CAUSE_COLUMNS)
        names = [cause.name for cause in CAUSES.values()]
        return sums.select(
            "value",
            "jobs",
            "hours",
            cause=pl.concat_list(CAUSE_COLUMNS).list.arg_max().replace_strict(dict(enumerate(names))),
            share=most / 3600 / pl.col("hours"),
        ).sort("hours", "value", descending=[True, False])

    def limits(self, rows: pl.DataFrame) -> pl.DataFrame:
        """limit (in words), jobs that it kept last, and hours that limits kept them; those with most hours first."""
        kept = rows.filter(pl.col("limit").is_not_null())
        sums = kept.group_by("limit").agg(jobs=pl.len(), hours=pl.col("limit_s").sum() / 3600)
        return sums.sort("hours", "limit", descending=[True, False])


def wait_causes(warehouse: Warehouse, source: str, replayed: bool = False) -> WaitCauses:
    """What kept the jobs of a source. replayed: in the first replay of its site in place of the log's starts.

    Raises ValueError where the source has no jobs or none with a known start, as `causes_of`, and as `replayed_log`."""
    rows, nodes = jobs_and_nodes(warehouse, source)
    with warehouse.read() as connection:
        counted = first_row(connection, f"SELECT count(*) FROM core.jobs WHERE source = ? AND {_IS_UNSEEN}", [source])
    unseen = counted[0] if counted else 0
    if rows.is_empty() and unseen:
        raise ValueError(
            f"the log of source {source!r} does not say when its jobs started, so nobody knows whether they waited"
        )
    if rows.is_empty():
        raise ValueError(f"source {source!r} has no jobs: load it with `tracehouse run {source}`")
    left_out = {"jobs_whose_wait_the_log_does_not_say": unseen} if unseen else {}
    if replayed:
        logged = rows.height
        rows, nodes = replayed_log(warehouse, source, rows)
        left_out |= {"jobs_of_the_log_that_no_replay_has": logged - rows.height} if rows.height < logged else {}
    causes = causes_of(warehouse, source, rows, nodes)
    basis = f"a replay under {causes.basis}" if replayed else causes.basis
    return replace(causes, basis=basis, left_out=causes.left_out | left_out)


def jobs_and_nodes(warehouse: Warehouse, source: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """(jobs of a source with what they asked for, the nodes that each held: job_index, node_name and procs). Without those that ran at a
    time that the log does not say."""
    with warehouse.read() as connection:
        rows = connection.sql(_JOBS, params={"source": source}).pl()
    return rows, logged_nodes(warehouse, source)


def logged_nodes(warehouse: Warehouse, source: str) -> pl.DataFrame:
    """The nodes that each job of a source held: job_index, node_name and procs, null where the log does not say."""
    with warehouse.read() as connection:
        return connection.sql(_NODES, params={"source": source}).pl()


def causes_of(
    warehouse: Warehouse,
    source: str,
    rows: pl.DataFrame,
    nodes: pl.DataFrame,
    until_s: int | None = None,
) -> WaitCauses:
    """What kept these jobs on a source's cluster.

    rows, nodes: of `jobs_and_nodes`. until_s: UTC second up to which those wait that have not left the queue, and for which the column
    `now` says what keeps each job; by default the last second of the jobs, without that column. Raises ValueError where a job is of a
    partition that the cluster does not have."""
    with warehouse.read() as connection:
        procs = first_row(connection, "SELECT procs FROM core.clusters WHERE source = ?", [source])
    cluster = described_cluster(warehouse, source)
    rows = rows.sort("submit_s", "job_index")
    if cluster is not None and cluster.scheduler.name == "pbs":
        with warehouse.read() as connection:
            rows = with_labels(connection, source, rows, REQUEST_LABELS)
        followed = followed_pbs(cluster, rows, nodes, until_s)
    else:
        rules = waiting_rules(cluster, source, rows, int(procs[0]) if procs else 1)
        followed, rows = _followed_slurm(rules, nodes, until_s), rules.rows
    return WaitCauses(_table(rows, followed), followed.basis, followed.odd_layouts, followed.left_out, followed.state)


def replayed_log(warehouse: Warehouse, source: str, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The jobs of a source and the nodes that each held, as `jobs_and_nodes` has them of its log, in the first replay of its site. rows: of
    the log. Those that no replay has are left out.

    Raises ValueError for a source of which no nodes, limits or scheduler are described, and as `replay_run`."""
    site = site_of(source, warehouse)
    if not site.is_described:
        raise ValueError(
            f"source {source!r} has no cluster whose scheduler or limits are described: leave --replay out for the log's own starts"
        )
    trace = load_trace(warehouse, source, site.settings.cancelled, site.settings.labels)
    run = replay_run(trace, site.settings, choose_policy(site.settings, warehouse, source), own_runs=1)
    started, zero_s = run.schedule.started, clock_zero_s(trace)
    start = run.schedule.start + zero_s
    times = pl.DataFrame(
        {
            "job_index": run.rows["job_index"],
            "start_s": pl.Series(np.where(started, start, -1)).replace(-1, None),
            "end_s": pl.Series(np.where(started, start + run.jobs.runtime + run.schedule.suspended_s, -1)).replace(
                -1, None
            ),
        }
    )
    rows = rows.drop("start_s", "end_s").join(times, on="job_index", how="inner").select(rows.columns)
    held, cluster = run.held, site.own_cluster
    if held is None or cluster is None:
        return rows, pl.DataFrame(schema={"job_index": pl.Int64, "node_name": pl.Utf8, "procs": pl.Int64})
    names = np.array([node.name for node in cluster.nodes])
    of_job = np.repeat(run.rows["job_index"].to_numpy(), np.diff(held.first))
    nodes = pl.DataFrame({"job_index": of_job, "node_name": names[held.node]}).unique(maintain_order=True)
    return rows, nodes.with_columns(procs=pl.lit(None, pl.Int64))


def _followed_slurm(rules: WaitingRules, nodes: pl.DataFrame, until_s: int | None) -> FollowedWaits:
    cluster, rows, basis = rules.cluster, rules.rows, rules.basis
    requests, left_out = requests_of_rows(rows, cluster)
    arrays = cluster_arrays(cluster, {one.features for one in requests})
    columns = request_arrays(requests, cluster, arrays)
    logged = starts_of_log(rows, nodes, cluster, until_s)
    given = GivenSchedule(*logged[:3], columns.partitions[:, 0].copy(), *logged[3:5])
    hours = [gate_changes(gate, 0, int(columns.submit.min()), int(columns.submit.max())) for gate in cluster.gates]
    moments = None if until_s is None else np.array([until_s])
    kept = follow_schedule(cluster, arrays, columns, given, moments, hours, rules.limits)
    waits = kept.waits
    now = (
        None if until_s is None else [CAUSES[code].name if code >= 0 else None for code in kept.at_moments[0].tolist()]
    )
    return FollowedWaits(
        start=given.start,
        left=given.left,
        seconds={cause.name: waits.seconds[:, code] for code, cause in CAUSES.items()},
        others=waits.longest if until_s is None else waits.other,
        limits=limit_texts(waits.slot, _limits_of_slots(rules, kept), given.left),
        now=now,
        basis=basis,
        odd_layouts=kept.odd_layouts,
        left_out=left_out,
        state=None
        if until_s is None
        else QueueState.of_jobs(
            cluster, kept.replay, rows["job_id"].to_list(), (given.start < 0) & (given.left > until_s), until_s
        ),
    )


def _limits_of_slots(rules: WaitingRules, kept: KeptWaits) -> tuple[Sequence[Limit], ...]:
    """Of each slot the limits of the description that say its bound."""
    if rules.limits is not None:
        return rules.words
    arrays = cluster_arrays(rules.cluster, ())
    _, numbers = numbered_limits(rules.cluster, kept.replay.engine.jobs, arrays.gpu_types)
    return tuple([rules.cluster.limits[number]] for number in numbers)


def _table(rows: pl.DataFrame, followed: FollowedWaits) -> pl.DataFrame:
    """Rows of WaitCauses.jobs, in the order of jobs, with `now` where it was asked for."""
    wait = np.maximum(followed.left - rows["submit_s"].to_numpy(), 0)
    other, behind_s = followed.others[:, 0], followed.others[:, 1]
    ids, users = rows["job_id"], rows["user_name"]
    behind = pl.Series(np.where(other >= 0, other, 0))
    none = pl.Series(other < 0)
    zeros = np.zeros(rows.height, dtype=np.int64)

    def column(name: str) -> pl.Series:
        return rows[f"logged_{name}"] if f"logged_{name}" in rows.columns else rows[name]

    return pl.DataFrame(
        {
            "job_index": rows["job_index"],
            "job_id": ids,
            "user": users,
            "account": column("account"),
            "queue": column("queue"),
            "qos": column("qos"),
            "submit_s": rows["submit_s"],
            "start_s": pl.Series(followed.start).set(pl.Series(followed.start < 0), None),
            "wait_s": wait,
            **{
                name: followed.seconds.get(cause.name, zeros)
                for name, cause in zip(CAUSE_COLUMNS, CAUSES.values(), strict=True)
            },
            "behind_job": ids.gather(behind).set(none, None),
            "behind_user": users.gather(behind).set(none, None),
            "behind_s": behind_s,
            "limit": pl.Series(followed.limits, dtype=pl.Utf8),
            **({} if followed.now is None else {"now": pl.Series(followed.now, dtype=pl.Utf8)}),
        }
    ).sort("job_index")


def chosen_waits(
    warehouse: Warehouse,
    source: str,
    causes: WaitCauses,
    wanted: dict[str, str | None],
    period: str | None = None,
    jobs: Sequence[str] = (),
) -> tuple[pl.DataFrame, str]:
    """Rows of `causes.jobs`, and which these are in words. wanted: user, account and queue, None for all. jobs: their ids in the log.

    Raises ValueError, with what there is, where no job is left."""
    rows, words = causes.jobs, []
    if jobs:
        missing = sorted(set(jobs) - set(rows["job_id"]))
        if missing:
            raise ValueError(
                f"source {source!r} has no job {missing[0]!r} with a known wait: ids are those of the log, such as {rows['job_id'][0]!r}"
            )
        rows = rows.filter(pl.col("job_id").is_in(list(jobs)))
    for column, value in wanted.items():
        if value is not None:
            kept = rows.filter(pl.col(column) == value)
            if kept.is_empty():
                names = rows[column].drop_nulls().value_counts(sort=True)[column].head(5).to_list()
                most = f"most are of {', '.join(map(str, names)) or 'no ' + column}"
                hint = pseudonym_hint(column, value, map(str, names))
                raise ValueError(f"source {source!r} has no job of {column} {value!r} here: {most}{hint}")
            rows = kept
            words.append(f"{column} {value}")
    begin, end, of_period = submitted_in(warehouse, source, period)
    if begin is not None and end is not None:
        bounds = [int(moment.replace(tzinfo=UTC).timestamp()) for moment in (begin, end)]
        rows = rows.filter(pl.col("submit_s") >= bounds[0], pl.col("submit_s") < bounds[1])
        words.append(of_period)
    if rows.is_empty():
        seconds = causes.jobs["submit_s"].to_numpy()
        first, last = (datetime.fromtimestamp(int(each), UTC).date() for each in (seconds.min(), seconds.max()))
        raise ValueError(f"no such job of {source!r} was submitted in {of_period}: the log is of {first} to {last}")
    return rows, ", ".join(words)


def log_second(utc_s: int, clock: LogClock) -> float:
    """A UTC second on the log's clock."""
    return utc_s - clock.zero.replace(tzinfo=UTC).timestamp()


def stored_causes(warehouse: Warehouse, source: str) -> WaitCauses | None:
    """What the table has of the log's own starts, of jobs that waited; None without rows. `submit_s` and `start_s` are not in it."""
    with warehouse.read() as connection:
        rows = connection.sql(_STORED, params={"source": source}).pl()
    if rows.is_empty():
        return None
    seconds = {
        column: pl.col("waited_s").filter(pl.col("cause") == cause.name).sum()
        for column, cause in zip(CAUSE_COLUMNS, CAUSES.values(), strict=True)
    }
    one_value = {name: pl.col(name).first() for name in ("user", "account", "queue", "qos")}
    jobs_of_log = rows.group_by("job_index").agg(
        **one_value, limit=pl.col("limit_text").drop_nulls().first(), wait_s=pl.col("waited_s").sum(), **seconds
    )
    return WaitCauses(jobs_of_log.sort("job_index"), rows["basis"][0])
