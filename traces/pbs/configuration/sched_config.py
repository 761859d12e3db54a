"""PBS's `sched_config`: `name: value prime|non_prime|all`, the file of the scheduler's own settings."""

from __future__ import annotations

import re

from traces.cluster.description import Setting
from traces.cluster.files import TextFile
from traces.cluster.notes import Entry, Notes
from traces.cluster.remarks import MODELLED, ConfigurationError
from traces.pbs.configuration.keys import SCHED_CONFIG_KEYS
from traces.pbs.configuration.notes import setting_of

NON_PRIME = "non_prime"
_TIMES = ("prime", NON_PRIME, "all", "none")
_LISTED = ("job_sort_key", "node_sort_key")
"""Keys that may come several times, the first line first."""
_LINE = re.compile(r"([\w.-]+)\s*:\s*(\"[^\"]*\"|[^\s\"]*(?:\s*,\s*[^\s\"]+)*)\s*(\S+)?\s*")


def read_sched_config(file: TextFile, notes: Notes) -> dict[str, Setting]:
    """Settings by name. A value for non-prime time that differs stands under `name.non_prime`. Several sort keys are joined by a comma.

    Raises ConfigurationError for a line of another form, and for a value that decides and cannot be read.
    """
    values: dict[str, Setting] = {}
    for number, line in file.lines():
        parts = _LINE.fullmatch(line.strip())
        if parts is None or (parts.group(3) or "all").lower() not in _TIMES:
            expected = f"`name: value` and one of {', '.join(_TIMES)}, found {line.strip()[:60]!r}"
            raise ConfigurationError(file.name, number, expected, "Write a comment with # at its beginning")
        name, time = parts.group(1), (parts.group(3) or "all").lower()
        entry = Entry(file.name, number, name, parts.group(2).strip('"').strip())
        row = SCHED_CONFIG_KEYS.get(name)
        if row is None or row.kind != MODELLED or time == "none":
            notes.by_table(SCHED_CONFIG_KEYS, entry)
            continue
        setting = setting_of(entry, row.form)
        for key in (name, f"{name}.{NON_PRIME}"):
            if (key == name and time != NON_PRIME) or (key != name and time != "prime"):
                values[key] = f"{values[key]}, {setting}" if name in _LISTED and key in values else setting
        notes.modelled(entry, f"scheduler.{name}")
    return _without_doubles(values)


def _without_doubles(values: dict[str, Setting]) -> dict[str, Setting]:
    """A value for non-prime time stays only where it differs, or is the only one."""
    return {
        key: value
        for key, value in values.items()
        if not (key.endswith(f".{NON_PRIME}") and values.get(key[: -len(NON_PRIME) - 1]) == value)
    }
