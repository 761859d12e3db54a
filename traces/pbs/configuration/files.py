"""The files of a PBS configuration: which is which, by name or by what is in it.

Values of PBS's and Maui's configuration, checked while they are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from traces.cluster.description import Setting
from traces.cluster.notes import ConfigurationError, Entry, TextFile, boolean_of, integer_of
from traces.pbs.rules import duration_s, kilobytes

SERVER, SCHED, SCHED_CONFIG, SHARES = "print server", "print sched", "sched_config", "resource_group"
NODES, TORQUE_NODES, HOLIDAYS, DEDICATED, MAUI = "pbsnodes", "nodes", "holidays", "dedicated_time", "maui.cfg"

_BY_NAME = {
    SCHED: r"(?:qmgr|print|list)[-_.]sched(?:\.txt)?",
    SERVER: r"(?:qmgr|print|list)(?:[-_.]server)?(?:\.txt)?",
    SCHED_CONFIG: r"sched_config(?:\.txt)?",
    SHARES: r"resource_group(?:\.txt)?",
    NODES: r"pbsnodes(?:[-_.]\w+)?(?:\.txt|\.json)?",
    TORQUE_NODES: r"nodes",
    HOLIDAYS: r"holidays(?:\.txt)?",
    DEDICATED: r"dedicated_time(?:\.txt)?",
    MAUI: r"maui\.cfg(?:\.txt)?",
}
_BY_CONTENT = {
    SCHED: r"(?im)^(?:set sched\b|Sched \S+\s*$)",
    SERVER: r"(?im)^(?:set (?:server|queue)\b|create queue\b|(?:Server|Queue):? \S+\s*$)",
    MAUI: r"(?im)^\s*(?:RMCFG|RMPOLLINTERVAL|SERVERHOST|BACKFILLPOLICY|(?:USER|CLASS|GROUP|SR)CFG\[)",
    SCHED_CONFIG: r"(?im)^(?:round_robin|strict_ordering|by_queue|fair_share|job_sort_key)(?:\s*:|[ \t]+(?:true|false)\b)",
    NODES: r"(?m)(?:^\s+(?:state|np|ntype) = |\"nodes\"\s*:\s*\{)",
}


def role_of(file: TextFile) -> str | None:
    """What a file is, such as "sched_config", by its name, else by what is in it. None for a file that is none of PBS's."""
    for role, pattern in _BY_NAME.items():
        if re.fullmatch(pattern, file.name):
            return role
    for role, pattern in _BY_CONTENT.items():
        if re.search(pattern, file.text):
            return role
    return None


def files_by_role(files: Iterable[TextFile]) -> dict[str, TextFile]:
    """The files of a configuration by their role. Files that are none of PBS's are left out.

    Raises ConfigurationError where two files have the same role."""
    roles: dict[str, TextFile] = {}
    for file in files:
        role = role_of(file)
        if role is None:
            continue
        if role in roles:
            expected = f"one file of {role}, found {roles[role].name} and {file.name}"
            raise ConfigurationError(file.name, 0, expected, "Leave one of them out")
        roles[role] = file
    return roles


# --- notes


_INTEGERS = ("int", "count")


def setting_of(entry: Entry, form: str) -> Setting:
    """The value of an entry in its form, see KnownKey. Durations and sizes keep their text. Raises ConfigurationError for another form."""
    text = entry.value.strip()
    if form == "bool":
        return boolean_of(entry)
    if form in _INTEGERS:
        return integer_of(entry, least=0 if form == "count" else None)
    if form == "number":
        if not re.fullmatch(r"-?[0-9]{1,15}(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?", text):
            raise entry.refuse("a number such as 0.5")
        return float(text)
    if form == "duration":
        seconds_of(entry)
    return text


def seconds_of(entry: Entry) -> int:
    """Seconds of a duration. Raises ConfigurationError for a text that is none."""
    try:
        return duration_s(entry.value.strip())
    except ValueError:
        raise entry.refuse("a duration such as 24:00:00 or 3600") from None


def kib_of(entry: Entry) -> int:
    """KiB of a size such as 64gb, rounded up. Raises ConfigurationError for a text that is none."""
    size = kilobytes(entry.value.strip())
    if size is None:
        raise entry.refuse("a size such as 64gb")
    return size


def entry_amount(entry: Entry, resource: str) -> int:
    """An amount of a resource: seconds, MiB of `mem`, KiB of other sizes, or a number, where a fraction is rounded down."""
    text = entry.value.strip()
    if resource in ("walltime", "cput", "pcput", "soft_walltime"):
        return seconds_of(entry)
    if resource == "mem":
        return -(-kib_of(entry) // 1024)
    if re.fullmatch(r"[0-9]{1,15}\.[0-9]*", text):
        return int(float(text))
    if re.fullmatch(r"[0-9]{1,18}", text):
        return int(text)
    if kilobytes(text) is not None:
        return kib_of(entry)
    raise entry.refuse("a number or a size")


RESOURCE_NAMES = {"ncpus": "cpu", "ngpus": "gpu", "nodect": "nodes", "nodes": "nodes", "walltime": "time", "mem": "mem"}
"""PBS's resources by the names that limits have in a description."""
