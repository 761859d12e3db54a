"""GPUs of a job where the trackable resources lack them, as AccountingStorageTRES does by default: from what the job asked for.

Forms: Slurm's man pages sbatch(1) (--gpus, --gpus-per-node, --gres) and squeue(1) (tres-per-job, tres-per-node).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from traces.slurm.numbers import slurm_number

_BRACKETS = re.compile(r"\([^)]*\)")
_GPU = re.compile(r"(?:gres[/:])?gpu(?=[:=]|$)[:=]?(.*)", re.IGNORECASE)
_COUNT = re.compile(r"(\d{1,9})([kKmM]?)")
_TIMES = {"": 1, "k": 1 << 10, "m": 1 << 20}
_PER = ("tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task")
"""What a job asks for, of the strongest first: a number for the whole job counts more than one for each of its parts."""


def gpus_of_list(text: str) -> Counter[str]:
    """GPUs by type, "" for none, of `gres/gpu:a100:2`, `gres:gpu:2`, `gpu=2`, `gpu:h100:1(IDX:0)` or several with commas between."""
    gpus: Counter[str] = Counter()
    for word in _BRACKETS.sub("", text).split(","):
        if match := _GPU.fullmatch(word.strip()):
            kind, count = _kind_and_count(match.group(1))
            gpus[kind] += count
    return gpus


def _kind_and_count(text: str) -> tuple[str, int]:
    parts = [part for part in re.split(r"[:=]", text) if part]
    match = _COUNT.fullmatch(parts[-1]) if parts else None
    if match is None:
        return ":".join(parts), 1
    return ":".join(parts[:-1]), int(match.group(1)) * _TIMES[match.group(2).lower()]


def gpu_words(gpus: Mapping[str, int]) -> str:
    """GPUs by type as one text, such as `a100=2,v100=1`, or `=2` where no type is named; "" for none."""
    return ",".join(f"{kind}={count}" for kind, count in sorted(gpus.items()) if count > 0)


def times(gpus: Mapping[str, int], factor: int) -> Counter[str]:
    """So many times as many of each type."""
    return Counter({kind: count * factor for kind, count in gpus.items()})


def gpus_of_job(job: Mapping[str, Any], nodes: int | None) -> tuple[int | None, Counter[str]]:
    """GPUs of a job of squeue's JSON, and those by type that it asked for. nodes: how many it has.

    None where the job has none of the fields that would say so, or one whose multiple is not known. What a running job holds
    (gres_detail) counts more than what it asked for.
    """
    held = _sum(gpus_of_list(str(each)) for each in job.get("gres_detail") or ())
    asked, total = Counter[str](), None
    for name in _PER:
        by_type = gpus_of_list(str(job.get(name) or ""))
        if by_type:
            factor = _factor(name, job, nodes)
            total = None if factor is None else sum(by_type.values()) * factor
            asked = times(by_type, factor or 0)
            break
    else:
        total = 0 if any(name in job for name in _PER) else None
    return (sum(held.values()) if held else total), asked


def _factor(name: str, job: Mapping[str, Any], nodes: int | None) -> int | None:
    """What the amount of a field is to be multiplied by."""
    if name == "tres_per_job":
        return 1
    if name == "tres_per_task":
        tasks = slurm_number(job.get("tasks"))
        return int(tasks) if tasks else None
    if name == "tres_per_node":
        return nodes
    sockets = slurm_number(job.get("sockets_per_node"), is_time=True)
    return int(sockets) * nodes if sockets and nodes else None


def _sum(counters: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for counter in counters:
        total += counter
    return total
