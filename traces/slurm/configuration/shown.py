"""What `scontrol show config`, `show partition`, `show node` and `show reservation` print."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace

from traces.cluster.description import AdvanceReservation
from traces.cluster.notes import NO_EFFECT, NOT_MODELLED, ConfigurationError, Entry, KnownKey, Notes, TextFile
from traces.slurm.configuration.keys import PARTITION_KEYS, SLURM_NODE_KEYS, left_out, without_effect
from traces.slurm.configuration.nodes import NODE_FIELDS, local_second
from traces.slurm.configuration.partitions import PARTITION_FIELDS
from traces.slurm.configuration.parts import (
    Attributes,
    NodeGroup,
    SlurmParts,
    hosts_place,
    named_hosts,
    note_line,
    slurm_key,
)
from traces.slurm.configuration.units import is_unset, tres_amounts, words_of

_PAIR = re.compile(r"(?:^|\s)([A-Za-z_][\w/]*)=")
_SETTING = re.compile(r"(\S+)\s*=\s?(.*)")
_UNIT = re.compile(r"(-?\d+) (?:sec|min|usec|percent|nodes/min|bytes)")
_SHOWN_NODE_KEYS = {"cputot": "cpus", "availablefeatures": "feature"}
_REPEATS = ("daily", "weekly", "weekday", "weekend", "hourly")
RESERVATION_FIELDS = {
    "reservationname": "name",
    "starttime": "begin_s",
    "endtime": "end_s",
    "nodes": "nodes",
    "users": "users",
    "groups": "groups",
    "accounts": "accounts",
}
RESERVATION_FLAGS = without_effect(
    "maint ignore_jobs spec_nodes all_nodes part_nodes static_alloc no_hold_jobs_after_end"
) | left_out(dict.fromkeys(_REPEATS, "the reservation would come back"))
"""Of Flags of a reservation. Others change what may run there."""
_OTHER_FLAG = KnownKey(NOT_MODELLED, "it would change what may run there")
_RESERVATION_KEYS = left_out(
    {
        "feature": "the reservation would be of nodes with these features",
        "licenses": "these licences would be set aside",
        "burstbuffer": "this space of the burst buffer would be set aside",
        "maxstartdelay": "jobs without the reservation may use its nodes until so long before they must start",
        "purgecomp": "the reservation would end when its jobs have ended",
        "allowedparts": "only jobs of these partitions may use it",
        "qos": "only jobs of these QOS may use it",
    }
) | without_effect("duration nodecnt corecnt partitionname state watts comment nodename coreids")


def read_shown_config(file: TextFile) -> tuple[Attributes, str]:
    """The settings of `scontrol show config`, and Slurm's version. Values that are not set are left out, and so are other sections."""
    settings: Attributes = {}
    for number, line in enumerate(file.text.splitlines(), 1):
        text = line.strip()
        if settings and (text.endswith(":") or text.startswith("Slurmctld(")):
            break
        match = _SETTING.fullmatch(text)
        if match is None:
            continue
        value = _UNIT.sub(r"\1", match.group(2).strip())
        entry = Entry(file.name, number, re.sub(r"\[\d+\]$", "", match.group(1)), value)
        settings[slurm_key(entry)] = entry
    version = settings["slurm_version"].value if "slurm_version" in settings else ""
    return settings, version


def _records(file: TextFile, first: str) -> Iterator[Attributes]:
    """The records that begin with the key `first`, each with its entries."""
    record: Attributes = {}
    for number, line in enumerate(file.text.splitlines(), 1):
        places = [(match.start(1), match.group(1)) for match in _PAIR.finditer(line)]
        if not places:
            if line.strip() and not re.match(r"No \w+ in the system", line.strip()):
                expected = f"records that begin with {first}=, found {line.strip()[:60]!r}"
                raise ConfigurationError(file.name, number, expected, f"Run scontrol show {first.lower()[:-4]} again")
            continue
        if places[0][1] in ("OS", "Reason", "Comment", "Extra"):
            places = places[:1]
        for (begin, key), (end, _) in zip(places, [*places[1:], (len(line), "")], strict=True):
            entry = Entry(file.name, number, key, line[begin + len(key) + 1 : end].strip())
            if key == first and record:
                yield record
                record = {}
            if key != first and not record:
                raise entry.refuse(f"{first} before all other keys", "Take the whole output")
            record[slurm_key(entry)] = entry
    if record:
        yield record


def add_shown_partitions(parts: SlurmParts, file: TextFile, notes: Notes) -> None:
    """What `scontrol show partition` says, which counts more than slurm.conf. Raises ConfigurationError."""
    for of in _records(file, "PartitionName"):
        name = of["partitionname"].value
        of = {key: entry for key, entry in of.items() if not _is_default(key, entry)}
        former = parts.partitions.get(name, {})
        if "prioritytier" in of or "priorityjobfactor" in of:
            former = {key: entry for key, entry in former.items() if key != "priority"}
        parts.partitions[name] = former | of
        note_line(PARTITION_KEYS, of, PARTITION_FIELDS, f"partitions.{name}", notes)


