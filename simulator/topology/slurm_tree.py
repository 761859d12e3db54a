"""Trees of switches from Slurm's `topology.conf`, and from its newer `topology.yaml`.

Format: Slurm's man pages `topology.conf(5)`, the part on topology/tree, and `slurm.conf(5)` for comments and continued lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from simulator.topology.slurm_yaml import YAML_WORDS, switches_of_yaml
from simulator.topology.switch_graph import Faults, SwitchDefinition, Words, switch_definition, tree_of_switches
from simulator.topology.tree import SwitchTree, with_hops

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
