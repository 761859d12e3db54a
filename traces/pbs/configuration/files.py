"""The files of a PBS configuration: which is which, by name or by what is in it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from traces.cluster.files import TextFile
from traces.cluster.remarks import ConfigurationError

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
    SCHED_CONFIG: r"(?m)^(?:round_robin|strict_ordering|by_queue|fair_share|job_sort_key)\s*:",
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
