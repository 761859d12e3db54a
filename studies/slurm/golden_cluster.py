"""The cluster of a recorded run: its configuration, and the reservations that its driver made."""

from __future__ import annotations

import gzip
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from traces.cluster.description import AdvanceReservation, ClusterDescription
from traces.cluster.hostlists import expand_hostlist
from traces.slurm.configuration.folder import read_slurm_cluster

CONFIGURATION = ("slurm.conf", "gres.conf", "config.txt", "sacctmgr.dump", "qos.txt", "assoc.txt", "topology.conf")
_RESERVATION = re.compile(r"^([0-9.]+) create reservation (.*?) Reservation created")


def text_of(folder: Path, name: str) -> str:
    """A packed file of a run."""
    return gzip.decompress((folder / f"{name}.gz").read_bytes()).decode()


def golden_cluster(folder: Path) -> ClusterDescription:
    """The cluster of a recorded run."""
    files = [folder / f"{name}.gz" for name in CONFIGURATION]
    cluster = read_slurm_cluster([file for file in files if file.exists()], "golden").description
    if not (folder / "driver.log.gz").exists():
        return cluster
    names = tuple(node.name for node in cluster.nodes)
    return replace(cluster, reservations=_reservations(text_of(folder, "driver.log"), names))


def _reservations(text: str, names: tuple[str, ...]) -> tuple[AdvanceReservation, ...]:
    """Reservations as the driver of the run made them."""
    reservations = []
    for line in text.splitlines():
        made = _RESERVATION.match(line)
        if made:
            words = dict(word.split("=", 1) for word in made[2].split())
            begin = int(datetime.fromisoformat(words["starttime"]).replace(tzinfo=UTC).timestamp())
            nodes = names if words["nodes"] == "ALL" else tuple(expand_hostlist(words["nodes"]))
            flags = tuple(words["flags"].split(",")) if "flags" in words else ()
            end = begin + int(words["duration"]) * 60
            announced = int(float(made[1]))
            reservations.append(AdvanceReservation(words["reservationname"], begin, end, announced, nodes, flags=flags))
    return tuple(reservations)
