"""What a described Slurm decides by and our replay does not, in words for the first lines of an answer."""

from __future__ import annotations

from collections.abc import Iterator

from simulator.cluster.arrays import cluster_arrays
from simulator.slurm.limit_slots import unmodelled_limits
from simulator.slurm.preemption import unmodelled_preemption
from traces.cluster.description import ClusterDescription

_VALUES = {
    "bf_licenses": "plans would count licences",
    "prioritysitefactorplugin": "priority would depend on the site's plug-in",
    "jobsubmitplugins": "jobs would be changed on submission",
}
_HARMLESS = ("", "0", "none", "preempt/none", "(null)", "no")


def unmodelled_by_slurm(cluster: ClusterDescription) -> list[str]:
    """What a replay under SlurmReplayer leaves out, each with what it would have changed. Empty where it knows everything."""
    return [*_of_scheduler(cluster), *_of_nodes(cluster), *_of_owners(cluster)]


def _of_scheduler(cluster: ClusterDescription) -> Iterator[str]:
    values = dict(cluster.scheduler.values)
    for word in str(values.get("schedulerparameters", "")).split(","):
        name, _, value = word.partition("=")
        values.setdefault(name.strip().lower(), value or "1")
    for name, effect in _VALUES.items():
        if str(values.get(name, "")).strip().lower() not in _HARMLESS:
            yield f"{name}={values[name]}: {effect}"
    if suspended := unmodelled_preemption(cluster.scheduler):
        yield f"preemptmode={suspended}: jobs would be suspended for others"
    flags = str(values.get("priorityflags", "")).upper()
    if "multifactor" in str(values.get("prioritytype", "")) and "DEPTH_OBLIVIOUS" in flags:
        yield f"priorityflags={values['priorityflags']}: shares would count without the depth of accounts"


def _of_nodes(cluster: ClusterDescription) -> Iterator[str]:
    if cluster.licences:
        yield f"licences {', '.join(cluster.licences)}: jobs would wait for them, but the log does not say which"
    if cluster.gates:
        yield f"{len(cluster.gates)} hours in which no long or large job starts"
    for partition in cluster.partitions:
        if partition.oversubscribe.lower() not in ("no", "exclusive", ""):
            yield f"partition {partition.name} oversubscribes ({partition.oversubscribe}): jobs would share CPUs"
        if partition.max_cpus_per_node is not None:
            yield f"partition {partition.name} uses at most {partition.max_cpus_per_node} CPUs of a node"


def _of_owners(cluster: ClusterDescription) -> Iterator[str]:
    for quality in cluster.qualities:
        if quality.usage_threshold is not None:
            yield f"QOS {quality.name} holds jobs of users below a fair-share factor of {quality.usage_threshold:g}"
    limits = unmodelled_limits(cluster, cluster_arrays(cluster).gpu_types)
    by_kind: dict[str, int] = {}
    for limit in limits:
        words = f"{'least ' if limit.is_least else ''}{limit.resource}, {limit.counts}"
        by_kind[words] = by_kind.get(words, 0) + 1
    for words, count in by_kind.items():
        yield f"{count} {'limit' if count == 1 else 'limits'} ({words}): jobs over them would wait or be refused"
