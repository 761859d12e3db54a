"""Processors that are missing for a while: of a file, and as the simulator takes them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic import BaseModel, Field, PrivateAttr

from simulator.jobs.cluster import FOREVER, Outages

OUTAGE_COLUMNS = ("start", "end", "procs", "announced")


class Outage(BaseModel):
    """Processors that are missing for a while. Times are in seconds of the log's own clock."""

    start: int = Field(description="First second of the outage, in the log's own clock")
    end: int | None = Field(default=None, description="End of the outage in the same clock. Default: it has no end")
    procs: int = Field(description="Processors missing")
    announced: int | None = Field(
        default=None, description="Second from which the scheduler knows of it. Default: its start"
    )
    _where: str = PrivateAttr(default="")  # file and line that it comes from, for messages
    _load: float | None = PrivateAttr(default=None)

    def named(self, where: str) -> Outage:
        """This outage, called `where` in messages."""
        self._where = where
        return self

    def of_log(self, load: float = 1.0) -> Outage:
        """This outage, known from the log alone, at times that are squeezed to this load. One that somebody gives has its own dates."""
        self._load = load
        return self

    @property
    def has_own_dates(self) -> bool:
        """Whether somebody gives its times, so that no load moves them."""
        return self._load is None

    def at_load(self, load: float, first_s: int) -> Outage:
        """What the cluster lacks when time is squeezed to a load from a second on, as submissions are. As it is where it has its own
        dates."""
        if self._load is None or self._load == load:
            return self
        share = self._load / load

        def moved(second: int) -> int:
            return second if second <= first_s else first_s + round((second - first_s) * share)

        start = moved(self.start)
        end = None if self.end is None else max(moved(self.end), start + 1)
        return Outage(start=start, end=end, procs=self.procs).of_log(load)

    @property
    def where(self) -> str:
        """File and line that it comes from, empty where it comes from none."""
        return self._where


def read_outages(path: Path) -> list[Outage]:
    """The outages of a CSV file with the columns start, end, procs and, if you like, announced, in the order of its lines.

    Raises ValueError that names file, line, what was expected and what was found.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file of outages") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: cannot be read as a text file ({error})") from None
    rows = csv.reader(io.StringIO(text.replace("\0", "?")))
    header = [name.strip().lower() for name in next(rows, [])]
    unknown = [name for name in header if name not in OUTAGE_COLUMNS]
    if unknown or not set(OUTAGE_COLUMNS[:3]) <= set(header) or len(set(header)) != len(header):
        raise ValueError(
            f"{path}:1: expected the columns start,end,procs and optionally announced, found {','.join(header) or 'nothing'}"
        )
    outages = []
    for cells in rows:
        where = f"{path}:{rows.line_num}"
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            raise ValueError(f"{where}: expected {len(header)} values ({','.join(header)}), found {len(cells)}")
        values = {name: _whole(cell, name, where) for name, cell in zip(header, cells, strict=True)}
        outages.append(_checked_outage(values, where))
    if not outages:
        raise ValueError(f"{path}: holds no outage: expected a line start,end,procs and one line per outage")
    return outages


def outages_of(given: Sequence[Outage], cluster_procs: int) -> Outages:
    """The outages in the form that the simulator takes. Raises ValueError that says which is wrong, counted from 1."""
    rows = []
    for number, outage in enumerate(given, start=1):
        where = outage.where or f"outage {number}"
        checked = _checked_outage(outage.model_dump(), where)
        if checked.procs > cluster_procs:
            raise ValueError(
                f"{where}: expected at most the cluster's {cluster_procs} processors in procs, found {checked.procs}"
            )
        announced = checked.start if checked.announced is None else checked.announced
        rows.append((checked.start, FOREVER if checked.end is None else checked.end, checked.procs, announced))
    return Outages(*np.array(rows, dtype=np.int64).reshape(-1, 4).T)


def _checked_outage(values: dict[str, int | None], where: str) -> Outage:
    start, end, procs, announced = (values.get(name) for name in OUTAGE_COLUMNS)
    if start is None or procs is None:
        raise ValueError(f"{where}: expected a value for {'start' if start is None else 'procs'}, found none")
    if procs < 1:
        raise ValueError(f"{where}: expected at least 1 processor in procs, found {procs}")
    if end is not None and end <= start:
        raise ValueError(f"{where}: expected an end after the start {start} (or none, for good), found {end}")
    if announced is not None and announced > start:
        raise ValueError(f"{where}: expected announced at or before the start {start} (or none), found {announced}")
    return Outage(start=start, end=end, procs=procs, announced=announced).named(where)


def _whole(cell: str, name: str, where: str) -> int | None:
    """The number in a cell, None for an empty one."""
    if not cell.strip():
        return None
    try:
        value = int(cell)
    except ValueError:
        unit = "processors" if name == "procs" else "seconds of the log's clock"
        raise ValueError(f"{where}: expected a whole number of {unit} in {name}, found {cell.strip()!r}") from None
    if abs(value) > 1e11:
        raise ValueError(f"{where}: {name} is out of range: {value}")
    return value
