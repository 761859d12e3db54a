"""What differs from the papers, a line a part: from papers/differences.toml into docs/reference/differences.md.

A page names a system in a comment, `<!-- differences: NAME -->`, and its table ends with `<!-- end -->`. `python -m studies results
--pages` writes it. Lines name values of the code that they are about, and a test compares these.
"""

from __future__ import annotations

import importlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from papers.markdown import markdown
from traces.catalogue.places import PROJECT

DIFFERENCES = PROJECT / "papers" / "differences.toml"
DIFFERENCES_MARK = re.compile(r"<!-- differences: (?P<name>[^>]+?) -->\n\n(?P<table>.*?)\n*<!-- end -->", re.S)


@dataclass(frozen=True)
class SystemPart:
    """A line. paper, here: what the paper says and where, and what is here. same: whether nothing differs. holds: values in the code by
    `module:name.name`."""

    part: str
    paper: str
    here: str
    same: bool
    holds: Mapping[str, Any]


@dataclass(frozen=True)
class PaperSystem:
    """name: of the system. paper: its authors. page: of results, without suffix. ours: what our own is called, and what it is."""

    name: str
    paper: str
    page: str
    ours: str
    parts: tuple[SystemPart, ...]


def paper_systems(file: Path = DIFFERENCES) -> list[PaperSystem]:
    """All systems of the file."""
    systems = []
    for each in tomllib.loads(file.read_text())["system"]:
        parts = tuple(SystemPart(**({"holds": {}} | part)) for part in each.pop("part"))
        systems.append(PaperSystem(**each, parts=parts))
    return systems


def value_at(path: str) -> Any:
    """What the code has at `module:name.name`, tuples as lists. A name is an attribute, or a key of a dictionary."""
    module, _, names = path.partition(":")
    value: Any = importlib.import_module(module)
    for name in names.split("."):
        value = value[name] if isinstance(value, Mapping) else getattr(value, name)
    return _plain(value)


def differences_table(system: PaperSystem) -> str:
    """The table of what differs, and a list of what does not."""
    rows = [[part.part, part.paper, part.here] for part in system.parts if not part.same]
    equal = [part for part in system.parts if part.same]
    lines = [f"* {part.part}: {part.paper}" + ("" if part.here == "the same" else f". {part.here}") for part in equal]
    return "\n".join(
        [markdown(["part", "the paper", "here"], rows), *(["", "As the paper:", "", *lines] if lines else [])]
    )


def with_differences(page: str, systems: list[PaperSystem]) -> str:
    """A page with the tables of its systems. Raises KeyError for a system that the file lacks."""
    tables = {system.name: f"{system.ours}\n\n{differences_table(system)}" for system in systems}

    def table_of(match: re.Match[str]) -> str:
        return f"<!-- differences: {match['name']} -->\n\n{tables[match['name']].strip()}\n\n<!-- end -->"

    return DIFFERENCES_MARK.sub(table_of, page)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
