"""Requests of the event files that UB's centre published with its clusters: one `sbatch` command a line, after `-dt SECONDS`."""

from __future__ import annotations

import gzip
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from simulator.cluster.requests import Request

_SHORT = {
    "-J": "job-name",
    "-t": "time",
    "-n": "ntasks",
    "-N": "nodes",
    "-A": "account",
    "-q": "qos",
    "-p": "partition",
    "-sim-walltime": "ran",
}
_MIB = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024 * 1024}


@dataclass(frozen=True)
class Event:
    """One submission. after_s: seconds since the clock began. ran_s: how long the job would run, None where it is not said."""

    name: str
    after_s: float
    ran_s: float | None
    request: Request


def read_events(file: Path, memory_per_cpu_mib: int) -> Iterator[Event]:
    """The events of a file, gzipped or not. memory_per_cpu_mib: of jobs that do not say. Requests have `submit_s` 0."""
    content = file.read_bytes()
    text = (gzip.decompress(content) if file.suffix == ".gz" else content).decode()
    for line in text.splitlines():
        before, _, command = line.partition("|")
        options = _options(shlex.split(command))
        ran = options.get("ran")
        yield Event(
            options["job-name"],
            float(before.split()[1]),
            None if ran is None else float(ran),
            _request(options, memory_per_cpu_mib),
        )


def _options(words: list[str]) -> dict[str, str]:
    options = {}
    for place, word in enumerate(words):
        if word in _SHORT:
            options[_SHORT[word]] = words[place + 1]
        elif word.startswith("--"):
            name, _, value = word[2:].partition("=")
            options[name] = value
    return options


def _request(options: dict[str, str], memory_per_cpu_mib: int) -> Request:
    tasks, each = int(options["ntasks"]), int(options.get("ntasks-per-node", 0))
    nodes = int(options.get("nodes", 0))
    gres = options.get("gres", "")
    memory = options.get("mem")
    return Request(
        submit_s=0,
        limit_s=_seconds(options["time"]),
        min_nodes=nodes,
        max_nodes=nodes,
        tasks=tasks,
        tasks_per_node=each,
        memory_mib=_mib(memory) if memory else memory_per_cpu_mib,
        memory_per="node" if memory else "cpu",
        gpus={"": int(gres.rpartition(":")[2]) if gres.rpartition(":")[2].isdigit() else 1} if gres else {},
        features=options.get("constraint", ""),
        exclusive="exclusive" in options,
        partitions=(options["partition"],),
        qos=options["qos"],
        account=options.get("account", ""),
        user=options["uid"],
    )


def _seconds(text: str) -> int:
    """Of DAYS-HOURS:MINUTES:SECONDS, where days may be missing."""
    days, _, clock = text.rpartition("-")
    hours, minutes, seconds = (int(part) for part in clock.split(":"))
    return int(days or 0) * 86_400 + hours * 3600 + minutes * 60 + seconds


def _mib(text: str) -> int:
    return int(int(text.rstrip("KMGT")) * _MIB[text[-1] if text[-1] in _MIB else "M"])
