"""Trees of switches from Slurm's `topology.conf`, and from its newer `topology.yaml`.

Format: Slurm's man pages `topology.conf(5)`, the part on topology/tree, and `slurm.conf(5)` for comments and continued lines.

Switches of Slurm's `topology.yaml` (man page `topology.yaml(5)`, since Slurm 25.05), with the line of each.

A topology may have a key `hops` of ours, such as `hops: [2, 4, 6]`: hops between two nodes by the level of their lowest common switch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import yaml

from simulator.topology.switch_graph import Faults, SwitchDefinition, Words, switch_definition, tree_of_switches
from simulator.topology.tree import SwitchTree, with_hops

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


CONF_WORDS = Words("SwitchName=", "Switches=", "Nodes=", "SwitchName=s0 Nodes=n[0-9]", "SwitchName=top Switches={}")

_MOST_BYTES = 1 << 24
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_SETTING = re.compile(r'\s*([A-Za-z0-9_.]+)\s*=\s*(?:"([^"]*)"|([^\s"=]*))(?=\s|$)')
_INCLUDE = re.compile(r"\s*include\s+(\S.*)", re.IGNORECASE)
_KEYS = {"switchname": "SwitchName", "switches": "Switches", "nodes": "Nodes", "linkspeed": "LinkSpeed"}
_OTHER_PLUGINS = {"blockname": "block", "blocksizes": "block", "ringname": "ring"}


def read_topology(path: str | Path) -> SwitchTree:
    """The tree of switches that a `topology.conf` defines, or a `topology.yaml`, by the file's ending.

    Lines may be in any order, and keys in any case. `LinkSpeed=` is ignored. Nodes come leaf by leaf, in the order of the lists.
    How far nodes of uneven branches are from each other: `tree_of_switches`.
    Raises ValueError, with file and line, for a file that cannot be read or that is no single tree. All faults come together.
    """
    path = Path(path)
    text = _text_of(path)
    faults = Faults(path)
    is_yaml = path.suffix.lower() in (".yaml", ".yml")
    words = YAML_WORDS if is_yaml else CONF_WORDS
    definitions, hops, line = (
        switches_of_yaml(text, faults) if is_yaml else (list(_switches_of_conf(text, faults)), None, 0)
    )
    if not definitions and not faults:
        what = "has no switch" if text.strip() else "is empty"
        faults.add(0, f"the file {what}: expected switches such as {words.leaf}. Write them")
    tree = tree_of_switches(definitions, words, faults)
    try:
        return tree if hops is None else with_hops(tree, hops)
    except ValueError as error:
        raise ValueError(f"{path}:{line}: {error}") from None


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file. Correct the path of the topology.conf") from None
    except IsADirectoryError:
        raise ValueError(f"{path}: is a folder. Name the topology.conf in it") from None
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror}). Expected a readable topology.conf") from None
    binary = _BINARY.search(content)
    if binary is not None:
        line = content.count(b"\n", 0, binary.start()) + 1
        raise ValueError(
            f"{path}:{line}: byte {content[binary.start()]:#04x} is no text. Expected a topology.conf, unpacked and "
            "saved as plain text"
        )
    if len(content) > _MOST_BYTES:
        raise ValueError(
            f"{path}: more than {_MOST_BYTES >> 20} MiB. Expected a topology.conf, and this is another file"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _lines_of_conf(text: str) -> Iterator[tuple[int, str]]:
    """(number of the first line, text) of each line that is not empty, without comments, continued lines joined."""
    first, joined = 0, ""
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
        part = line.split("#", 1)[0].rstrip()
        if not joined:
            first = number
        elif joined.endswith(","):
            part = part.lstrip()
        joined += part.removesuffix("\\")
        if part.endswith("\\"):
            joined = joined or " "
            continue
        if joined.strip():
            yield first, joined
        joined = ""
    if joined.strip():
        yield first, joined


def _switches_of_conf(text: str, faults: Faults) -> Iterator[SwitchDefinition]:
    for line, content in _lines_of_conf(text):
        include = _INCLUDE.fullmatch(content)
        if include is not None and "=" not in content.split()[0]:
            faults.is_complete = False
            faults.add(line, f"Include is not followed: copy the lines of {include.group(1).strip()} to this place")
            continue
        before = len(faults)
        settings = _settings(line, content, faults)
        if "SwitchName" not in settings:
            faults.is_complete = False
            if len(faults) == before:
                faults.add(line, f"no SwitchName= in {_short(content)!r}: expected SwitchName=s0 Nodes=n[0-9]. Add it")
            continue
        name = settings["SwitchName"]
        if not name:
            faults.is_complete = False
            faults.add(line, "SwitchName= has no name: expected one such as SwitchName=s0. Add it")
            continue
        lists = {f"{key}=": settings[key] for key in ("Switches", "Nodes") if key in settings}
        yield switch_definition(line, name, lists, CONF_WORDS, faults, is_readable=len(faults) == before)


def _settings(line: int, content: str, faults: Faults) -> dict[str, str]:
    """The settings of a line by key. Adds faults for other keys, for a key that comes twice, and for other text."""
    settings: dict[str, str] = {}
    place = 0
    while content[place:].strip():
        match = _SETTING.match(content, place)
        if match is None:
            faults.is_complete = False
            faults.add(line, _fault_of_text(content[place:].strip()))
            break
        place = match.end()
        key = _KEYS.get(match.group(1).lower())
        if key is None:
            faults.add(line, _fault_of_key(match.group(1)))
        elif key in settings:
            faults.add(line, f"{key}= comes twice on the line: expected it once. Join the two")
        else:
            settings[key] = match.group(2) or match.group(3) or ""
    return settings


def _fault_of_text(rest: str) -> str:
    if rest.count('"') == 1:
        return f"an open quotation mark in {_short(rest)!r}: expected a second one. Add it"
    return f"cannot read {_short(rest)!r}: expected KEY=VALUE, with blanks between settings and none within lists. Join names by commas"


def _fault_of_key(key: str) -> str:
    plugin = _OTHER_PLUGINS.get(key.lower())
    if plugin is not None:
        return f"{key}= is of topology/{plugin}: expected the switches of topology/tree. Write it as a tree of switches"
    expected = ", ".join(f"{one}=" for one in _KEYS.values())
    close = get_close_matches(key.lower(), _KEYS, n=1)
    advice = f"Did you mean {_KEYS[close[0]]}=?" if close else "Take it out"
    return f"unknown key {key}=: expected {expected}. {advice}"


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
