"""What `qmgr -c "print server"`, `print sched` and `list sched` print, and `qstat -Bf` and `qstat -Qf`, as attributes of named objects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from traces.cluster.notes import UNKNOWN_KEY, ConfigurationError, Entry, Notes, TextFile

Attributes = dict[str, Entry]
"""Entries by attribute, as `max_run_res.ncpus`. What `+=` adds stands behind a comma."""

OBJECTS = ("server", "queue", "sched", "node", "resource", "hook", "pbshook")
_HOOKS = ("hook", "pbshook")
_CREATE = re.compile(r"(?:create|import)\s+(\w+)\s+(\S+)\s*(.*)", re.IGNORECASE)
_SET = re.compile(r"set\s+(\w+)\s+(?:(\S+)\s+)?([\w.@-]+)\s*(\+?=)\s*(.*)", re.IGNORECASE)
_LIST_HEAD = re.compile(r"(Server|Queue|Sched|Node|Resource|Hook):?\s+(\S+)", re.IGNORECASE)
_LIST_ENTRY = re.compile(r"\s+([\w.-]+)\s*=\s*(.*)")
_BY_BLANKS = re.compile(r" {1,5}\S")


@dataclass
class ServerState:
    """Objects by kind (one of OBJECTS) and name. The server, and a scheduler that is not named, have the name ""."""

    objects: dict[str, dict[str, Attributes]] = field(default_factory=lambda: {kind: {} for kind in OBJECTS})

    def of(self, kind: str, name: str = "") -> Attributes:
        """The attributes of an object, which is made where it is missing."""
        return self.objects[kind].setdefault(name, {})

    def resource_type(self, resource: str) -> str:
        """The type of a resource of the site's own, such as "string_array". "" for one that is built in."""
        entry = self.objects["resource"].get(resource, {}).get("type")
        return entry.value.strip().lower() if entry else ""


def joined_lines(file: TextFile) -> Iterator[tuple[int, str]]:
    """The lines with those that continue them, each with the number of its first.

    OpenPBS indents an attribute by four blanks, and what continues it by a tab: qmgr after a comma, qstat also within a long word.
    Torque's qmgr indents an attribute by a tab, and what continues it by more blanks."""
    begin, joined, by_blanks = 0, "", False
    for number, line in file.lines():
        is_attribute = _LIST_ENTRY.fullmatch(line) is not None
        by_blanks |= _BY_BLANKS.match(line) is not None
        by_tab = line[0] == "\t" and (by_blanks or not is_attribute)
        continues = by_tab or (line[0] == " " and not _BY_BLANKS.match(line))
        if continues and joined:
            joined += line.strip()
            continue
        if joined:
            yield begin, joined
        begin, joined = number, line
    if joined:
        yield begin, joined


def read_qmgr(file: TextFile, state: ServerState, notes: Notes) -> None:
    """Puts the objects of a file into `state`. Raises ConfigurationError for a line that is no statement of qmgr."""
    kind, name = "", ""
    for number, line in joined_lines(file):
        if head := _LIST_HEAD.fullmatch(line.strip()):
            kind, name = head.group(1).lower(), head.group(2)
            name = "" if kind == "server" or (kind == "sched" and name == "default") else name
            state.of(kind, name)
        elif (listed := _LIST_ENTRY.fullmatch(line)) and kind:
            _put(
                state.of(kind, name), Entry(file.name, number, listed.group(1), _unquoted(listed.group(2))), adds=False
            )
        else:
            _statement(file, number, line.strip(), state, notes)


def _statement(file: TextFile, number: int, line: str, state: ServerState, notes: Notes) -> None:
    if created := _CREATE.fullmatch(line):
        kind, name, rest = created.group(1).lower(), created.group(2), created.group(3)
        if kind == "hook" or kind == "pbshook":
            if line.lower().startswith("create"):
                notes.unmodelled(
                    Entry(file.name, number, f"hook {name}", ""), "a site's program may hold, change or refuse jobs"
                )
            return
        if kind not in OBJECTS:
            notes.add(Entry(file.name, number, kind, name), UNKNOWN_KEY, "no object of PBS that is known to us")
            return
        attributes = state.of(kind, "" if kind == "sched" and name == "default" else name)
        for key, value in re.findall(r"([\w.]+)\s*=\s*([^,\s]+)", rest):
            _put(attributes, Entry(file.name, number, key, _unquoted(value)), adds=False)
        return
    parts = _SET.fullmatch(line)
    kind = parts.group(1).lower() if parts else ""
    if parts is None or kind not in OBJECTS or (kind in ("queue", "node", "resource") and not parts.group(2)):
        raise ConfigurationError(
            file.name,
            number,
            f"a statement such as `set server backfill_depth = 1`, found {line[:60]!r}",
            'Write the output of `qmgr -c "print server"` into the file, and nothing else',
        )
    name = parts.group(2) or ""
    if kind in _HOOKS:
        _hook(Entry(file.name, number, f"hook {name}", ""), state, notes)
        return
    name = "" if kind == "server" or (kind == "sched" and name == "default") else name
    entry = Entry(file.name, number, parts.group(3), _unquoted(parts.group(5)))
    _put(state.of(kind, name), entry, adds=parts.group(4) == "+=")


def _hook(entry: Entry, state: ServerState, notes: Notes) -> None:
    """One remark for each hook, however many lines it has."""
    if entry.key not in state.objects["hook"]:
        state.objects["hook"][entry.key] = {}
        notes.unmodelled(entry, "a program of the site may hold, change or refuse jobs")


def _put(attributes: Attributes, entry: Entry, adds: bool) -> None:
    before = attributes.get(entry.key)
    if adds and before:
        entry = Entry(entry.file, entry.line, entry.key, f"{before.value},{entry.value}")
    attributes[entry.key] = entry


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text
