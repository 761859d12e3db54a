"""A cluster description from the TOML file that `traces.cluster.toml_writing` writes. Unknown keys and other types are refused."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from datetime import datetime
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from traces.cluster.accounts import Account, AccountUser, Limit, ServiceQuality
from traces.cluster.description import (
    Absence,
    AdvanceReservation,
    ClusterDescription,
    Gate,
    Node,
    Partition,
    SchedulerSettings,
    Switch,
)
from traces.cluster.hostlists import expand_hostlist
from traces.cluster.notes import ConfigurationError, DescribedCluster, Remark, read_text_file, with_left_out
from traces.cluster.toml_writing import HOST_FIELDS

_SECTIONS: dict[str, type] = {
    "nodes": Node,
    "partitions": Partition,
    "qualities": ServiceQuality,
    "accounts": Account,
    "members": AccountUser,
    "limits": Limit,
    "reservations": AdvanceReservation,
    "switches": Switch,
    "gates": Gate,
    "left_out": Remark,
}
_MANY = {"nodes": ("names", "name"), "members": ("users", "user")}
"""Section -> key of several names in one table, and the field that each of them is."""
_TYPE_WORDS = {str: "a text in quotes", int: "a whole number", float: "a number", bool: "true or false"}


def read_cluster_file(path: Path) -> DescribedCluster:
    """The cluster of a file, and the remarks that it has. Raises ConfigurationError, with file, line and what was expected."""
    return parse_cluster_toml(read_text_file(path).text, path.name)


def parse_cluster_toml(text: str, file: str) -> DescribedCluster:
    """The cluster that the text of a file describes. Raises ConfigurationError, with file, line and what was expected."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise ConfigurationError(file, int(line.group(1)) if line else 0, f"valid TOML, but: {error}") from None
    reading = _Reading(file, text)
    head = ("name", "valid_from", "licences", "scheduler")
    reading.known_keys(document, (*head, *_SECTIONS), "", 0)
    parts: dict[str, Any] = {section: reading.parts(document, section) for section in _SECTIONS}
    scheduler = document.get("scheduler", {})
    reading.known_keys(scheduler, ("name", "version", "values", "order"), "scheduler", 0)
    remarks = parts.pop("left_out")
    head_values: dict[str, Any] = {
        "name": reading.typed(document.get("name"), str, "name", "", 0),
        "licences": reading.typed(document.get("licences", {}), Mapping[str, int], "licences", "", 0),
        "scheduler": reading.made(SchedulerSettings, dict(scheduler), "scheduler", 0),
        "valid_from_s": reading.moment(document.get("valid_from")),
    }
    try:
        description = ClusterDescription(**head_values, **parts)
    except ValueError as error:
        raise ConfigurationError(file, 0, f"parts that fit together, but {error}", "Correct the file") from error
    return with_left_out(DescribedCluster(description, remarks))


