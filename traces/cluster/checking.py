"""Where a cluster's description and a log contradict each other: jobs that could never have run, names that one of them lacks, limits that
the log breaks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import polars as pl

from traces.cluster.accounts import Limit
from traces.cluster.description import ClusterDescription, Gate, Partition
from traces.cluster.gpu_types import gpu_types_of, gpus_of_nodes, gpus_of_type
from traces.cluster.peaks import SUSPENSIONS, SUSPENSIONS_TYPE, held_spans, outstanding_over, peaks_over

LOG_COLUMNS: dict[str, Any] = {
    "job_id": pl.Utf8,
    "submit_s": pl.Int64,
    "start_s": pl.Int64,
    "end_s": pl.Int64,
    "procs": pl.Int64,
    "nodes": pl.Int64,
    "gpus": pl.Int64,
    "gpu_types": pl.Utf8,
    "requested_gpu_types": pl.Utf8,
    "memory_mib": pl.Int64,
    "requested_walltime_s": pl.Int64,
    "user_name": pl.Utf8,
    "group_name": pl.Utf8,
    "account": pl.Utf8,
    "queue": pl.Utf8,
    "qos": pl.Utf8,
    "node_names": pl.List(pl.Utf8),
    "features": pl.Utf8,
    SUSPENSIONS: SUSPENSIONS_TYPE,
}
"""Columns of a log's jobs, as core.jobs has them. Times are UTC seconds, memory is of the whole job. gpu_types (`a100=2,v100=1`) are part
of gpus, those that a job had. requested_gpu_types are those that it asked for. node_names are those that the job ran on, features are the
words that it required, suspensions are as in `traces.cluster.peaks`. Missing columns count as unknown."""
_SHOWN = 5
_RESERVED = r"^(?:[RSM][0-9]+(?:\..*)?|reservation)$"
"""Queues that PBS makes for a reservation, and their name in core.jobs."""
_AMOUNTS = {
    "jobs": pl.lit(1),
    "cpu": pl.col("procs"),
    "nodes": pl.col("nodes"),
    "gpu": pl.col("gpus"),
    "mem": pl.col("memory_mib"),
}
_AMOUNTS["time"] = pl.col("requested_walltime_s")


@dataclass(frozen=True)
class Contradiction:
    """kind: such as "unknown partition". subject: what of the cluster it is about. jobs: how many jobs say so, or starts of jobs.
    first_job: one of them. text: what the log has, and what the description."""

    kind: str
    subject: str
    jobs: int
    first_job: str
    text: str

    def __str__(self) -> str:
        said = f"{self.kind}: {self.text}"
        if self.jobs < 2:
            return f"{said} (job {self.first_job})" if self.jobs else said
        return f"{said} ({self.jobs:,} jobs, such as {self.first_job})"


def contradictions_with_log(cluster: ClusterDescription, jobs: pl.DataFrame) -> tuple[Contradiction, ...]:
    """What the description says and the log's jobs deny, most jobs first within each kind.

    jobs: with LOG_COLUMNS, of which any may be missing. An unknown value contradicts nothing.
    """
    missing = [pl.lit(None, dtype=kind).alias(name) for name, kind in LOG_COLUMNS.items() if name not in jobs.columns]
    jobs = jobs.with_columns(missing).select(pl.col(name).cast(kind) for name, kind in LOG_COLUMNS.items())
    checks: tuple[Callable[[ClusterDescription, pl.DataFrame], Iterator[Contradiction]], ...] = (
        _of_times,
        _of_names,
        _of_nodes,
        _of_features,
        _of_sizes,
        _of_rights,
        _of_gates,
        _of_limits,
        _of_capacity,
    )
    listed = [each for check in checks for each in check(cluster, jobs)]
    order = {kind: place for place, kind in enumerate(dict.fromkeys(each.kind for each in listed))}
    return tuple(sorted(listed, key=lambda each: (order[each.kind], -each.jobs, each.subject)))


def _of_times(cluster: ClusterDescription, jobs: pl.DataFrame) -> Iterator[Contradiction]:
    if cluster.valid_from_s is None or not jobs["submit_s"].count():
        return
    before = jobs.filter(pl.col("submit_s") < cluster.valid_from_s)
    if before.height:
        text = f"the description holds from {_date(cluster.valid_from_s)}, and the log begins at {_date(jobs['submit_s'].min())}"
        yield Contradiction("earlier log", cluster.name, before.height, before["job_id"][0], text)


def _of_names(cluster: ClusterDescription, jobs: pl.DataFrame) -> Iterator[Contradiction]:
    users = {member.user for member in cluster.members}
    accounts = {account.name for account in cluster.accounts} | {member.account for member in cluster.members}
    parts = (
        ("unknown partition", "queue", {partition.name for partition in cluster.partitions}),
        ("unknown account", "account", accounts),
        ("unknown QOS", "qos", {quality.name for quality in cluster.qualities}),
        ("unknown user", "user_name", users),
    )
    for kind, column, names in parts:
        if names:
            strange = jobs.filter(pl.col(column).is_not_null() & ~pl.col(column).is_in(list(names)))
            if column == "queue" and cluster.scheduler.name != "slurm":
                strange = strange.filter(~pl.col(column).str.contains(_RESERVED))
            for name, count, first in _by(strange, column):
                yield Contradiction(
                    kind, name, count, first, f"the log has {kind.partition(' ')[2]} {name}, the description does not"
                )
    members = {(member.user, member.account) for member in cluster.members}
    pairs = jobs.filter(pl.col("user_name").is_in(list(users)) & pl.col("account").is_in(list(accounts)))
    for (user, account), of_pair in pairs.group_by("user_name", "account", maintain_order=True):
        if (user, account) not in members:
            text = f"user {user} has jobs in account {account}, of which the description does not make a member"
            yield Contradiction("no member", f"{account}/{user}", of_pair.height, of_pair["job_id"][0], text)


def _of_nodes(cluster: ClusterDescription, jobs: pl.DataFrame) -> Iterator[Contradiction]:
    """Nodes that only one of both has, and jobs that started on a node that was away. A log may name the host of several nodes."""
    used = jobs.select("job_id", "start_s", name="node_names").explode("name").filter(pl.col("name").is_not_null())
    if not used.height:
        return
    hosts = {node.host for node in cluster.nodes}
    for name, count, first in _by(used, "name"):
        if name not in cluster.node_index and name not in hosts:
            yield Contradiction("unknown node", name, count, first, f"jobs ran on {name}, which the description lacks")
    names = set(used["name"].unique().to_list())
    unused = [node.name for node in cluster.nodes if not names & {node.name, node.host}]
    if unused:
        text = f"no job ran on {len(unused)} of {len(cluster.nodes)} nodes: {_some(unused)}"
        yield Contradiction("unused nodes", unused[0], 0, "", text)
    for node in cluster.nodes:
        for away in node.absences:
            is_over = pl.lit(False) if away.end_s is None else pl.col("start_s") >= away.end_s
            inside = used.filter((pl.col("name") == node.name) & (pl.col("start_s") >= away.begin_s) & ~is_over)
            if inside.height:
                text = f"jobs started on {node.name}, which was in state {away.state} from {_date(away.begin_s)}"
                yield Contradiction("node away", node.name, inside.height, inside["job_id"][0], text)


def _of_features(cluster: ClusterDescription, jobs: pl.DataFrame) -> Iterator[Contradiction]:
    """Words that jobs require of their nodes, and that no node has."""
    offered = {word for node in cluster.nodes for word in node.features}
    required = jobs.filter(pl.col("features").is_not_null())
    for text, count, first in _by(required, "features"):
        words = re.sub(r"\*[0-9]+", "", text)
        lacking = [word for word in re.split(r"[^\w.=@-]+", words) if word and word not in offered]
        if lacking:
            text = f"jobs require {_some(lacking)}, which no node of the description has"
            yield Contradiction("unknown feature", lacking[0], count, first, text)


def _of_sizes(cluster: ClusterDescription, jobs: pl.DataFrame) -> Iterator[Contradiction]:
    """Jobs that ask for more than their partition has, or gives to one job."""
    for partition, of_partition in _in_partitions(cluster, jobs):
        names = set(cluster.nodes_of(partition))
        nodes = [node for node in cluster.nodes if node.name in names]
        memory = max(node.memory_mib for node in nodes)
        fewest = (
            pl.col("procs") / max(node.cpus for node in nodes)
        ).ceil()  # PBS counts hosts, which may be several nodes
        per_node = pl.col("memory_mib") / pl.max_horizontal(pl.col("nodes"), fewest, pl.lit(1))
        most_nodes = min(len(nodes), partition.max_nodes if partition.max_nodes is not None else len(nodes))
        sizes = (
            ("too many processors", pl.col("procs"), sum(node.cpus for node in nodes), "processors"),
            ("too many nodes", pl.col("nodes"), most_nodes, "nodes"),
            ("too many GPUs", pl.col("gpus"), sum(node.num_gpus for node in nodes), "GPUs"),
            *(
                (
                    "too many GPUs",
                    gpus_of_type(kind, "requested_gpu_types"),
                    gpus_of_nodes(nodes, kind),
                    f"GPUs of type {kind}",
                )
                for kind in sorted(gpu_types_of(of_partition))
            ),
            ("too much memory", per_node, memory or None, "MiB on a node"),
            ("too long", pl.col("requested_walltime_s"), partition.max_time_s, "seconds"),
        )
        for kind, amount, bound, unit in sizes:
            if bound is None:
                continue
            over = of_partition.filter(amount > bound)
            if over.height:
                most = over.select(amount.max()).item()
                text = f"jobs of {partition.name or 'the cluster'} ask for up to {most:,.0f} {unit}, and it gives at most {bound:,}"
                yield Contradiction(kind, partition.name, over.height, over["job_id"][0], text)


def _in_partitions(cluster: ClusterDescription, jobs: pl.DataFrame) -> Iterator[tuple[Partition, pl.DataFrame]]:
    """Each partition with its jobs, where it has any. Jobs of unknown partitions are held against the whole cluster."""
    defined = [partition.name for partition in cluster.partitions]
    others = jobs.filter(~pl.col("queue").is_in(defined).fill_null(False))
    for partition in (*cluster.partitions, Partition("")):
        of_partition = jobs.filter(pl.col("queue") == partition.name) if partition.name else others
        if of_partition.height:
            yield partition, of_partition


def _of_rights(cluster: ClusterDescription, jobs: pl.DataFrame) -> Iterator[Contradiction]:
    """Jobs that started in a partition that was closed, or not open to them."""
    started = jobs.filter(pl.col("start_s").is_not_null())
    for partition, of_partition in _in_partitions(cluster, started):
        if partition.state in ("down", "inactive"):
            text = f"jobs started in {partition.name}, whose state is {partition.state}"
            yield Contradiction(
                "closed partition", partition.name, of_partition.height, of_partition["job_id"][0], text
            )
        lists = (
            ("account", partition.allow_accounts, partition.deny_accounts),
            ("qos", partition.allow_qos, partition.deny_qos),
            ("group_name", partition.allow_groups, ()),
            ("user_name", partition.allow_users, ()),
        )
        for column, allowed, denied in lists:
            is_refused = pl.col(column).is_in(list(denied)) | (
                ~pl.col(column).is_in(list(allowed)) if allowed else False
            )
            for name, count, first in _by(of_partition.filter(pl.col(column).is_not_null() & is_refused), column):
                text = f"{column.removesuffix('_name')} {name} has jobs in {partition.name}, which does not allow it"
                yield Contradiction("not allowed", f"{partition.name}/{name}", count, first, text)


def _of_gates(cluster: ClusterDescription, jobs: pl.DataFrame) -> Iterator[Contradiction]:
    started = jobs.filter(pl.col("start_s").is_not_null())
    for gate in cluster.gates:
        through = started.filter(_is_closed(gate))
        if through.height:
            text = f"jobs started from minute {gate.begin_minute} to {gate.end_minute} of a day, when a gate was closed to them"
            yield Contradiction("closed gate", gate.partition, through.height, through["job_id"][0], text)


def _is_closed(gate: Gate) -> pl.Expr:
    local = pl.from_epoch("start_s").dt.replace_time_zone("UTC").dt.convert_time_zone(gate.timezone)
    minute, day = local.dt.hour().cast(pl.Int64) * 60 + local.dt.minute(), local.dt.weekday() - 1
    days = list(gate.days)
    if gate.end_minute > gate.begin_minute:
        closed = day.is_in(days) & (minute >= gate.begin_minute) & (minute < gate.end_minute)
    else:
        closed = (day.is_in(days) & (minute >= gate.begin_minute)) | (
            ((day + 6) % 7).is_in(days) & (minute < gate.end_minute)
        )
    if gate.partition:
        closed &= pl.col("queue") == gate.partition
    if gate.over_time_s is not None:
        closed &= pl.col("requested_walltime_s") > gate.over_time_s
    if gate.over_cpus is not None:
        closed &= pl.col("procs") > gate.over_cpus
    return closed


def _of_limits(cluster: ClusterDescription, jobs: pl.DataFrame) -> Iterator[Contradiction]:
    below = accounts_below(cluster)
    for limit in cluster.limits:
        amount = _amount_of(limit.resource)
        is_timed = limit.begin_s is not None or limit.end_s is not None
        if amount is None or limit.is_soft or is_timed or limit.each == "project":
            continue
        of_limit = jobs.filter(counted_by(limit, cluster, below)).with_columns(amount=amount)
        of_limit = of_limit.filter(pl.col("amount").is_not_null())
        subject = " ".join(
            part
            for part in (limit.owner, limit.owner_name, limit.counts, limit.each, limit.who, limit.resource)
            if part
        )
        if limit.counts == "job":
            outside = of_limit.filter(
                pl.col("amount") < limit.bound if limit.is_least else pl.col("amount") > limit.bound
            )
            if outside.height:
                word, extreme = ("least", "min") if limit.is_least else ("most", "max")
                value = outside.select(getattr(pl.col("amount"), extreme)()).item()
                text = f"one job may have at {word} {limit.bound:,} of {limit.resource} ({_source(limit)}), and has {value:,}"
                yield Contradiction("limit of a job", subject, outside.height, outside["job_id"][0], text)
        elif not limit.is_least and limit.counts in ("running", "submitted", "outstanding"):
            yield from _of_peaks(limit, of_limit, subject)


def _amount_of(resource: str) -> pl.Expr | None:
    """How much of a limit's resource a job has, None for one that the log does not tell."""
    kind, _, name = resource.partition(":")
    return gpus_of_type(name) if kind == "gpu" and name else _AMOUNTS.get(resource)


