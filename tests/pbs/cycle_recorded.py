"""Recorded runs of a real OpenPBS as what the oracle of its cycle takes: jobs, and a site with the rules that the run had."""

from __future__ import annotations

import gzip
import json
import math
import re
from calendar import timegm
from datetime import datetime
from pathlib import Path

from tests.pbs.cycle_types import (
    CycleAmounts,
    CycleFormula,
    CycleJob,
    CycleLimit,
    CycleNode,
    CycleQueue,
    CycleReservation,
    CycleSettings,
    CycleShares,
    CycleSite,
)
from tests.traces.pbs.pbs_lines import records

_KB = {"": 1 / 1024, "k": 1, "m": 1 << 10, "g": 1 << 20}
_LIMIT = re.compile(r"set (server|queue (\w+)) max_run(?:_res\.(\w+))? = \[([^\]]*)\]")
_EACH = {"u": "user", "g": "group", "p": "project", "o": "all"}


def recorded_site(folder: Path, before_s: int = 0) -> CycleSite:
    """Of the first run of a scenario. before_s: how long before the first job the scheduler started."""
    scenario = json.loads(gzip.decompress((folder / "scenario.json.gz").read_bytes()))
    commands = [
        line.split("'")[1] for action in scenario["actions"] for line in [action.get("cmd") or ""] if "'" in line
    ]
    qmgr = "\n".join([(folder / "qmgr.txt").read_text(), *commands])
    keys = dict(re.findall(r"^(\w+):\s*(\S+)", (folder / "sched_config").read_text(), re.MULTILINE))
    depth = re.findall(r"set server backfill_depth = (\d+)", qmgr)
    formula = re.search(r'job_sort_formula = "eligible_time - min\(walltime\*sqrt\(ncpus\), (\d+)\)"', qmgr)
    settings = CycleSettings(
        strict_ordering=keys["strict_ordering"] == "True",
        by_queue=keys["by_queue"] == "True",
        backfill_depth=int(depth[-1]) if depth else 1,
        formula=CycleFormula(float(formula.group(1))) if formula else None,
        shares=_shares(folder, keys, int(scenario["t0"]) - before_s) if keys["fair_share"] == "True" else None,
        preempts=True,
    )
    priorities = {name: int(value) for name, value in re.findall(r"set queue (\w+) Priority = (\d+)", qmgr)}
    queues = tuple(CycleQueue(name, priorities.get(name, 0)) for name in re.findall(r"create queue (\w+)", qmgr))
    return CycleSite(_nodes(folder), queues, tuple(_limits(qmgr)), _reservations(folder), settings)


def _nodes(folder: Path) -> tuple[CycleNode, ...]:
    text = gzip.decompress((folder / "pbsnodes.txt.gz").read_bytes()).decode()
    nodes = []
    for block in re.split(r"\n\s*\n", text):
        has = dict(re.findall(r"resources_available\.(\w+) = (\S+)", block))
        if int(has.get("ncpus", 0)):
            nodes.append(CycleNode(has["vnode"], _amounts(has), has["host"]))
    return tuple(nodes)


def _limits(qmgr: str) -> list[CycleLimit]:
    limits = []
    for _, queue, resource, text in _LIMIT.findall(qmgr):
        each, who, bound = re.fullmatch(r"(\w):(\w+)=(\d+)", text).groups()  # type: ignore[union-attr]
        limits.append(CycleLimit(queue, _EACH[each], int(bound), "" if who.startswith("PBS_") else who, resource))
    return limits


def _shares(folder: Path, keys: dict[str, str], began_s: int) -> CycleShares:
    lines = [line.split() for line in (folder / "resource_group").read_text().splitlines() if line.strip()]
    return CycleShares(
        {name: (parent, int(shares)) for name, _, parent, shares in lines},
        int(keys["unknown_shares"]),
        _seconds(keys["fairshare_decay_time"]) or 0,
        float(keys["fairshare_decay_factor"]),
        began_s,
    )


