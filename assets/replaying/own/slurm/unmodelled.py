"""What a described Slurm decides by and our replay does not, in words for the first lines of an answer."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from assets.replaying.own.named import is_left_out, left_out_rules
from simulator.cluster.arrays import cluster_arrays
from simulator.slurm.limits import unmodelled_limits
from simulator.slurm.preemption import unmodelled_preemption
from simulator.slurm.settings import consumed_words, slurm_settings
from traces.cluster.description import ClusterDescription
from traces.cluster.notes import NOT_MODELLED, KnownKey
from traces.slurm.configuration.keys import GENERAL_KEYS
from traces.slurm.configuration.settings import QOS_FLAGS, SCHEDULER_PARAMETERS, WORD_LISTS
from traces.slurm.configuration.shown import RESERVATION_FLAGS

_KEYS = {**SCHEDULER_PARAMETERS, **GENERAL_KEYS}
_TREES = ("", "topology/tree", "topology/none", "topology/default", "topology/flat")


def unmodelled_by_slurm(cluster: ClusterDescription) -> list[str]:
    """What a replay under SlurmReplayer leaves out, each with what it would have changed. Empty where it knows everything."""
    rules = [*_of_scheduler(cluster), *_of_nodes(cluster), *_of_reservations(cluster), *_of_owners(cluster)]
    return list(dict.fromkeys([*rules, *left_out_rules(cluster)]))


def jobs_beyond_partitions(cluster: ClusterDescription, rows: pl.DataFrame) -> list[str]:
    """How many jobs ask for more than their partition allows, a sentence for each bound. They run here as in the log, and slurmctld refuses
    or never starts them. rows: of a trace, with REQUEST_LABELS."""
    said = []
    for partition in cluster.partitions:
        named = pl.col("queue") == partition.name
        of = rows.filter((named | pl.col("queue").is_null()) if partition.is_default else named)
        nodes = pl.coalesce("requested_nodes", "nodes")
        bounds = {
            "MaxTime": (partition.max_time_s, pl.col("requested_walltime_s")),
            "MaxNodes": (partition.max_nodes, nodes),
        }
        for word, (bound, asked) in bounds.items():
            beyond = 0 if bound is None else of.filter(asked > bound).height
            if beyond:
                jobs = "1 job asks" if beyond == 1 else f"{beyond:,} jobs ask"
                said.append(f"{word} of the partition {partition.name}: {jobs} for more, and would not start")
    return said


def _of_scheduler(cluster: ClusterDescription) -> Iterator[str]:
    values = dict(cluster.scheduler.values)
    for word in str(values.get("schedulerparameters", "")).split(","):
        key, _, text = word.partition("=")
        values.setdefault(key.strip().lower(), text or "1")
    for name, value in values.items():
        if name in WORD_LISTS:
            for word in filter(None, (each.strip() for each in str(value).lower().split(","))):
                yield from _named(WORD_LISTS[name].get(word), name, word)
        else:
            yield from _named(_KEYS.get(name), name, str(value))
    if suspended := unmodelled_preemption(cluster.scheduler):
        yield f"preemptmode={suspended}: jobs would be suspended for others"
    plugin = str(values.get("topologyplugin", "")).lower()
    if plugin not in _TREES:
        yield f"topologyplugin={plugin}: nodes would be chosen by its network"


def _named(row: KnownKey | None, name: str, value: str) -> Iterator[str]:
    if row is not None and row.kind == NOT_MODELLED and value.strip().lower() not in row.harmless:
        yield f"{name}={value}: {row.effect}"


def _of_nodes(cluster: ClusterDescription) -> Iterator[str]:
    if cluster.licences and not is_left_out(cluster, "licenses"):
        yield f"licences {', '.join(cluster.licences)}: jobs would wait for them, but the log does not say which"
    if cluster.gates:
        yield f"{len(cluster.gates)} hours in which no long or large job starts"
    consumed = consumed_words(cluster.scheduler)
    if any(node.cpus > node.cores for node in cluster.nodes) and _has_cores(cluster, consumed):
        yield "nodes have several threads a core: jobs would get whole cores"
    for partition in cluster.partitions:
        alone = partition.extra.get("oversubscribe_jobs") == 1
        shares = partition.oversubscribe.lower() not in ("no", "exclusive", "") and not alone
        if shares and not is_left_out(cluster, "oversubscribe", "shared"):
            yield f"partition {partition.name} oversubscribes ({partition.oversubscribe}): jobs would share CPUs"
        if partition.max_cpus_per_node is not None and not is_left_out(cluster, "maxcpuspernode"):
            yield f"partition {partition.name} uses at most {partition.max_cpus_per_node} CPUs of a node"
        if partition.state != "up" and not is_left_out(cluster, "state"):
            yield f"partition {partition.name} is {partition.state}: its jobs would wait until it is up"


def _has_cores(cluster: ClusterDescription, consumed: list[str]) -> bool:
    """Whether cores are what jobs consume, which is Slurm's default since it counts memory by default."""
    settings = slurm_settings(cluster.scheduler)
    return any("core" in word for word in consumed) or (
        not consumed and settings.counts_memory > 0 and settings.whole_nodes == 0
    )


def _of_reservations(cluster: ClusterDescription) -> Iterator[str]:
    for reservation in cluster.reservations:
        flags = [flag for flag in reservation.flags if flag not in RESERVATION_FLAGS]
        if flags:
            yield f"reservation {reservation.name} has the flags {', '.join(flags)}, which change what may run there"
        if reservation.repeats:
            yield f"reservation {reservation.name} is there once, and would come back ({reservation.repeats})"
        if reservation.cpus and not reservation.nodes:
            yield f"reservation {reservation.name} is of {reservation.cpus} CPUs: which they are is not known"


def _of_owners(cluster: ClusterDescription) -> Iterator[str]:
    for quality in cluster.qualities:
        if quality.usage_threshold is not None and not is_left_out(cluster, "usagethreshold", "usagethres"):
            yield f"QOS {quality.name} holds jobs of users below a fair-share factor of {quality.usage_threshold:g}"
        for flag in quality.flags:
            yield from _named(QOS_FLAGS.get(flag), "flags", flag)
    limits = unmodelled_limits(cluster, cluster_arrays(cluster).gpu_types)
    by_kind: dict[str, int] = {}
    for limit in limits:
        if is_left_out(cluster, limit.source.rpartition(" ")[2]):
            continue
        words = f"{'least ' if limit.is_least else ''}{limit.resource}, {limit.counts}"
        by_kind[words] = by_kind.get(words, 0) + 1
    for words, count in by_kind.items():
        yield f"{count} {'limit' if count == 1 else 'limits'} ({words}): jobs over them would wait or be refused"