def _is_default(key: str, entry: Entry) -> bool:
    """Whether scontrol prints the line for want of a value."""
    if key == "oversubscribe" or key in ("nodes", "partitionname", "state"):
        return False
    return is_unset(entry.value) and key not in ("maxtime", "defaulttime", "maxnodes")


def add_shown_nodes(parts: SlurmParts, file: TextFile, notes: Notes) -> None:
    """What `scontrol show node` says, which counts more than slurm.conf. Nodes that are alike are one group. Raises ConfigurationError."""
    groups: dict[tuple[tuple[str, str], ...], tuple[list[str], Attributes]] = {}
    for of in _records(file, "NodeName"):
        listed = named_hosts(of["nodename"])
        of = {_SHOWN_NODE_KEYS.get(key, key): entry for key, entry in of.items()}
        mattering = {key: entry for key, entry in of.items() if key in NODE_FIELDS and not is_unset(entry.value)}
        same = tuple((key, entry.value) for key, entry in sorted(mattering.items()) if key != "nodename")
        if same in groups:
            groups[same][0].extend(listed)
        else:
            groups[same] = (list(listed), of)
    shown: list[NodeGroup] = []
    for names, of in groups.values():
        note_line(SLURM_NODE_KEYS, of, NODE_FIELDS, hosts_place(tuple(names)), notes)
        kept = {key: entry for key, entry in of.items() if key in NODE_FIELDS and not is_unset(entry.value)}
        shown.append(NodeGroup(tuple(names), kept))
    parts.merge_nodes(shown)


def read_shown_reservations(
    file: TextFile, nodes: Collection[str], time_zone: str, notes: Notes
) -> tuple[AdvanceReservation, ...]:
    """What `scontrol show reservation` says. nodes: of the cluster. time_zone: in which dates are written. Raises ConfigurationError."""
    reservations = []
    for of in _records(file, "ReservationName"):
        name = of["reservationname"].value
        for key in ("starttime", "endtime"):
            if key not in of:
                raise of["reservationname"].refuse(f"a reservation with {key}", "Run scontrol show reservation again")
        for key, entry in of.items():
            if key == "flags":
                _note_flags(entry, notes)
            elif key == "tres":
                _note_cpus(of, entry, notes)
            elif key in RESERVATION_FIELDS:
                notes.modelled(entry, f"reservations.{name}.{RESERVATION_FIELDS[key]}")
            else:
                notes.by_table(_RESERVATION_KEYS, entry, key)
        reservations.append(_reservation(name, of, nodes, time_zone, notes))
    return tuple(reservations)


def _note_flags(entry: Entry, notes: Notes) -> None:
    for word in words_of(entry.value):
        key = word.lower()
        notes.by_table({key: RESERVATION_FLAGS.get(key, _OTHER_FLAG)}, replace(entry, value=word), key)


def _note_cpus(of: Attributes, entry: Entry, notes: Notes) -> None:
    """CPUs of a reservation without nodes, of which nobody knows which they are."""
    if "nodes" in of and not is_unset(of["nodes"].value):
        notes.add(entry, NO_EFFECT, "its nodes say it")
    elif not is_unset(entry.value):
        notes.unmodelled(entry, "which CPUs they are is not known")


def _reservation(name: str, of: Attributes, nodes: Collection[str], time_zone: str, notes: Notes) -> AdvanceReservation:
    listed = named_hosts(of["nodes"]) if "nodes" in of and not is_unset(of["nodes"].value) else ()
    for each in listed:
        if each not in nodes:
            raise of["nodes"].refuse(f"nodes of the cluster, but {each} is none,", "Take all files from the same time")
    flags = tuple(word.lower() for word in _words(of, "flags"))
    begin_s, end_s = local_second(of["starttime"], time_zone), local_second(of["endtime"], time_zone)
    if end_s <= begin_s:
        raise of["endtime"].refuse("an end after the begin")
    denied = [key for key in ("users", "accounts") if any(word.startswith("-") for word in _words(of, key))]
    for key in denied:
        notes.add(of[key], NOT_MODELLED, "all others may use the reservation")
    cpus = 0
    if "tres" in of and not is_unset(of["tres"].value):
        cpus = tres_amounts(of["tres"]).get("cpu", 0)
    if not listed and not cpus and "all_nodes" not in flags:
        notes.add(of["reservationname"], NO_EFFECT, "it has no nodes, so it holds for all")
    return AdvanceReservation(
        name,
        begin_s,
        end_s,
        nodes=() if len(set(listed)) == len(nodes) else listed,
        cpus=0 if listed else cpus,
        users=() if "users" in denied else _words(of, "users"),
        accounts=() if "accounts" in denied else _words(of, "accounts"),
        groups=_words(of, "groups"),
        flags=flags,
        repeats=next((word for word in _REPEATS if word in flags), ""),
        timezone=time_zone,
    )


def _words(of: Attributes, key: str) -> tuple[str, ...]:
    return words_of(of[key].value) if key in of else ()