def _of_peaks(limit: Limit, jobs: pl.DataFrame, subject: str) -> Iterator[Contradiction]:
    alone = jobs.filter(pl.col("amount") > limit.bound) if limit.counts != "outstanding" else jobs.clear()
    if alone.height:
        bound = f"{limit.bound:,} for all that are {limit.counts} ({_source(limit)})"
        text = f"one job asks for {int(str(alone['amount'].max())):,} of {limit.resource}, over {bound}"
        yield Contradiction("could never run", subject, alone.height, alone["job_id"][0], text)
        jobs = jobs.filter(pl.col("amount") <= limit.bound)
    by = {"user": "user_name", "group": "group_name", "account": "account"}.get(limit.each)
    begin = "submit_s" if limit.counts == "submitted" else "start_s"
    spans = jobs.with_columns(
        begin_s=pl.col(begin), promised_s=pl.col("start_s") + pl.col("requested_walltime_s")
    ).filter(pl.col("begin_s").is_not_null() & pl.col("end_s").is_not_null() & (pl.col("end_s") > pl.col("begin_s")))
    if by:
        spans = spans.filter(pl.col(by).is_not_null())
    if limit.counts == "outstanding":
        over = outstanding_over(held_spans(spans.filter(pl.col("promised_s").is_not_null())), by, limit.bound)
    else:
        over = peaks_over(spans if limit.counts == "submitted" else held_spans(spans), by, limit.bound)
    if over.height and over["peak"].count():
        owner = f"{limit.owner} {limit.owner_name}" if limit.owner_name else ""
        whose = f"all jobs of {owner}" if owner else "all jobs together"
        if by:
            whose = f"{limit.each} {over[by][0]}{f' in {owner}' if owner else ''}"
        others = f" and {over.height - 1} more" if over.height > 1 else ""
        peak = int(str(over["peak"].max()))
        text = f"{whose}{others} had up to {peak:,} of {limit.resource} {limit.counts}, over {limit.bound:,} ({_source(limit)})"
        yield Contradiction("limit broken", subject, int(over["starts"].sum()), over["job_id"][0], text)


