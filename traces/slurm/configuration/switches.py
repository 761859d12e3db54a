"""The network above the nodes: topology.conf, and topology.yaml of Slurm 25.05 and later.

Formats: Slurm's man pages topology.conf(5) and topology.yaml(5).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import yaml

from traces.cluster.description import Switch
from traces.cluster.hostlists import compress_names
from traces.cluster.notes import NO_EFFECT, ConfigurationError, Entry, Notes, TextFile
from traces.slurm.configuration.keys import left_out, without_effect
from traces.slurm.configuration.lines import Finder, conf_lines
from traces.slurm.configuration.parts import Attributes, named_hosts, slurm_key

SWITCH_KEYS = ("switchname", "nodes", "switches")
"""Of SwitchName lines of topology.conf."""
_KEYS = without_effect("linkspeed") | left_out(
    {
        "blockname": "jobs would be placed by blocks of nodes",
        "blocksizes": "jobs would be placed by blocks of nodes",
    }
)


def read_topology_conf(file: TextFile, nodes: Collection[str], finder: Finder, notes: Notes) -> tuple[Switch, ...]:
    """The switches, in the order of the file. nodes: those of the cluster. Others are left out with a remark, as Slurm does.

    Raises ConfigurationError, with file, line and what was expected."""
    lines = []
    for line in conf_lines(file, finder):
        of = {slurm_key(entry): entry for entry in line.entries}
        if "switchname" in of:
            lines.append(of)
        for key, entry in of.items():
            if "switchname" not in of or key not in SWITCH_KEYS:
                notes.by_table(_KEYS, entry, key)
    return _switches(lines, nodes, notes)


def _switches(lines: Iterable[Attributes], nodes: Collection[str], notes: Notes) -> tuple[Switch, ...]:
    """lines: each with a switchname, and with nodes or switches below it."""
    switches, below_of = list[Switch](), list[tuple[Entry, tuple[str, ...]]]()
    for of in lines:
        name = of["switchname"].value
        for key in SWITCH_KEYS:
            if key in of:
                notes.modelled(of[key], f"switches.{name}")
        listed = named_hosts(of["nodes"]) if "nodes" in of else ()
        if missing := [each for each in listed if each not in nodes]:
            notes.assumed(of["nodes"], f"{compress_names(missing)} are no nodes of the cluster and are left out")
        below = named_hosts(of["switches"]) if "switches" in of else ()
        if below:
            below_of.append((of["switches"], below))
        switches.append(Switch(name, tuple(each for each in listed if each in nodes), below))
    names = {switch.name for switch in switches}
    for entry, below in below_of:
        if lost := [each for each in below if each not in names]:
            raise entry.refuse(f"switches of this file, but {lost[0]} is none", "Add its line, or take the name out")
    return tuple(switches)


# --- topology.yaml


_YAML_KEYS = {"switch": "switchname", "children": "switches", "nodes": "nodes"}
_LEFT_OUT = {
    "block": "jobs would be placed by blocks of nodes",
    "ring": "jobs would be placed along rings of nodes",
    "torus3d": "jobs would be placed in boxes of a torus of nodes",
}


@dataclass(frozen=True)
class NetworkTopology:
    """kind: of the cluster's topology, such as "tree" or "block". switches: of a tree, () for others."""

    kind: str
    switches: tuple[Switch, ...] = ()


def read_topology_yaml(file: TextFile, nodes: Collection[str], notes: Notes) -> NetworkTopology:
    """The topology of the cluster: the first one with `cluster_default: true`, else the first. nodes: as for `read_topology_conf`.

    A topology that is no tree is named as not modelled, one beside the cluster's as without effect: a partition that uses it says so.
    Raises ConfigurationError, with file and line, for what is no list of topologies, and for a tree of another form."""
    topologies = [_table(node, file.name) for node in _root(file)]
    if not topologies:
        raise ConfigurationError(file.name, 1, "topologies such as `- topology: NAME` with tree: below, found none")
    default = next((of for of in topologies if _text(of, "cluster_default").lower() in _YES), topologies[0])
    chosen = NetworkTopology("flat")
    for of in topologies:
        kind = next((kind for kind in ("tree", "flat", *_LEFT_OUT) if kind in of), "")
        line = (of[kind] if kind else of["topology"]).start_mark.line + 1
        entry = Entry(file.name, line, kind or "topology", _text(of, "topology"))
        if of is not default:
            notes.add(entry, NO_EFFECT, "it is not the cluster's; only partitions that name it would use it")
        elif kind == "tree":
            chosen = NetworkTopology(kind, _switches(_yaml_lines(of[kind], file.name), nodes, notes))
        elif kind == "flat":
            notes.add(entry, NO_EFFECT, "all nodes are alike")
        else:
            notes.unmodelled(entry, _LEFT_OUT.get(kind, "jobs would be placed by a topology that no table of ours has"))
            chosen = NetworkTopology(kind or "unknown")
    return chosen


_YES = ("true", "yes", "on")


def _root(file: TextFile) -> list[yaml.Node]:
    try:
        root = yaml.compose(file.text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        expected = f"valid YAML, but: {problem or str(error).splitlines()[0]}"
        raise ConfigurationError(file.name, mark.line + 1 if mark else 1, expected, "Copy the file again") from None
    except RecursionError:
        raise ConfigurationError(file.name, 1, "valid YAML, but its brackets are nested too deeply") from None
    return root.value if isinstance(root, yaml.SequenceNode) else []


def _table(node: yaml.Node, file: str, needed: str = "topology") -> dict[str, yaml.Node]:
    """The values of a mapping by key."""
    table = {}
    if isinstance(node, yaml.MappingNode):
        table = {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}
    if needed not in table:
        raise ConfigurationError(file, node.start_mark.line + 1, f"a mapping with the key {needed}, found none")
    return table


def _yaml_lines(tree: yaml.Node, file: str) -> Iterator[Attributes]:
    switches = _table(tree, file, "switches")["switches"]
    for node in switches.value if isinstance(switches, yaml.SequenceNode) else ():
        of = _table(node, file, "switch")
        yield {
            name: Entry(file, of[key].start_mark.line + 1, key, _text(of, key))
            for key, name in _YAML_KEYS.items()
            if key in of
        }


def _text(of: dict[str, yaml.Node], key: str) -> str:
    node = of.get(key)
    return node.value.strip() if isinstance(node, yaml.ScalarNode) else ""