def _reservations(folder: Path) -> tuple[CycleReservation, ...]:
    """Those that were confirmed."""
    text = gzip.decompress((folder / "accounting.gz").read_bytes()).decode(errors="replace")
    announced = {name: stamp for stamp, name in re.findall(r"^([\d/]+ [\d:]+);Y;([^;]+);", text, re.MULTILINE)}
    return tuple(
        CycleReservation(
            name,
            int(of["start"]),
            int(of["end"]),
            held_amounts(of["nodes"]),
            timegm(datetime.strptime(announced[name], "%m/%d/%Y %H:%M:%S").timetuple()),
        )
        for name, of in records(folder, "Y").items()
    )


def recorded_jobs(folder: Path) -> tuple[CycleJob, ...]:
    """The jobs that ended, as their Q records ask, with the run times that they had."""
    ended = records(folder, "E")
    jobs = []
    for name, asked in records(folder, "Q").items():
        if name in ended:
            place = asked.get("Resource_List.place", "free").split(":")
            jobs.append(
                CycleJob(
                    name,
                    int(asked["ctime"]),
                    int(ended[name]["end"]) - int(ended[name]["start"]),
                    _chunks(asked["Resource_List.select"]),
                    _seconds(asked.get("Resource_List.walltime")),
                    arrangement=next((way for way in ("scatter", "pack") if way in "".join(place)), "free"),
                    is_exclusive="excl" in place,
                    queue=asked["queue"],
                    user=asked["user"],
                    group=asked["group"],
                    reservation=asked.get("resvID", ""),
                    released_s=int(ended[name]["etime"]),
                )
            )
    return tuple(jobs)


def recorded_starts(folder: Path) -> dict[str, tuple[int, dict[str, CycleAmounts]]]:
    """Second and nodes of each job's start."""
    return {
        name: (int(record["start"]), held_amounts(record["exec_vnode"]))
        for name, record in records(folder, "E").items()
    }


def held_amounts(exec_vnode: str) -> dict[str, CycleAmounts]:
    """Node -> amounts of `(n1:ncpus=4:mem=1kb+n2:ncpus=4)+(n1:ncpus=2)`."""
    held: dict[str, CycleAmounts] = {}
    for piece in filter(None, re.split(r"[+()]+", exec_vnode)):
        name, _, words = piece.partition(":")
        amounts = _amounts(dict(word.split("=") for word in words.split(":")))
        held[name] = held[name].plus(amounts) if name in held else amounts
    return held


def _chunks(select: str) -> tuple[CycleAmounts, ...]:
    chunks: list[CycleAmounts] = []
    for part in select.split("+"):
        count, _, words = part.partition(":")
        chunks += [_amounts({"ncpus": "1"} | dict(word.split("=") for word in words.split(":")))] * int(count)
    return tuple(chunks)


def _amounts(words: dict[str, str]) -> CycleAmounts:
    number, unit = re.fullmatch(r"(\d+)([kmg]?)b", words.get("mem", "0b")).groups()  # type: ignore[union-attr]
    return CycleAmounts(int(words.get("ncpus", 0)), math.ceil(int(number) * _KB[unit]), int(words.get("ngpus", 0)))


def _seconds(duration: str | None) -> int | None:
    if duration is None:
        return None
    hours, minutes, seconds = map(int, duration.split(":"))
    return hours * 3600 + minutes * 60 + seconds


def recorded_passes(folder: Path) -> list[tuple[int, list[str]]]:
    """Second of each pass of the scheduler, and the jobs that it considered, in order."""
    passes: list[tuple[int, list[str]]] = []
    for line in gzip.decompress((folder / "sched_log_decisions.gz").read_bytes()).decode().splitlines():
        stamp, _, _, _, name, message = line.split(";", 5)
        if message == "Starting Scheduling Cycle":
            passes.append((timegm(datetime.strptime(stamp, "%m/%d/%Y %H:%M:%S").timetuple()), []))
        elif message == "Considering job to run":
            passes[-1][1].append(name)
    return passes