def counted_by(limit: Limit, cluster: ClusterDescription, below: Mapping[str, list[str]]) -> pl.Expr:
    """Jobs that the limit is about. A limit for everybody leaves out those who have one of their own."""
    named = {"user": "user_name", "group": "group_name", "account": "account"}.get(limit.each)
    about = pl.lit(True)
    if limit.owner == "partition":
        about = pl.col("queue") == limit.owner_name
    elif limit.owner == "qos":
        of_qos = [partition.name for partition in cluster.partitions if partition.qos == limit.owner_name]
        about = (pl.col("qos") == limit.owner_name).fill_null(False) | pl.col("queue").is_in(of_qos).fill_null(False)
    elif limit.owner == "account":
        about = pl.col("account").is_in(below.get(limit.owner_name, [limit.owner_name]))
    elif limit.owner == "user":
        about = pl.lit(True)
        for column, name in zip(("account", "user_name", "queue"), limit.association, strict=True):
            about &= (pl.col(column) == name).fill_null(False) if name else pl.lit(True)
    if named and limit.who:
        return about & (pl.col(named) == limit.who)
    if named:
        same = (limit.owner, limit.owner_name, limit.counts, limit.each, limit.resource)
        own = [
            other.who
            for other in cluster.limits
            if other.who and (other.owner, other.owner_name, other.counts, other.each, other.resource) == same
        ]
        return about & ~pl.col(named).is_in(own)
    return about


