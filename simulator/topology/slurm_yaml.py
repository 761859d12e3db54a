"""Switches of Slurm's `topology.yaml` (man page `topology.yaml(5)`, since Slurm 25.05), with the line of each.

A topology may have a key `hops` of ours, such as `hops: [2, 4, 6]`: hops between two nodes by the level of their lowest common switch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import yaml

from simulator.topology.switch_graph import Faults, SwitchDefinition, Words, switch_definition

YAML_WORDS = Words(
    "switch", "children", "nodes", "- {switch: s0, nodes: 'n[0-9]'}", "- {{switch: top, children: '{}'}}"
)

_KINDS = ("tree", "block", "flat", "ring", "torus3d")
_EXAMPLE = "- topology: NAME, with tree: and switches: below it"


class YamlTopology(NamedTuple):
    """switches: of a topology. hops: as its key `hops` has them, such as 2,4,6; None without that key. hops_line: of the key's value."""

    switches: list[SwitchDefinition]
    hops: str | None = None
    hops_line: int = 0


def switches_of_yaml(text: str, faults: Faults) -> YamlTopology:
    """The default topology, or the only one. Adds faults for what is no tree of switches."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        faults.add(mark.line + 1 if mark else 0, f"no valid YAML: {problem or str(error).splitlines()[0]}. Correct it")
        return YamlTopology([])
    except RecursionError:
        faults.add(0, f"brackets are nested too deep: expected {_EXAMPLE}")
        return YamlTopology([])
    if root is None:
        return YamlTopology([])
    if not isinstance(root, yaml.SequenceNode) or not root.value:
        faults.add(_line_of(root), f"no list of topologies: expected {_EXAMPLE}")
        return YamlTopology([])
    topology = _chosen(root.value, faults)
    if topology is None:
        return YamlTopology([])
    switches, hops = list(_switches(topology, faults)), topology.get("hops")
    return YamlTopology(switches) if hops is None else YamlTopology(switches, _numbers(hops), _line_of(hops))


def _chosen(topologies: list[yaml.Node], faults: Faults) -> dict[str, yaml.Node] | None:
    """The keys of the topology that is the default, or the only one."""
    tables = [_table(node, "topology", faults) for node in topologies]
    if len(faults):
        return None
    defaults = [table for table in tables if _text(table.get("cluster_default")).lower() in ("true", "yes", "on")]
    candidates = defaults[:1] or tables
    names = [_text(table.get("topology")) for table in tables]
    if len(candidates) > 1:
        faults.add(0, f"{len(names)} topologies, {', '.join(names)}: expected one with cluster_default: true. Add it")
        return None
    [table] = candidates
    if "tree" not in table:
        kind = next((kind for kind in _KINDS if kind in table), "nothing")
        faults.add(
            _line_of(table["topology"]),
            f"topology {_text(table['topology'])} is {kind}: expected tree: with switches: below it. Write it as a tree",
        )
        return None
    return table


def _switches(topology: dict[str, yaml.Node], faults: Faults) -> Iterator[SwitchDefinition]:
    tree = _table(topology["tree"], "switches", faults)
    switches = tree.get("switches")
    for node in switches.value if switches is not None else ():
        before = len(faults)
        table = _table(node, "switch", faults)
        if "switch" not in table:
            faults.is_complete = False
            continue
        for key in sorted(set(table) - {"switch", "children", "nodes"}):
            faults.add(_line_of(table[key]), f"unknown key {key}: expected switch, children or nodes. Take it out")
        lists = {}
        for key in ("children", "nodes"):
            if key in table and not isinstance(table[key], yaml.ScalarNode):
                faults.is_complete = False
                faults.add(
                    _line_of(table[key]), f"{key}: is no text: expected a hostlist such as n[0-9]. Write it as text"
                )
            elif key in table:
                lists[key] = _text(table[key])
        name = _text(table["switch"])
        yield switch_definition(_line_of(node), name, lists, YAML_WORDS, faults, is_readable=len(faults) == before)


def _table(node: yaml.Node, needed: str, faults: Faults) -> dict[str, yaml.Node]:
    """The values of a mapping by key. Adds a fault if it is none, lacks the needed key, or has a key twice."""
    table: dict[str, yaml.Node] = {}
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if _text(key) in table:
            faults.add(_line_of(key), f"{_text(key)}: comes twice: expected it once. Join the two")
        table[_text(key)] = value
    is_list = isinstance(table.get(needed), yaml.SequenceNode)
    if not (is_list if needed == "switches" else _text(table.get(needed))):
        form = "a list" if needed == "switches" else "a name"
        faults.add(_line_of(node), f"{needed}: is missing here, or is not {form}. Expected {_EXAMPLE}")
        table.pop(needed, None)
    return table


def _numbers(node: yaml.Node) -> str:
    """A list of numbers, or a text that has them, as text between commas."""
    return ",".join(_text(one) for one in node.value) if isinstance(node, yaml.SequenceNode) else _text(node)


def _text(node: yaml.Node | None) -> str:
    return node.value.strip() if isinstance(node, yaml.ScalarNode) else ""


def _line_of(node: yaml.Node) -> int:
    return node.start_mark.line + 1
