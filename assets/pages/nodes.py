"""Who held nodes, GPUs and memory, and what stood idle, as a section of the report."""

from __future__ import annotations

from assets.pages.look import charts
from assets.pages.page import Block, Chart, Heading, Section, Table, unique_labels
from assets.pages.words import named, share
from assets.usage.cluster_check import described_cluster
from assets.usage.node_use import NOBODY_WAITS, STRANDED, USED, WOULD_FIT, NodeUse, node_use
from warehouse import Warehouse

MOST_HOLDERS = 8
"""Accounts, users and queues with a row of their own."""
CHART_NAMES = {
    NOBODY_WAITS: "nobody waits",
    WOULD_FIT: "a job fits",
    STRANDED["memory"]: "memory",
    STRANDED["gpus"]: "GPUs",
    STRANDED["cores"]: "cores",
    STRANDED["whole"]: "whole nodes",
    STRANDED["nodes"]: "too few nodes",
    STRANDED["place"]: "partition",
    STRANDED["several"]: "several",
}
"""Names of states in a chart."""
PLURALS = {"core": "cores", "gpu": "GPUs"}


def nodes_section(warehouse: Warehouse, source: str) -> Section | None:
    """None where the log does not say which nodes its jobs held."""
    use = node_use(warehouse, source, described_cluster(warehouse, source))
    return None if use is None else Section("Nodes, GPUs and memory", node_blocks(use))


def node_blocks(use: NodeUse) -> list[Block]:
    """What stood idle, and who held the rest."""
    blocks: list[Block] = [Heading("What stood idle"), *_idle(use), Heading("Who held what")]
    for kind, holders in use.holders.items():
        if holders.height > 1:
            blocks.append(_holders(kind, use))
    if len(blocks) == len(_idle(use)) + 2:
        blocks.append("All jobs are of one user, account and queue, or the log does not say whose they are.")
    return blocks


def _idle(use: NodeUse) -> list[Block]:
    if use.states.is_empty():
        return [
            "The source names no cluster, so nobody knows which nodes stood idle. `tracehouse cluster import` reads one from "
            "the scheduler's configuration."
        ]
    blocks: list[Block] = []
    rows = [
        [f"{PLURALS[row['resource']]} {row['state']}", f"{row['mean']:,.1f}", share(row["share"])]
        for row in use.states.iter_rows(named=True)
    ]
    blocks.append(Table("Cores and GPUs on average", ("state", "how many", "of all"), rows))
    idle = use.states.filter(use.states["state"] != USED)
    for resource in ("core", "gpu"):
        part = idle.filter(resource=resource)
        if part.height:
            labels = [CHART_NAMES[state] for state in part["state"]]
            name = f"idle {PLURALS[resource]}"
            values = {name: part["mean"].to_list()}
            caption = f"Idle {PLURALS[resource]} on average: nobody waits, a waiting job fits, or what is missing"
            blocks.append(Chart(f"idle-{resource}", caption, charts.bars(labels, values, "", name)))
    strange = (
        f" {use.strange_nodes:,} nodes of the log are not in the cluster's description." if use.strange_nodes else ""
    )
    blocks.append(
        f"These are means over {use.moments:,} moments of the log. Stranded is what no waiting job could use at that moment, whatever "
        f"the scheduler does. Nodes that were down count as idle.{strange}"
    )
    return blocks


def _holders(kind: str, use: NodeUse) -> Table:
    holders = use.holders[kind]
    columns = {"node-hours": "node_hours", "core-hours": "core_hours"}
    columns |= {
        title: name
        for title, name in (
            ("GPU-hours", "gpu_hours"),
            ("of them lost", "lost_gpu_hours"),
            ("memory, GiB hours", "memory_gib_hours"),
        )
        if holders[name].fill_null(0).sum() > 0
    }
    rows = [
        [named(row["value"]), f"{row['jobs']:,}"]
        + ["not in the log" if row[name] is None else f"{row[name]:,.0f}" for name in columns.values()]
        for row in holders.head(MOST_HOLDERS).iter_rows(named=True)
    ]
    more = f", {MOST_HOLDERS} of {holders.height:,}" if holders.height > MOST_HOLDERS else ""
    return Table(f"What each {kind} held, most first{more}", (kind, "jobs", *columns), unique_labels(rows))
