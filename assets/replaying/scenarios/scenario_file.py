"""The file of scenarios: what each changes, as it is written. docs/guides/what-if.md has a table of all keys."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from assets.common.progress import warn
from assets.common.writing.options import options_of
from assets.replaying.configuring.configuration import (
    CONFIGURATION_SETTINGS,
    CONFIGURATION_WORDS,
    EDIT_EXAMPLE,
    is_configuration_word,
)
from assets.replaying.running.scored_part import PartOptions
from assets.replaying.running.settings import TEXT, NodeSettings, RunSettings, parse_partition
from traces.catalogue.checking import Checker

SCENARIO_KEYS = {name: option.key for name, option in options_of(RunSettings, NodeSettings).items() if option.key}
"""By key of a scenario: what it must be, in words."""
AMOUNTS = ("procs", "nodes", "load", "round_walltimes")
"""Keys whose values are numbers or texts such as +10%, -4 and 4h."""
PART_KEYS = {"period": "period", "from": "begin", "to": "end", "queue": "queue", "user": "user", "account": "account"}
"""Keys of the file, and fields of PartOptions."""
FILE_KEYS = ("source", *PART_KEYS, "base", "scenarios")
SET_ALONE = "--set"
"""In the place of a file, of one scenario that options of the command line say."""
BASE, LOG = "base", "log"
"""What rows of results are called that are no scenario's."""
_OPTION = re.compile(r"--([a-z][a-z-]*[a-z])( [+-]?\d\w*)?")
"""An option of the command line, and a value that is a number behind it."""
LONGEST_NAME = 60
EXAMPLE = '[scenarios."10 % more processors"] and below it procs = "+10%"'

Changes = dict[str, Any]
"""By key: a text, an int of procs_per_node, a list of queues, or processors by queue."""


@dataclass(frozen=True)
class ScenarioFile:
    """What a file of scenarios says, with keys and types checked, and amounts as texts.

    where: the file, as messages name it. lines: of tables and keys, by path. scenarios: in the order of the file. faults: what is wrong
    with further scenarios, by name. order: all names.
    """

    where: str
    source: str | None
    part: PartOptions
    base: Changes
    scenarios: dict[str, Changes]
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)
    order: tuple[str, ...] = ()

    def at(self, *path: str) -> str:
        """Where something is, as messages begin: the file, the line, and the scenario. path: of the table or key."""
        if self.where == SET_ALONE:
            return SET_ALONE
        line = next((self.lines[path[:k]] for k in range(len(path), 0, -1) if path[:k] in self.lines), None)
        place = self.where if line is None else f"{self.where}:{line}"
        if path[:1] == (BASE,):
            return f"{place}: [base]"
        return f"{place}: scenario {path[1]!r}" if path[:1] == ("scenarios",) and len(path) > 1 else place

    @contextmanager
    def naming(self, *path: str) -> Iterator[None]:
        """Faults say which table they are of."""
        try:
            yield
        except ValueError as error:
            raise ValueError(f"{self.at(*path)}: {error}") from error

    @contextmanager
    def keeping_fault(self, name: str, failures: dict[str, str]) -> Iterator[None]:
        """Whatever goes wrong with a scenario is kept by its name, so that the others go on."""
        try:
            yield
        except Exception as error:
            said = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            of_option = _key_to_set if self.where == SET_ALONE else _key_of_option
            failures[name] = f"{self.at('scenarios', name)}: {_OPTION.sub(of_option, said)}"


def _key_of_option(option: re.Match[str]) -> str:
    """What a message calls an option of the command line is a key here."""
    key = option[1].replace("-", "_")
    return f"{key}{option[2] or ''}" if key in SCENARIO_KEYS else option[0]


def _key_to_set(option: re.Match[str]) -> str:
    """And on the command line of `what-if`, which has --cluster itself, it is set."""
    key, value = option[1].replace("-", "_"), option[2]
    if key not in SCENARIO_KEYS or key == "cluster":
        return option[0]
    return f"--set {key}={value.strip()}" if value else key