def accounts_below(cluster: ClusterDescription) -> dict[str, list[str]]:
    """Each account with all below it, itself first."""
    parents = {account.name: account.parent for account in cluster.accounts}
    below: dict[str, list[str]] = {name: [name] for name in parents}
    for name in parents:
        above = parents[name]
        while above in below:
            below[above].append(name)
            above = parents[above]
    return below


def _of_capacity(cluster: ClusterDescription, jobs: pl.DataFrame) -> Iterator[Contradiction]:
    """More processors or GPUs in use at a time than the cluster has. A suspended job has none: PBS takes both, Slurm leaves it the GPUs.
    One job with more GPUs than all is left to `_of_sizes`."""
    ran = jobs.filter(pl.col("start_s").is_not_null() & (pl.col("end_s") > pl.col("start_s")))
    spans = held_spans(ran.with_columns(begin_s="start_s", promised_s="end_s"))
    kinds = sorted({kind for node in cluster.nodes for kind in node.gpus})
    any_type = gpus_of_nodes(cluster.nodes, "")
    sizes = (
        (pl.col("procs"), cluster.num_cpus, "processors"),
        (pl.col("gpus"), sum(node.num_gpus for node in cluster.nodes), "GPUs"),
        *(
            (gpus_of_type(kind), gpus_of_nodes(cluster.nodes, kind) + any_type, f"GPUs of type {kind}")
            for kind in (kinds if len(kinds) > 1 else ())
            if kind
        ),
    )
    for amount, bound, unit in sizes:
        used = spans.with_columns(amount=amount).filter(pl.col("amount") > 0)
        used = used if unit == "processors" else used.filter(pl.col("amount") <= bound)
        over = peaks_over(used, None, bound)
        if over.height and over["peak"].count():
            text = f"jobs had up to {int(str(over['peak'].max())):,} {unit} at a time, and the cluster has {bound:,}"
            yield Contradiction("too small", cluster.name, int(over["starts"].sum()), over["job_id"][0], text)


def _by(jobs: pl.DataFrame, column: str) -> Iterator[tuple[str, int, str]]:
    """Value, number of jobs and first job of each value of a column."""
    for (name,), of_name in jobs.group_by(column, maintain_order=True):
        yield str(name), of_name.height, of_name["job_id"][0]


def _source(limit: Limit) -> str:
    return limit.source or f"{limit.owner} {limit.owner_name}".strip()


def _some(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (" ..." if len(names) > _SHOWN else "")


def _date(second: object) -> str:
    return datetime.fromtimestamp(int(str(second)), UTC).strftime("%Y-%m-%d %H:%M")
