"""Sizes of a cluster and loads as users write them, such as +10%, -64, 512, nodes."""

from __future__ import annotations

import re
from typing import NamedTuple

from traces.catalogue.sources import LARGEST_CLUSTER

NEAR_ENOUGH = 0.005
"""Of what a change of the size became, as a share of the cluster."""


class AskedProcs(NamedTuple):
    """How large a cluster a user wants: a number of processors or nodes, or a change of what the cluster has.

    in_nodes: whether nodes are counted. node_procs: processors of a node, None where the user does not say.
    """

    text: str
    number: int | None
    more: int
    percent: float
    in_nodes: bool = False
    node_procs: int | None = None

    @property
    def procs(self) -> int | None:
        """The processors where the text alone says how many, else None."""
        unit = (self.node_procs or 0) if self.in_nodes else 1
        return _checked("procs", self.text, self.number * unit) if self.number is not None and unit else None

    def of(self, cluster_procs: int, node_procs: int | None = None) -> int:
        """The processors, for a cluster that has `cluster_procs`. node_procs: of its nodes, where the user does not say it.

        Raises ValueError where nothing is left, and for nodes of an unknown size.
        """
        name, unit = ("nodes", self.node_procs or node_procs) if self.in_nodes else ("procs", 1)
        if unit is None:
            raise ValueError(
                f"nodes {self.text!r}: it is not known how many processors a node has: give procs_per_node (--procs-per-node 32), or "
                "`procs_per_node` of the source in the catalogue"
            )
        if self.number is not None:
            procs = self.number * unit
        else:
            procs = cluster_procs + unit * (self.more + round(cluster_procs / unit * self.percent / 100))
        return _checked(name, self.text, _left(name, self.text, procs, f"{cluster_procs} processors"))

    def count(self, now: int) -> int:
        """How many nodes, for a cluster that has `now`. Raises ValueError where none is left."""
        nodes = now + self.more + round(now * self.percent / 100) if self.number is None else self.number
        return _left("nodes", self.text, nodes, f"{now} nodes")

    def remark(self, today: int, in_use: int, procs: int) -> str:
        """What to know of a size, empty where there is nothing. A number of processors or nodes is the whole cluster, which is said where
        it is less than half of it or less than was in use. A change is rounded to whole processors and nodes.

        today: how many there are. in_use: the most processors that jobs of the log had at once, 0 where that is not known. procs: what
        the size became."""
        if self.number is None:
            return self._rounded(today, self.count(today) if self.in_nodes else procs)
        if 2 * self.number >= today and (self.in_nodes or self.number >= in_use):
            return ""
        words = ("node" if self.in_nodes else "processor") + ("" if self.number == 1 else "s")
        if not self.in_nodes and self.number < in_use:
            return f"{self.number:,} {words} in all, and jobs of the log had {in_use:,} at once"
        return f"{self.number:,} {words} in all, today {today:,}; +{self.number} adds {self.number:,}"

    def _rounded(self, today: int, size: int) -> str:
        asked = self.more + today * self.percent / 100
        if size == today and asked:
            return f"{self.text} is less than half a {'node' if self.in_nodes else 'processor or node'}: the cluster stays as it is"
        if abs(size - today - asked) < NEAR_ENOUGH * today:
            return ""
        unit = "nodes" if self.in_nodes else "processors"
        return f"{self.text} is {100 * (size / today - 1):+.1f} % here: {size:,} {unit} instead of {today:,}"


def _left(name: str, text: str, left: int, of: str) -> int:
    if left < 1:
        raise ValueError(f"{name} {text!r}: nothing is left of the {of} of the cluster: take fewer away")
    return left


def _checked(name: str, text: str, procs: int) -> int:
    if procs > LARGEST_CLUSTER:
        raise ValueError(
            f"{name} {text!r}: a cluster has at most {LARGEST_CLUSTER:,} processors, and these are {procs:,}"
        )
    return procs


def parse_procs(text: str) -> AskedProcs:
    """The size that a user wrote, such as 300, +10%, +16 or -4. Raises ValueError that says what is expected."""
    return AskedProcs(text, *_change("procs", text))


def parse_nodes(text: str, node_procs: int | None = None) -> AskedProcs:
    """The same in nodes, such as 32, +10%, +4 or -4. node_procs: processors of a node, where the user says so too."""
    return AskedProcs(text, *_change("nodes", text), in_nodes=True, node_procs=node_procs)


def parse_load(text: str, base: float = 1.0) -> float:
    """The factor that a user wrote, such as 1.1, +10% or -20%. A percentage changes the load of the base. Raises ValueError that says
    what is expected."""
    written = re.fullmatch(r"(?:(\d+(?:\.\d+)?)|([+-]\d+(?:\.\d+)?) ?%)", text.strip())
    if written is None:
        raise ValueError(f"load {text!r}: expected a factor such as 1.1, or a change such as +10% or -20%")
    factor, change = written.groups()
    return float(factor) if factor else base * (1 + float(change) / 100)


def _change(name: str, text: str) -> tuple[int | None, int, float]:
    """number, more, percent."""
    written = re.fullmatch(r"(\d+)|([+-]\d+)|([+-]\d+(?:\.\d+)?) ?%", text.strip())
    if written is None:
        raise ValueError(f"{name} {text!r}: expected a number such as 300, or a change such as +10% or -4")
    number, more, percent = written.groups()
    return int(number) if number else None, int(more or 0), float(percent or 0)