def read_scenarios(path: Path) -> ScenarioFile:
    """The scenarios of a TOML file. Raises ValueError with file, line, scenario and remedy."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file of scenarios; write one that has {EXAMPLE}") from None
    except IsADirectoryError:
        raise ValueError(f"{path}: is a folder; give the TOML file with the scenarios, which has {EXAMPLE}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: cannot be read as a UTF-8 text file ({error})") from None
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        raise ValueError(f"{path}{f':{line[1]}' if line else ''}: not valid TOML: {error}") from None
    except RecursionError:
        raise ValueError(f"{path}: no file of scenarios: brackets are nested too deep. Correct it") from None
    return scenarios_of(document, str(path), Checker(path, text, "scenarios").lines)


def scenarios_of(
    document: Mapping[str, Any], where: str = "scenarios", lines: Mapping[tuple[str, ...], int] | None = None
) -> ScenarioFile:
    """The scenarios of a document as TOML has it. Raises ValueError that says where the fault is, if it is not of one scenario alone, or if
    no scenario is right."""
    empty = ScenarioFile(where, None, PartOptions(), {}, {}, lines or {})
    for key in document:
        _check_key(empty, key, FILE_KEYS, key)
    source = document.get("source")
    if source is not None and (not isinstance(source, str) or not source):
        raise ValueError(f"{empty.at('source')}: source must be the name of a source, found {source!r}")
    part = {PART_KEYS[key]: _label(empty, key, document[key]) for key in PART_KEYS if key in document}
    tables = document.get("scenarios", {})
    if not isinstance(tables, Mapping) or not tables:
        raise ValueError(f"{where}: no scenario; write one such as {EXAMPLE}")
    scenarios, faults = {}, {}
    for name, table in tables.items():
        try:
            scenarios[_name(empty, name)] = _changes(empty, table, "scenarios", name)
        except ValueError as error:
            faults[name] = str(error)
    if not scenarios:
        raise ValueError("\n".join(faults.values()))
    base = _changes(empty, document.get("base", {}), "base")
    return ScenarioFile(where, source, PartOptions(**part), base, scenarios, empty.lines, faults, tuple(tables))


def _name(file: ScenarioFile, name: str) -> str:
    place = file.at("scenarios", name)
    if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        raise ValueError(f"{place}: a name has 1 to {LONGEST_NAME} letters, all of them printable: give it another one")
    if name in (BASE, LOG):
        raise ValueError(f"{place}: {name!r} is a row of the results already: give the scenario another name")
    return name


def _changes(file: ScenarioFile, table: Any, *path: str) -> Changes:
    if not isinstance(table, Mapping):
        raise ValueError(f'{file.at(*path)}: expected a table of keys such as procs = "+10%", found {table!r}')
    if not table and path != (BASE,):
        raise ValueError(f'{file.at(*path)}: changes nothing: give it a key such as procs = "+10%", or leave it out')
    changes = {}
    for written, value in table.items():
        key = written.replace("-", "_")
        _check_key(file, key, tuple(SCENARIO_KEYS), *path, written)
        changes[key] = _checked_value(file, key, value, *path, written)
    if "procs" in changes and "nodes" in changes:
        raise ValueError(f"{file.at(*path, 'nodes')}: procs and nodes both say how large the cluster is: leave one out")
    return changes


def _check_key(file: ScenarioFile, key: str, keys: tuple[str, ...], *path: str) -> None:
    if key in keys:
        return
    near = get_close_matches(key, keys, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else ";"
    raise ValueError(f"{file.at(*path)}: unknown key {key!r}{meant} keys are {', '.join(keys)}")


def _checked_value(file: ScenarioFile, key: str, value: Any, *path: str) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if SCENARIO_KEYS[key] == TEXT and isinstance(value, str):
        return value
    if key in AMOUNTS and (isinstance(value, str) or is_number):
        return str(value)
    if key == "procs_per_node" and is_number and isinstance(value, int) and value >= 1:
        return value
    queues = [value] if isinstance(value, str) else value
    if (
        key in ("without_queue", "edits")
        and isinstance(queues, list)
        and all(isinstance(queue, str) for queue in queues)
    ):
        return list(queues)
    if key == "partitions" and isinstance(value, Mapping) and all(type(procs) is int for procs in value.values()):
        return dict(value)
    raise ValueError(f"{file.at(*path)}: {key} must be {SCENARIO_KEYS[key]}, found {value!r}")


def changes_of_lines(lines: Iterable[str], files: Iterable[str] = ()) -> Changes:
    """What a scenario changes, of texts such as "procs=+10%". A key of the file is that, and any other text a line of the configuration,
    which "edits=LINE" always is. files: new ones of the configuration.

    Raises ValueError for a key that is neither, and for one of the file that is given twice and has no list."""
    changes: Changes = {}
    edits = [*files]
    for line in lines:
        written, _, value = line.partition("=")
        key, value = written.strip().replace("-", "_"), value.strip().strip("\"'")
        if key == "edits":
            edits.append(value)
        elif key not in SCENARIO_KEYS:
            _check_word(line, written.strip())
            edits.append(line)
        elif key == "without_queue":
            changes.setdefault(key, []).append(value)
        elif key == "partitions":
            changes.setdefault(key, {}).update(parse_partition(each) for each in value.split(",") if each.strip())
        elif key in changes:
            raise ValueError(f"{line}: {key} is {changes[key]!r} already: give it once")
        else:
            changes[key] = int(value) if key == "procs_per_node" and value.isdecimal() else value
            _say_if_both(line, key)
    return changes | ({"edits": edits} if edits else {})


def _check_word(line: str, key: str) -> None:
    if is_configuration_word(key.removesuffix("+").strip()) or "=" not in line:
        return
    near = get_close_matches(key.lower(), [*SCENARIO_KEYS, *CONFIGURATION_WORDS], n=1)
    meant = f"; did you mean {near[0]!r}?" if near else "."
    raise ValueError(
        f"{line}: unknown key {key!r}{meant} Keys of a scenario are {', '.join(SCENARIO_KEYS)}. Any other is a line of the configuration "
        f"of Slurm or PBS, such as {EDIT_EXAMPLE}"
    )


def _say_if_both(line: str, key: str) -> None:
    """A key that a configuration has, too, is taken as that of a scenario, and this is said."""
    if key in CONFIGURATION_SETTINGS:
        warn(f"{line} is taken as the key {key} of a scenario; the line of the configuration is edits={line.strip()}")


def _label(file: ScenarioFile, key: str, value: Any) -> str:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise ValueError(f"{file.at(key)}: {key} must be a text in quotes, found {value!r}")
