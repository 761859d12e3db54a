"""The cluster of a recorded run, from the few keys that its configuration has."""

from __future__ import annotations

import gzip
import re
from datetime import UTC, datetime
from pathlib import Path

from traces.cluster.accounts import ROOT_ACCOUNT, Account, AccountUser, Limit, ServiceQuality
from traces.cluster.description import ClusterDescription, SchedulerSettings
from traces.cluster.hostlists import expand_hostlist
from traces.cluster.nodes import Node, Partition
from traces.cluster.reservations import AdvanceReservation

_RESERVATION = re.compile(r"^([0-9.]+) create reservation (.*?) Reservation created")


def text_of(folder: Path, name: str) -> str:
    """A packed file of a run."""
    return gzip.decompress((folder / f"{name}.gz").read_bytes()).decode()


def golden_cluster(folder: Path) -> ClusterDescription:
    """The cluster of a recorded run."""
    values: dict[str, str] = {}
    nodes: list[Node] = []
    partitions: list[dict[str, str]] = []
    for line in text_of(folder, "slurm.conf").splitlines():
        words = dict(word.split("=", 1) for word in line.split() if "=" in word)
        if line.startswith("NodeName="):
            nodes += _nodes(words)
        elif line.startswith("PartitionName="):
            partitions.append(words)
        else:
            name, _, value = line.partition("=")
            values[name.lower()] = value
    accounts, members, limits = _associations(text_of(folder, "assoc.txt"))
    qualities, quality_limits = _qualities(text_of(folder, "qos.txt"))
    return ClusterDescription(
        "golden",
        tuple(nodes),
        partitions=tuple(_partition(words, nodes) for words in partitions),
        accounts=tuple(accounts),
        members=tuple(members),
        qualities=tuple(qualities),
        limits=tuple(limits + quality_limits),
        reservations=_reservations(text_of(folder, "driver.log"), nodes),
        scheduler=SchedulerSettings("slurm", "22.05.8", values),
    )


def _nodes(words: dict[str, str]) -> list[Node]:
    gpus = {"": int(words["Gres"].rpartition(":")[2])} if "Gres" in words else {}
    cores = int(words["Sockets"]) * int(words["CoresPerSocket"])
    memory = int(words["RealMemory"])
    return [Node(name, cores, memory, gpus, sockets=2) for name in expand_hostlist(words["NodeName"])]


def _partition(words: dict[str, str], nodes: list[Node]) -> Partition:
    names = [node.name for node in nodes] if words["Nodes"] == "ALL" else expand_hostlist(words["Nodes"])
    return Partition(
        words["PartitionName"],
        tuple(names),
        is_default=words.get("Default") == "YES",
        max_time_s=seconds(words["MaxTime"]) if words["MaxTime"] != "INFINITE" else None,
        tier=int(words.get("PriorityTier", "1")),
        factor=int(words.get("PriorityJobFactor", "1")),
        oversubscribe=words.get("OverSubscribe", "NO").lower(),
    )


def seconds(text: str) -> int:
    """Seconds of `[days-]hours:minutes:seconds`, or of minutes."""
    days, _, rest = text.rpartition("-")
    parts = [int(part) for part in rest.split(":")]
    if len(parts) == 1:
        return parts[0] * 60
    return (int(days or 0) * 24 + parts[0]) * 3600 + parts[1] * 60 + (parts[2] if len(parts) > 2 else 0)


def _rows(text: str) -> list[dict[str, str]]:
    names, *lines = text.strip().splitlines()
    return [dict(zip(names.split("|"), line.split("|"), strict=False)) for line in lines]


def _associations(text: str) -> tuple[list[Account], list[AccountUser], list[Limit]]:
    """The dump of associations has no parents: an account that ends in a digit is below the one named by its letters."""
    rows = [row for row in _rows(text) if row["Account"] != ROOT_ACCOUNT or row["User"]]
    names = {row["Account"] for row in rows}
    accounts, members, limits = [], [], []
    for row in rows:
        account, user = row["Account"], row["User"]
        if user:
            members.append(AccountUser(user, account, int(row["Share"])))
            limits += _limits("user", f"{account}/{user}", row)
        else:
            above = account.rstrip("0123456789")
            parent = above if above != account and above in names else ROOT_ACCOUNT
            accounts.append(Account(account, parent, int(row["Share"])))
            limits += _limits("account", account, row)
    return accounts, members, limits


def _qualities(text: str) -> tuple[list[ServiceQuality], list[Limit]]:
    rows = _rows(text)
    limits = [limit for row in rows for limit in _limits("qos", row["Name"], row)]
    return [ServiceQuality(row["Name"], int(row["Priority"])) for row in rows], limits


_LIMITS = {
    "GrpTRES": ("running", "all"),
    "MaxTRESPU": ("running", "user"),
    "MaxTRES": ("job", "job"),
    "GrpJobs": ("running", "all"),
    "MaxJobsPU": ("running", "user"),
}


def _limits(owner: str, name: str, row: dict[str, str]) -> list[Limit]:
    limits = []
    for key, (counts, each) in _LIMITS.items():
        text = row.get(key, "")
        if key.endswith("TRES") or "TRESP" in key:
            for word in text.split(",") if text else ():
                resource, _, bound = word.partition("=")
                limits.append(Limit(owner, name, counts, each, resource, int(bound.rstrip("M"))))
        elif text:
            limits.append(Limit(owner, name, counts, each, "jobs", int(text)))
    return limits


def _reservations(text: str, nodes: list[Node]) -> tuple[AdvanceReservation, ...]:
    reservations = []
    for line in text.splitlines():
        made = _RESERVATION.match(line)
        if made:
            words = dict(word.split("=", 1) for word in made[2].split())
            begin = int(datetime.fromisoformat(words["starttime"]).replace(tzinfo=UTC).timestamp())
            names = [node.name for node in nodes] if words["nodes"] == "ALL" else expand_hostlist(words["nodes"])
            flags = tuple(words.get("flags", "").split(",")) if "flags" in words else ()
            end = begin + int(words["duration"]) * 60
            reservations.append(
                AdvanceReservation(words["reservationname"], begin, end, int(float(made[1])), tuple(names), flags=flags)
            )
    return tuple(reservations)
