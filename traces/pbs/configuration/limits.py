"""Limits of PBS's server and queues: `max_run = [u:PBS_GENERIC=4]`, the older `max_user_run = 4`, and `resources_max.mem = 64gb`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from traces.cluster.accounts import Limit
from traces.cluster.notes import Entry, Notes, integer_of
from traces.cluster.remarks import ConfigurationError
from traces.pbs.configuration.notes import RESOURCE_NAMES, entry_amount
from traces.pbs.configuration.qmgr import Attributes

_NEW_STYLE = {
    "max_run": ("running", False),
    "max_run_soft": ("running", True),
    "max_run_res": ("running", False),
    "max_run_res_soft": ("running", True),
    "max_queued": ("submitted", False),
    "max_queued_res": ("submitted", False),
}
"""What is counted, and whether it is a soft limit."""
_OLD_STYLE = {
    "max_running": ("running", "all", False),
    "max_user_run": ("running", "user", False),
    "max_user_run_soft": ("running", "user", True),
    "max_group_run": ("running", "group", False),
    "max_group_run_soft": ("running", "group", True),
    "max_user_res": ("running", "user", False),
    "max_user_res_soft": ("running", "user", True),
    "max_group_res": ("running", "group", False),
    "max_group_res_soft": ("running", "group", True),
    "max_queuable": ("submitted", "all", False),
    "max_user_queuable": ("submitted", "user", False),
}
_OF_A_JOB = {"resources_max": False, "resources_min": True}
_EACH = {"o": "all", "u": "user", "g": "group", "p": "project"}
_SPECIFICATION = re.compile(r'\s*\[?\s*([ougp]):\s*("[^"]*"|[^=\]]+?)\s*=\s*([^\]\s]+)\s*\]?\s*')
_GENERIC, _ALL = "PBS_GENERIC", "PBS_ALL"
_REMEDY = "Write limits as qmgr prints them, [u:PBS_GENERIC=4]"


def attribute_limits(attributes: Attributes, owner: str, owner_name: str, notes: Notes) -> tuple[Limit, ...]:
    """The limits of a server (owner "cluster") or of a queue ("partition"). `resources_max.walltime` of a queue is not among them: it is
    the time limit of the partition.

    Raises ConfigurationError for a limit that cannot be read.
    """
    limits: list[Limit] = []
    for key, entry in attributes.items():
        base, _, resource = key.partition(".")
        if owner == "partition" and key == "resources_max.walltime":
            continue
        is_counted = resource in RESOURCE_NAMES and resource != "nodes"
        if base in _OF_A_JOB and not is_counted and not _is_amount(entry.value):
            notes.unmodelled(entry, "jobs that ask for more, or for another one, are refused")
            continue
        of_key = [
            Limit(owner, owner_name, counts, each, what, bound, who, is_least, is_soft, entry.source)
            for counts, each, who, what, bound, is_least, is_soft in _amounts(entry, base, resource)
        ]
        if of_key:
            notes.modelled(entry, f"limits.{owner_name or owner}.{key}")
        limits += of_key
    return tuple(limits)


def server_wide_limits(attributes: Attributes, owner: str, owner_name: str, notes: Notes) -> tuple[Limit, ...]:
    """Limits that `resources_available` of a queue, or of processors, memory and nodes at the server, put on all jobs that run."""
    limits = []
    for key, entry in attributes.items():
        base, _, resource = key.partition(".")
        if base == "resources_available" and (owner == "partition" or resource in RESOURCE_NAMES):
            name = RESOURCE_NAMES.get(resource, resource)
            bound = entry_amount(entry, resource)
            limits.append(Limit(owner, owner_name, "running", "all", name, bound, source=entry.source))
            notes.modelled(entry, f"limits.{owner_name or owner}.{key}")
    return tuple(limits)


def _is_amount(text: str) -> bool:
    """Whether a value begins with a number. Torque's `resources_max.nodes` is a list of nodes, and others may be words."""
    return re.fullmatch(r"[0-9][0-9.:]*[a-zA-Z]{0,2}", text.strip()) is not None and ":ppn" not in text


def _amounts(entry: Entry, base: str, resource: str) -> Iterator[tuple[str, str, str, str, int, bool, bool]]:
    """(counts, each, who, resource, bound, is least, is soft) of an entry. Nothing where it is no limit."""
    what = RESOURCE_NAMES.get(resource, resource) if resource else "jobs"
    if base in _NEW_STYLE:
        counts, is_soft = _NEW_STYLE[base]
        for each, who, bound in _specifications(entry, resource):
            yield counts, each, who, what, bound, False, is_soft
    elif base in _OLD_STYLE:
        counts, each, is_soft = _OLD_STYLE[base]
        bound = entry_amount(entry, resource) if resource else integer_of(entry)
        yield counts, each, "", what, bound, False, is_soft
    elif base in _OF_A_JOB and resource:
        yield "job", "job", "", what, entry_amount(entry, resource), _OF_A_JOB[base], False


def _specifications(entry: Entry, resource: str) -> Iterator[tuple[str, str, int]]:
    """(each, who, bound) of `[u:PBS_GENERIC=4],[o:PBS_ALL=128]`."""
    for text in re.split(r",(?=\s*\[?\s*[ougp]:)", entry.value):
        parts = _SPECIFICATION.fullmatch(text)
        if parts is None:
            raise entry.refuse("limits such as [u:PBS_GENERIC=4]", _REMEDY)
        letter, name, amount = parts.group(1), parts.group(2).strip('"'), parts.group(3)
        if (letter == "o") != (name == _ALL):
            raise entry.refuse(f"o with {_ALL}, or u, g or p with a name or {_GENERIC}", _REMEDY)
        part = Entry(entry.file, entry.line, entry.key, amount)
        try:
            bound = entry_amount(part, resource) if resource else integer_of(part)
        except ConfigurationError:
            raise entry.refuse("limits such as [u:PBS_GENERIC=4]", _REMEDY) from None
        yield _EACH[letter], "" if name in (_GENERIC, _ALL) else name, bound