class _Reading:
    """Makes dataclasses of tables, and knows the line of each key for messages."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.lines = _lines_of_keys(text)

    def fail(self, section: str, number: int, key: str, expected: str, remedy: str = "") -> ConfigurationError:
        """The error at the line of a key, else of its table."""
        line = self.lines.get((section, number, key), self.lines.get((section, number, ""), 0))
        return ConfigurationError(self.file, line, expected, remedy)

    def known_keys(self, table: Any, names: tuple[str, ...], section: str, number: int) -> None:
        """Raises ConfigurationError for a key that is not one of the names."""
        if not isinstance(table, dict):
            raise self.fail("", 0, section, f"a table [{section}], found {table!r}")
        for key in table:
            if key not in names:
                where = f" in [{section}]" if section else ""
                raise self.fail(
                    section, number, key, f"one of {', '.join(sorted(names))}{where}, found the key {key!r}"
                )

    def parts(self, document: Mapping[str, Any], section: str) -> tuple[Any, ...]:
        """The parts of a section's tables, in their order."""
        tables = document.get(section, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise self.fail("", 0, section, f"tables [[{section}]], found {tables!r}")
        made: list[Any] = []
        for number, table in enumerate(tables):
            many, field = _MANY.get(section, ("", ""))
            given = dict(table)
            names = self.hosts(given.pop(many, None), many, section, number) if many else ()
            if many and not names:
                raise self.fail(section, number, many, f"{many} of this table of [[{section}]]")
            if not many:
                made.append(self.made(_SECTIONS[section], given, section, number))
            for name in names:
                made.append(self.made(_SECTIONS[section], {**given, field: name}, section, number))
        return tuple(made)

    def made(self, kind: type, table: dict[str, Any], section: str, number: int) -> Any:
        """A table as a dataclass of this kind."""
        many, single = _MANY.get(section, ("", ""))
        hints = _hints(kind)
        allowed = {many if name == single else name for name in hints} | {single}
        self.known_keys(table, tuple(allowed - {""}), section, number)
        values = {key: self.typed(value, hints[key], key, section, number) for key, value in table.items()}
        for field in fields(kind):
            is_needed = field.default is MISSING and field.default_factory is MISSING
            if is_needed and field.name not in values and kind is not Remark:
                raise self.fail(section, number, "", f"the key {field.name} in this table of [[{section}]]")
        if kind is Remark:
            values = {"line": 0, "value": ""} | values
        try:
            return kind(**values)
        except (ValueError, TypeError) as error:
            raise self.fail(section, number, "", f"values that fit together, but {error}") from error

    def typed(self, value: Any, hint: Any, key: str, section: str, number: int) -> Any:
        """The value, which must be of the type of its field."""
        if key in HOST_FIELDS:
            return self.hosts(value, key, section, number)
        if key == "gpus" and isinstance(value, int) and not isinstance(value, bool):
            return {"": value}
        try:
            return _checked(value, hint)
        except TypeError as error:
            raise self.fail(section, number, key, f"{error} as {key}, found {value!r}") from None

    def hosts(self, value: Any, key: str, section: str, number: int) -> tuple[str, ...]:
        """Names of a list of hosts, or of an array of names."""
        if value is None:
            return ()
        if isinstance(value, str):
            try:
                return tuple(expand_hostlist(value))
            except ValueError as error:
                raise self.fail(section, number, key, f"names such as n[01-16] as {key} ({error})") from error
        if isinstance(value, list) and all(isinstance(name, str) for name in value):
            return tuple(value)
        raise self.fail(section, number, key, f"names such as n[01-16] as {key}, found {value!r}")

    def moment(self, value: Any) -> int | None:
        """UTC second of a TOML date and time, None without one."""
        if value is None:
            return None
        if not isinstance(value, datetime) or value.tzinfo is None:
            raise self.fail("", 0, "valid_from", f"a time such as 2026-03-01T00:00:00Z as valid_from, found {value!s}")
        return int(value.timestamp())


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _checked(value: Any, hint: Any) -> Any:
    """The value as the type has it: arrays as tuples, tables as mappings or absences. Raises TypeError with what was expected."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is UnionType and value is None and NoneType in arguments:
        return None
    if origin is UnionType:
        if value is None:
            return None
        for each in arguments:
            if each is not NoneType:
                try:
                    return _checked(value, each)
                except TypeError:
                    continue
        raise TypeError(" or ".join(_TYPE_WORDS.get(each, str(each)) for each in arguments if each is not NoneType))
    if origin is tuple:
        if not isinstance(value, list):
            raise TypeError("an array in brackets")
        return tuple(_checked(each, arguments[0]) for each in value)
    if origin is not None:
        if not isinstance(value, dict):
            raise TypeError("a table in braces")
        return {key: _checked(each, arguments[1]) for key, each in value.items()}
    if hint is Absence:
        if not isinstance(value, dict) or not value.keys() <= {"begin_s", "end_s", "state"} or "begin_s" not in value:
            raise TypeError("a table with begin_s, end_s and state")
        return Absence(
            _checked(value["begin_s"], int), _checked(value.get("end_s"), int | None), value.get("state", "down")
        )
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint:
        raise TypeError(_TYPE_WORDS.get(hint, str(hint)))
    return value


def _lines_of_keys(text: str) -> dict[tuple[str, int, str], int]:
    """(section, which of its tables, key) -> line, with "" as the key of the table itself."""
    lines: dict[tuple[str, int, str], int] = {}
    counts: dict[str, int] = {}
    section, number = "", 0
    for line_number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\[?\s*([\w.\"-]+)\s*\]", line):
            section = header.group(1)
            number = counts.get(section, 0)
            counts[section] = number + 1
            lines[section, number, ""] = line_number
        elif key := re.match(r"\s*(?:\"([^\"]*)\"|([\w-]+))\s*[.=]", line):
            lines.setdefault((section, number, key.group(1) or key.group(2)), line_number)
    for (name, _, in_table), line_number in list(lines.items()):
        if not in_table and name:
            lines.setdefault(("", 0, name.split(".")[0]), line_number)
    return lines
