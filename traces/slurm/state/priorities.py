"""Fair shares and priorities of a moment, as `sshare -a -l -P` and `sprio -l` print them, of Slurm 20.02 to 25.11.

Columns are known by their headers, so that those of other versions and of other options can be there too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from traces.cluster.notes import TextFile

PRIORITY_PARTS = {
    "AGE": "age",
    "ASSOC": "assoc",
    "FAIRSHARE": "fairshare",
    "JOBSIZE": "jobsize",
    "PARTITION": "partition",
    "QOS": "qos",
    "SITE": "site",
    "TRES": "tres",
    "NICE": "nice",
}
"""Columns of sprio with a part of the priority, and our names of them."""
SSHARE, SPRIO = "sshare -a -l -P", "sprio -l"
_CUT = 20
"""Letters of the column TRES of `sprio -l`: a text of so many may have been cut."""


class ShareRow(NamedTuple):
    """A user's line of sshare, or that of an account, whose user is "". raw_usage: billing seconds that have decayed. fair_share: the
    factor, None where it has none."""

    line: int
    account: str
    user: str
    raw_usage: float
    fair_share: float | None


class PriorityRow(NamedTuple):
    """A job's line of sprio in one partition. partition: "" where it is not said. factors: weighted, by the names of PRIORITY_PARTS, of
    which nice is taken off and all others are added."""

    line: int
    job_id: str
    partition: str
    priority: int
    factors: dict[str, int]

    @property
    def is_by_hand(self) -> bool:
        """Whether somebody has set the priority, in place of the factors."""
        return self.priority > 1 and not any(self.factors.values())


def read_sshare(file: TextFile) -> tuple[list[ShareRow], list[str]]:
    """(the lines of accounts and users, what is wrong with each other line, with file and number)."""
    rows: list[ShareRow] = []
    faults: list[str] = []
    for place, names, cells in _cells(file, ("Account", "User", "RawUsage"), SSHARE, faults):
        row = dict(zip(names, (cell.strip() for cell in cells), strict=False))
        usage, factor = _number(row["RawUsage"]), _number(row.get("FairShare", ""))
        if usage is None or not row["Account"]:
            faults.append(f"{file.name}:{place}: expected an account and a number as RawUsage, found {_shown(cells)}")
        else:
            rows.append(ShareRow(place, row["Account"], row["User"], usage, factor))
    return rows, faults


def read_sprio(file: TextFile) -> tuple[list[PriorityRow], list[str]]:
    """(the lines of jobs, what is wrong with each other line, with file and number). The line of the weights is left out."""
    rows: list[PriorityRow] = []
    faults: list[str] = []
    for place, names, cells in _cells(file, ("JOBID", "PRIORITY"), SPRIO, faults):
        named: dict[str, list[str]] = {}
        for name, cell in zip(names, cells, strict=False):
            named.setdefault(name, []).append(cell.strip())
        job, partitions = named["JOBID"][0], named.pop("PARTITION", [])
        if job == "Weights":
            continue
        # the first column of this name is the partition, the second what it adds
        partition = partitions[0] if partitions else ""
        parts = {PRIORITY_PARTS[name]: _added(cell) for name, (cell, *_) in named.items() if name in PRIORITY_PARTS}
        if len(partitions) > 1:
            parts["partition"] = _added(partitions[1])
        priority = _added(named["PRIORITY"][0])
        if priority is None or not re.fullmatch(r"[0-9]+(?:[_+]\S+)?", job):
            faults.append(
                f"{file.name}:{place}: expected a job and whole numbers, as `{SPRIO}` prints them without -n, found {_shown(cells)}"
            )
            continue
        rows.append(PriorityRow(place, job, partition, priority, {k: v for k, v in parts.items() if v is not None}))
    return rows, faults


def _cells(
    file: TextFile, needed: Sequence[str], command: str, faults: list[str]
) -> Iterator[tuple[int, list[str], list[str]]]:
    """Number, column names and cells of each line below the header. Cells are divided by | or, without it, by blanks."""
    header, names = "", []
    for place, line in file.lines():
        if not header:
            names = line.rstrip("|").split("|") if "|" in line else line.split()
            names = [name.strip() for name in names]
            if set(needed) <= set(names):
                header = line
            continue
        if set(line) <= set("- "):
            continue
        cells = _divided(line, header, names)
        if len(cells) != len(names):
            faults.append(f"{file.name}:{place}: expected {len(names)} columns, found {_shown(cells)}")
        else:
            yield place, names, cells
    if not header:
        faults.append(f"{file.name}: expected a header with {', '.join(needed)}: print it with `{command}`")


def _divided(line: str, header: str, names: Sequence[str]) -> list[str]:
    """The cells of a line. Where a cell is blank, the ends of the header's words say which, since columns are flush right."""
    if "|" in header:
        cells = line.split("|")
        return cells[:-1] if len(cells) == len(names) + 1 and not cells[-1] else cells
    words = line.split()
    if len(words) >= len(names):
        return words
    ends = [match.end() for match in re.finditer(r"\S+", header)]
    return [line[begin:end].strip() for begin, end in zip([0, *ends], ends, strict=False)]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _added(text: str) -> int | None:
    """A part of a priority. Of several, such as `cpu=3,gres/gpu=10`, the sum; None for a text that is none, or that was cut."""
    if "=" not in text:
        return int(text) if re.fullmatch(r"-?[0-9]+", text) else None if text else 0
    parts = [part.rpartition("=")[2] for part in text.split(",")]
    if len(text) >= _CUT or not all(part.isdigit() for part in parts):
        return None
    return sum(map(int, parts))


def _shown(cells: Sequence[str]) -> str:
    text = "|".join(cells)
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
