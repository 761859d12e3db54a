"""A source of the catalogue: one named trace."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FORMATS = ("swf", "pbs", "slurm")


LARGEST_CLUSTER = 10**9
"""Processors of a cluster: more than any has. A century of them in seconds is still a 64-bit number."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*")


class CatalogueError(Exception):
    """A catalogue that cannot be used. The message names the file, the line and the remedy."""


@dataclass(frozen=True)
class Source:
    """One named trace.

    format: "swf", "pbs" or "slurm".
    path: the log file, or a directory of log files. A generated source has none.
    procs: processors of the cluster. Without it they are the SWF header's MaxProcs, else the CPUs of
        the cluster that `cluster` names, else the peak of processors in use.
    nodes, gpus, node_memory_gb: of the cluster. Without them the jobs tell what there is (core.clusters).
    time_zone: of the cluster, for the calendar and the names of written files. Without it, it is the SWF header's
        TimeZoneString, or else the catalogue's. Always given for a generated source.
    description: what people read in the report and in the list of sources.
    drop_wider: reject jobs wider than the cluster (counted) instead of failing.
    columns: of a Slurm log without a header line, as sacct calls them, between commas.
    pseudonyms: kinds of names (`traces.common.pseudonyms`) that are replaced in PBS and Slurm logs. Without it all are, and [] keeps all.
    topology: tree of switches above the nodes, in words such as 16x8x3, or the path of a topology.conf or topology.yaml.
    procs_per_node: processors of a node of that tree. Without it the log says so.
    partitions: queues and the processors that each owns; jobs of other queues have the rest.
    scheduler: policy and backfill of the scheduler that wrote the log, where it is known.
    cluster: names of the cluster's descriptions (`tracehouse cluster import`). Of several, each has a time from which it holds.
    queue_command: prints the queue as it is now, as `squeue --json` does; "" where there is none.
    generator: options of a generated source, else empty. With `model` they describe a computing centre
        (`traces.synthetic.centre`), else a workload of Lublin and Feitelson's model (`traces.synthetic.workload`).
    declared_at: "file:line" of the declaration, for error messages.
    """

    name: str
    format: str
    path: Path | None
    procs: int | None = None
    time_zone: str | None = None
    description: str = ""
    drop_wider: bool = False
    columns: str = ""
    pseudonyms: tuple[str, ...] = ()
    nodes: int | None = None
    gpus: int | None = None
    node_memory_gb: int | None = None
    topology: str | None = None
    procs_per_node: int | None = None
    partitions: dict[str, int] = field(default_factory=dict)
    scheduler: dict[str, str] = field(default_factory=dict)
    cluster: tuple[str, ...] = ()
    queue_command: str = ""
    generator: dict[str, Any] = field(default_factory=dict)
    declared_at: str = ""

    @property
    def replaced_names(self) -> tuple[str, ...]:
        """Kinds of names that are replaced as the log is read. An SWF log has numbers for names, and keeps them."""
        return () if self.format == "swf" else self.pseudonyms
