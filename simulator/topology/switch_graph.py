"""Switches as a file defines them, in any order, and the tree that they make. All faults of a file are reported together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from simulator.topology.tree import SwitchTree, default_hops
from traces.cluster.hostlists import MOST_NAMES, compress_names, expand_hostlist

MOST_FAULTS = 20
"""Faults of a file that are printed."""

_MOST_KEPT = 1000
"""A file with more faults is not a file of switches, and is not read to its end."""


class Words(NamedTuple):
    """How a format calls the name, the child switches and the nodes of a switch, and how it writes a leaf and a parent."""

    name: str
    switches: str
    nodes: str
    leaf: str
    parent: str


@dataclass(frozen=True)
class SwitchDefinition:
    """A switch, the line that defines it, and the names of what is directly below it: other switches, or nodes."""

    name: str
    line: int
    switches: tuple[str, ...]
    nodes: tuple[str, ...]


class Faults:
    """The faults of a file. is_complete: every definition could be read, so that switches without a parent are really at the top."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.is_complete = True
        self._names = 0
        self._lines: list[tuple[int, str]] = []

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, line: int, text: str) -> None:
        """text: what is wrong, what was expected, and what to do. line: from 1, or 0 for the file as a whole."""
        self._lines.append((line, text))
        if len(self._lines) >= _MOST_KEPT:
            self.stop()

    def count_names(self, line: int, names: int) -> None:
        """Counts the names that a line has. Raises ValueError for more than 1,000,000 in a file."""
        self._names += names
        if self._names > MOST_NAMES:
            self.add(line, f"more than {MOST_NAMES:,} names up to here: expected at most that many. Check the ranges")
            self.stop()

    def stop(self) -> None:
        """Raises ValueError if there is a fault. It names the file and up to 20 faults with their lines."""
        if not self._lines:
            return
        if len(self._lines) == 1:
            [(line, text)] = self._lines
            raise ValueError(f"{self.file}{f':{line}' if line else ''}: {text}")
        many = " or more" if len(self._lines) >= _MOST_KEPT else ""
        shown = [f"  line {line}: {text}" if line else f"  {text}" for line, text in sorted(self._lines)[:MOST_FAULTS]]
        more = [f"  and {len(self._lines) - MOST_FAULTS} more"] if len(self._lines) > MOST_FAULTS else []
        raise ValueError("\n".join([f"{self.file}: {len(self._lines)} faults{many}", *shown, *more]))


def switch_definition(
    line: int, name: str, lists: Mapping[str, str], words: Words, faults: Faults, is_readable: bool = True
) -> SwitchDefinition:
    """A switch from its name and its hostlists, by the words of the format. is_readable: nothing on its line had a fault.

    Adds a fault for a name that is a list, for lists that cannot be expanded, and for a switch with both lists or with none.
    """
    names_of: dict[str, tuple[str, ...]] = {words.switches: (), words.nodes: ()}
    for word, text in lists.items():
        try:
            names_of[word] = tuple(expand_hostlist(text))
            if not names_of[word]:
                raise ValueError("the list is empty: expected a name, or a list such as n[0-9]")
        except ValueError as error:
            faults.add(line, f"{word} of {name}: {error}")
            is_readable = faults.is_complete = False
        faults.count_names(line, len(names_of[word]))
    if any(character in name for character in "[],"):
        faults.add(line, f"{words.name} {name!r} is a list: expected one switch. Define each one by itself")
        faults.is_complete = False
    if names_of[words.switches] and names_of[words.nodes]:
        faults.add(
            line,
            f"switch {name} has both {words.switches} and {words.nodes}: expected one of them. "
            "Give its nodes a leaf switch of their own",
        )
    elif not lists and is_readable:
        faults.add(
            line,
            f"switch {name} has nothing below it: expected {words.switches} or {words.nodes}. Add one, or delete the switch",
        )
    elif not lists:
        faults.is_complete = False
    return SwitchDefinition(name, line, names_of[words.switches], names_of[words.nodes])


def tree_of_switches(definitions: Sequence[SwitchDefinition], words: Words, faults: Faults) -> SwitchTree:
    """The tree of these switches, with the names of nodes and switches. The hops by level are 2, then 4, and so on.

    Nodes come leaf by leaf, in the order in which switches list what is below them. The level of a switch is its height above the
    leaves. A leaf or a switch may be more than one level below its parent. Then it has a switch of its own name at each level between
    them. So the distance of two nodes depends only on the height of their lowest common switch.
    Raises ValueError with all faults: those that are there already, and those of the switches together.
    """
    switches: dict[str, SwitchDefinition] = {}
    for definition in definitions:
        first = switches.setdefault(definition.name, definition)
        if first is not definition:
            faults.is_complete = False
            faults.add(
                definition.line,
                f"switch {definition.name} is defined again: expected one definition. Join it with that of line {first.line}",
            )
    parent_of = _parents(switches, words, faults)
    _check_nodes(switches, words, faults)
    _check_top(switches, parent_of, words, faults)
    faults.stop()
    return _tree(switches, parent_of)


