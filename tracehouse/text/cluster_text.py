"""A cluster's description, and what became of each key of its configuration, as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tracehouse.text.tables import TableColumn, fitted_table, folded
from traces.cluster.description import ClusterDescription, Node, Partition
from traces.cluster.notes import (
    ASSUMED,
    MODELLED,
    NO_EFFECT,
    NOT_MODELLED,
    UNKNOWN_KEY,
    DescribedCluster,
    Remark,
    remarks_of,
)
from traces.cluster.toml_writing import LEFT_OUT_KINDS, hosts_value

_HEADINGS = {
    NOT_MODELLED: "Not modelled: these keys change schedules, and a replay leaves them out",
    UNKNOWN_KEY: "Unknown: these keys are in no table of tracehouse, and may change schedules",
    ASSUMED: "Assumed: the files do not say, or do not agree",
}
_COLUMNS = (MODELLED, NO_EFFECT, NOT_MODELLED, UNKNOWN_KEY, ASSUMED)
_MOST_LINES = 40


def cluster_summary(cluster: ClusterDescription) -> str:
    """What a cluster has, in one line."""
    gpus = sum(node.num_gpus for node in cluster.nodes)
    counts = [
        (len(cluster.nodes), f"nodes with {cluster.num_cpus:,} CPUs" + (f" and {gpus:,} GPUs" if gpus else "")),
        (len(cluster.partitions), "partitions"),
        (len(cluster.accounts), "accounts"),
        (len(cluster.members), "users"),
        (len(cluster.qualities), "QOS"),
        (len(cluster.limits), "limits"),
        (len(cluster.reservations), "reservations"),
        (len(cluster.switches), "switches"),
    ]
    scheduler = f"{cluster.scheduler.name} {cluster.scheduler.version}".strip()
    return ", ".join(f"{count:,} {_word(count, what)}" for count, what in counts if count) + f"; scheduler: {scheduler}"


def _word(count: int, plural: str) -> str:
    return plural.replace("nodes", "node").removesuffix("s") if count == 1 else plural


def keys_text(remarks: Sequence[Remark], width: int | None) -> str:
    """How many keys of each file are in the description, change nothing, and are left out. One key counts once."""
    kinds: dict[tuple[str, int, str], set[str]] = {}
    for remark in remarks:
        kinds.setdefault((remark.file, remark.line, remark.key), set()).add(remark.kind)
    counts: dict[str, Counter[str]] = {}
    for (file, _, _), of_key in kinds.items():
        counts.setdefault(file, Counter()).update(of_key)
    rows = [
        [file, *(f"{of_file[kind]:,}" if of_file[kind] else "" for kind in _COLUMNS)]
        for file, of_file in counts.items()
    ]
    total: Counter[str] = sum(counts.values(), Counter())
    rows.append(["all files", *(f"{total[kind]:,}" for kind in _COLUMNS)])
    columns = [TableColumn("keys of", right=False), *(TableColumn(kind) for kind in _COLUMNS)]
    return "\n".join(fitted_table(columns, rows, width))


def keys_left_out_text(remarks: Sequence[Remark], width: int | None) -> str:
    """Each key that is not modelled, unknown or assumed, with what it would have changed. "" where there is none."""
    lines: list[str] = []
    for kind in LEFT_OUT_KINDS:
        of_kind = remarks_of(remarks, kind)
        if of_kind:
            lines += ["", folded(f"{_HEADINGS[kind]} ({len(of_kind)}):", width)]
            lines += [folded(f"  {remark}", width) for remark in of_kind[:_MOST_LINES]]
        if len(of_kind) > _MOST_LINES:
            lines.append(f"  and {len(of_kind) - _MOST_LINES} more, which the file has at its end")
    return "\n".join(lines).lstrip("\n")


def cluster_text(described: DescribedCluster, width: int | None) -> str:
    """A description for reading: nodes, partitions, limits, settings and what is left out."""
    cluster = described.description
    blocks = [folded(f"{cluster.name}: {cluster_summary(cluster)}", width)]
    node_columns = [
        TableColumn("nodes", right=False),
        *map(TableColumn, ("number", "CPUs", "memory GiB", "GPUs", "weight")),
    ]
    blocks.append(
        "\n".join(
            fitted_table([*node_columns, TableColumn("features", right=False, last=1)], _node_rows(cluster), width)
        )
    )
    if cluster.partitions:
        titles = ("nodes", "longest job", "tier", "factor", "shared")
        columns = [TableColumn("partition", right=False), *map(TableColumn, titles)]
        columns.append(TableColumn("only for", right=False, last=1))
        rows = [_partition_row(cluster, partition) for partition in cluster.partitions]
        blocks.append("\n".join(fitted_table(columns, rows, width)))
    if cluster.limits:
        columns = [TableColumn("limit of", right=False), TableColumn("what", right=False), TableColumn("bound")]
        columns.append(TableColumn("from", right=False, last=1))
        rows = [
            [f"{x.owner} {x.owner_name}", f"{x.resource} {x.counts} by {x.each}", f"{x.bound:,}", x.source]
            for x in cluster.limits
        ]
        blocks.append("\n".join(fitted_table(columns, rows, width)))
    settings = [f"{key} = {value}" for key, value in cluster.scheduler.values.items()]
    if settings:
        blocks.append(folded("settings: " + ", ".join(settings), width))
    if text := keys_left_out_text(described.remarks, width):
        blocks.append(text)
    return "\n\n".join(blocks)


def _node_rows(cluster: ClusterDescription) -> list[list[str]]:
    groups: dict[tuple[object, ...], list[Node]] = {}
    for node in cluster.nodes:
        gpus = tuple(sorted(node.gpus.items()))
        groups.setdefault((node.cpus, node.memory_mib, gpus, node.weight, node.features), []).append(node)
    rows = []
    for nodes in groups.values():
        node = nodes[0]
        hosts = hosts_value(each.name for each in nodes)
        gpus_text = ", ".join(f"{count} {kind}".strip() for kind, count in node.gpus.items())
        memory = f"{node.memory_mib / 1024:,.0f}" if node.memory_mib else ""
        names = hosts if isinstance(hosts, str) else ",".join(hosts)
        rows.append(
            [names, f"{len(nodes):,}", f"{node.cpus}", memory, gpus_text, f"{node.weight}", ",".join(node.features)]
        )
    return rows


def _partition_row(cluster: ClusterDescription, partition: Partition) -> list[str]:
    longest = "" if partition.max_time_s is None else _span(partition.max_time_s)
    only_for = (*partition.allow_accounts, *partition.allow_groups, *partition.allow_qos, *partition.allow_users)
    name = f"{partition.name} (default)" if partition.is_default else partition.name
    number = f"{len(cluster.nodes_of(partition)):,}"
    tier, factor = f"{partition.tier}", f"{partition.factor}"
    return [name, number, longest, tier, factor, partition.oversubscribe, ",".join(only_for)]


def _span(seconds: int) -> str:
    days, rest = divmod(seconds, 86_400)
    return f"{days}-{rest // 3600:02d}:{rest // 60 % 60:02d}" if days else f"{rest // 3600}:{rest // 60 % 60:02d}"