def _parents(switches: dict[str, SwitchDefinition], words: Words, faults: Faults) -> dict[str, str]:
    """The switch above each, the first that names it. Adds faults for undefined switches and for second parents."""
    parent_of: dict[str, str] = {}
    for parent in switches.values():
        undefined: list[str] = []
        others: dict[str, list[str]] = defaultdict(list)
        for child in parent.switches:
            if child not in switches:
                undefined.append(child)
            elif child in parent_of:
                others[parent_of[child]].append(child)
            else:
                parent_of[child] = parent.name
        if undefined:
            faults.add(
                parent.line,
                f"{words.switches} of {parent.name} names {_list_of(undefined)}, which the file does not define: "
                "expected a definition of each. Add them, or correct the list",
            )
        for other, children in others.items():
            _add_second_parent(
                parent, switches[other], _count_of("switch", "switches", children), words.switches, faults
            )
    return parent_of


def _check_nodes(switches: dict[str, SwitchDefinition], words: Words, faults: Faults) -> None:
    """Adds faults for nodes that are below two leaves."""
    leaf_of: dict[str, str] = {}
    for leaf in switches.values():
        others: dict[str, list[str]] = defaultdict(list)
        for node in leaf.nodes:
            if node in leaf_of:
                others[leaf_of[node]].append(node)
            else:
                leaf_of[node] = leaf.name
        for other, nodes in others.items():
            _add_second_parent(leaf, switches[other], _count_of("node", "nodes", nodes), words.nodes, faults)


def _add_second_parent(here: SwitchDefinition, there: SwitchDefinition, names: str, word: str, faults: Faults) -> None:
    if here is there:
        faults.add(here.line, f"{word} of {here.name} has {names} twice: expected each name once. Take out the second")
        return
    faults.add(
        here.line,
        f"{names} under {here.name} and under {there.name} of line {there.line}: expected one switch above each. "
        "Take from one of the two",
    )


def _check_top(switches: dict[str, SwitchDefinition], parent_of: dict[str, str], words: Words, faults: Faults) -> None:
    """Adds faults for cycles, and for a second top, unless the second top follows from definitions that could not be read."""
    path_of: dict[str, int] = {}
    for number, start in enumerate(switches):
        name: str | None = start
        path = []
        while name is not None and name not in path_of:
            path_of[name] = number
            path.append(name)
            name = parent_of.get(name)
        if name is not None and path_of[name] == number:
            cycle = [*path[path.index(name) :], name]
            faults.is_complete = False
            faults.add(
                min(switches[one].line for one in cycle),
                f"{_short_path(cycle)} is a cycle, each switch below the next: expected a tree. "
                f"Take one of them out of {words.switches} of the next",
            )
    tops = [name for name in switches if name not in parent_of]
    if len(tops) > 1 and faults.is_complete:
        faults.add(
            switches[tops[1]].line,
            f"{len(tops)} switches have none above them, {_list_of(tops)}: expected one top. Give them a common parent, "
            f"such as {words.parent.format(_list_of(tops))}",
        )


def _list_of(names: Iterable[str]) -> str:
    text = compress_names(names)
    return text if len(text) <= 100 else f"{text[:97]}..."


def _count_of(one: str, many: str, names: list[str]) -> str:
    return f"{one if len(names) == 1 else many} {_list_of(names)}"


def _short_path(names: list[str]) -> str:
    return " > ".join(names if len(names) <= 8 else [*names[:4], "...", *names[-3:]])


def _tree(switches: dict[str, SwitchDefinition], parent_of: dict[str, str]) -> SwitchTree:
    """The tree of switches that form one. It does not recurse, so any depth can be read."""
    top = next(name for name in switches if name not in parent_of)
    waiting, order = [top], []
    while waiting:
        order.append(waiting.pop())
        waiting += reversed(switches[order[-1]].switches)
    height = dict.fromkeys(order, 0)
    for name in reversed(order):
        if name != top:
            height[parent_of[name]] = max(height[parent_of[name]], height[name] + 1)
    leaves = [name for name in order if switches[name].nodes]
    counts = [len(switches[leaf].nodes) for leaf in leaves]
    current, rows, names = leaves, [], []
    for level in range(height[top] + 1):
        parents = [parent_of.get(name, top) for name in current]
        current = [above if height[above] <= level else name for name, above in zip(current, parents, strict=True)]
        begins = [k == 0 or current[k] != current[k - 1] for k in range(len(current))]
        rows.append(np.repeat(np.cumsum(begins) - 1, counts))
        names.append(tuple(name for name, is_first in zip(current, begins, strict=True) if is_first))
    nodes = tuple(node for leaf in leaves for node in switches[leaf].nodes)
    hops = np.array(default_hops(len(rows)), dtype=np.int64)
    return SwitchTree(np.array(rows), hops, nodes, tuple(names))
