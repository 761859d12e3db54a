"""The settings of one what-if replay, checked before anything is loaded."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
from pydantic import BaseModel, Field, PrivateAttr

from models.runtime.estimates import AS_LOGGED, Estimates
from simulator.engine.replay import SELECTIVE_OPTIONS, rules_of
from simulator.jobs.amounts import parse_duration
from simulator.jobs.cluster import FOREVER, Outages
from simulator.jobs.words import ADMIT_BY, CORRECTIONS, RESERVE_BY, RULE_SETS, one_of
from simulator.policies.agents import parse_inspecting, parse_picking, picking_text
from simulator.policies.registry import parse_options
from traces.catalogue.sources import LARGEST_CLUSTER

REFUSABLE = (
    *("policy", "backfill", "estimates", "correction", "reserve_by", "admit_by"),
    *("warm_start", "outages", "cancelled", "inspector", "partitions"),
)
"""Settings that not every replayer honours. The others change the jobs or the size of the cluster, or what is measured."""
OUTAGE_COLUMNS = ("start", "end", "procs", "announced")
LEAST_LOAD, MOST_LOAD = 0.01, 100.0
CHAMPION = "learned"
"""In place of a rule or a file: the champion that the pipeline keeps for the source."""
RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}")


class Outage(BaseModel):
    """Processors that are missing for a while. Times are in seconds of the log's own clock."""

    start: int = Field(description="First second of the outage, in the log's own clock")
    end: int | None = Field(default=None, description="End of the outage in the same clock. Default: it has no end")
    procs: int = Field(description="Processors missing")
    announced: int | None = Field(
        default=None, description="Second from which the scheduler knows of it. Default: its start"
    )
    _where: str = PrivateAttr(default="")  # file and line that it comes from, for messages

    def named(self, where: str) -> Outage:
        """This outage, called `where` in messages."""
        self._where = where
        return self

    @property
    def where(self) -> str:
        """File and line that it comes from, empty where it comes from none."""
        return self._where


class RunSettings(BaseModel):
    """Everything that decides what a replay does with a trace. docs/reference/semantics.md defines every word."""

    policy: str = Field(
        default="FCFS", description="As `tracehouse replay --policy`: a name, formula:TEXT, FILE.py:NAME, ..."
    )
    backfill: str = Field(
        default="easy",
        description="none, any, easy, easy-sjbf, conservative, selective or selective:threshold=X, pick:OPTIONS, learned, or the file "
        "of an agent that picks (.json)",
    )
    inspector: str | None = Field(
        default=None,
        description="Who accepts or rejects what the policy picks: accept, unfit, reject, learned, or the file of an inspector "
        "(.json)",
    )
    estimates: str = Field(
        default="requested",
        description="Run times the scheduler uses: requested, actual, predicted or predicted:p80, live or live:median, ...",
    )
    correction: str = Field(
        default="requested",
        description="Estimate of a job that has run longer than its estimate: requested, increments or doubling",
    )
    reserve_by: str = Field(
        default="estimate",
        description="Time that reservations use for running jobs: their estimate, or what they requested",
    )
    admit_by: str = Field(
        default="estimate",
        description="What decides whether a job may go before a blocked head: its estimate, or what it requested",
    )
    rules: str = Field(default="standard", description="standard, rlscheduler or rlscheduler-corrected")
    window: str | None = Field(
        default=None, description="START:LENGTH, positions among the replayable jobs from 0. Default: all"
    )
    warm_start: bool = Field(
        default=False, description="Begin with the jobs that were running or waiting by the log's own times"
    )
    outages: list[Outage] = Field(default=[], description="Processors that are missing for a while")
    cancelled: bool = Field(default=False, description="Also replay jobs that were cancelled before they started")
    drop_wider: bool = Field(default=False, description="Leave out jobs wider than the cluster instead of failing")
    trim: float = Field(
        default=0.0, description="Share of the submission span cut at both ends for the trimmed metrics"
    )
    procs: int | None = Field(default=None, description="Processors of the cluster. Default: those of the source")
    load: float = Field(
        default=1.0, description="How many times as densely jobs are submitted: 1.1 for 10 % more work in the same time"
    )
    without_queue: list[str] = Field(default=[], description="Queues, or partitions, whose jobs are left out")
    round_walltimes: str | None = Field(
        default=None, description="Round requested times up to a multiple of this, such as 4h. Default: not at all"
    )

    partitions: dict[str, int] = Field(
        default={}, description="Queues, and the processors that each owns. Jobs of other queues have the rest"
    )

    @property
    def is_standard(self) -> bool:
        """Whether the replay follows our rules, not those of the RLScheduler code."""
        return self.rules == "standard"

    @property
    def backfill_file(self) -> str | None:
        """The file of the agent that picks, None where a rule backfills."""
        return self.backfill if self.backfill.endswith(".json") else None

    @property
    def backfill_rule(self) -> str:
        """The rule that the engine takes. With an agent that picks it is not read."""
        return "easy" if self.backfill_file or self.backfill == CHAMPION else self.backfill

    @property
    def portable_backfill(self) -> str:
        """The rule, or the agent's file without its folder. That is what is stored, because rows hold no path of the machine."""
        return Path(self.backfill).name if self.backfill_file else self.backfill

    @property
    def portable_inspector(self) -> str | None:
        """The rule of the inspector, or its file without the folder. None without one."""
        return Path(self.inspector).name if self.inspector else None

    @property
    def believed(self) -> Estimates:
        """The run times that the scheduler uses. Raises ValueError where `estimates` names none."""
        return Estimates.parse(self.estimates) if self.is_standard else AS_LOGGED

    @property
    def rounding_s(self) -> int | None:
        """What requested times are rounded up to a multiple of, seconds. None where they are as logged. Raises ValueError for other
        texts."""
        if self.round_walltimes is None:
            return None
        step = parse_duration(self.round_walltimes, "round_walltimes")
        if step < 1:
            raise ValueError(f"round_walltimes {self.round_walltimes!r}: expected at least one second")
        return step

    @property
    def labels(self) -> list[str]:
        """Columns of core.jobs that the rows need for these settings, besides those that every replay has."""
        return ["queue"] if self.without_queue or self.partitions else []

    @property
    def parts(self) -> list[str]:
        """What the replayer must honour, in the words of simulator.replayer: those of REFUSABLE that are not the usual ones, `estimates
        live` where they are, and `agent` where a file backfills."""
        usual = RunSettings(policy=self.policy if self.policy.strip().upper() == "FCFS" else "FCFS")
        given = [name.replace("_", "-") for name in REFUSABLE if getattr(self, name) != getattr(usual, name)]
        return given + ["estimates live"] * self.believed.is_live + ["agent"] * (self.backfill_file is not None)

    def window_of(self, jobs: int) -> tuple[int, int]:
        """(first position, number of jobs) of the window in a trace of `jobs` jobs. Raises ValueError outside of it."""
        if self.window is None:
            return 0, jobs
        first, length = parse_window(self.window)
        if first + length > jobs:
            raise ValueError(
                f"window {self.window}: the trace has {jobs} jobs to replay, at positions 0 to {jobs - 1}, and the window "
                f"ends at {first + length - 1}: choose an earlier start or a shorter window"
            )
        return first, length

    def outages_json(self) -> str | None:
        """The outages in the form that is stored: JSON, None for none."""
        return json.dumps([outage.model_dump() for outage in self.outages]) if self.outages else None


def usual_settings(settings: RunSettings) -> RunSettings:
    """The settings with names in their usual form. Raises ValueError that names the option, what it takes and the remedy."""
    one_of("rules", settings.rules, RULE_SETS)
    settings = settings.model_copy(update={"estimates": str(Estimates.parse(settings.estimates))})
    one_of("reserve_by", settings.reserve_by, RESERVE_BY)
    one_of("admit_by", settings.admit_by, ADMIT_BY)
    one_of("correction", settings.correction, CORRECTIONS)
    if settings.window is not None:
        parse_window(settings.window)
    if not 0 <= settings.trim < 0.5:
        raise ValueError(f"trim must be at least 0 and below 0.5 (a share cut at either end), got {settings.trim}")
    if settings.procs is not None and not 1 <= settings.procs <= LARGEST_CLUSTER:
        raise ValueError(f"procs must be at least 1 and at most {LARGEST_CLUSTER:,}, got {settings.procs}")
    if not LEAST_LOAD <= settings.load <= MOST_LOAD:
        raise ValueError(f"load must be between {LEAST_LOAD:g} and {MOST_LOAD:g}, got {settings.load:g}")
    if settings.rounding_s is not None:
        settings = settings.model_copy(update={"round_walltimes": str(settings.round_walltimes).strip()})
    for name, given in (("warm-start", settings.warm_start), ("outages", bool(settings.outages))):
        if given and settings.load != 1:
            raise ValueError(
                f"--load moves submissions away from the log's own times, which --{name} needs: leave one of them out"
            )
    for queue, procs in settings.partitions.items():
        if procs < 1:
            raise ValueError(f"partitions: queue {queue!r} must own at least 1 processor, found {procs}")
    if not settings.is_standard:
        if settings.backfill not in ("none", "easy"):
            raise ValueError(
                f"backfill {settings.backfill!r} is not one of the RLScheduler rules, which have `none` and their own, which "
                "`easy` stands for"
            )
        return settings
    if not settings.backfill_file:
        settings = settings.model_copy(update={"backfill": usual_backfill(settings.backfill)})
    if settings.inspector is not None and not settings.inspector.endswith(".json"):
        settings = settings.model_copy(update={"inspector": settings.inspector.strip().lower()})
        if settings.inspector != CHAMPION:
            parse_inspecting(str(settings.inspector))
    _check_estimates(settings)
    return settings


def _check_estimates(settings: RunSettings) -> None:
    """Raises ValueError where the estimates cannot be combined with the other settings."""
    plans = settings.backfill.partition(":")[0] in ("conservative", "selective")
    for option, word in (("reserve-by", settings.reserve_by), ("admit-by", settings.admit_by)):
        if plans and word != "estimate":
            raise ValueError(
                f"--{option} {word} cannot be combined with {settings.backfill} backfilling, which plans every job by its estimate: use "
                "--backfill none, any, easy or easy-sjbf"
            )
    if plans and settings.believed.is_live:
        raise ValueError(
            f"live estimates cannot be combined with {settings.backfill} backfilling, whose reservations were made with earlier ones: use "
            "--backfill none, any, easy or easy-sjbf, or --estimates predicted"
        )


def usual_backfill(text: str) -> str:
    """A backfilling rule in its usual form, with the options that are not usual, or CHAMPION. Raises ValueError for other texts."""
    if text.strip().lower() == CHAMPION:
        return CHAMPION
    rules_of(text, "requested", 1)
    head, _, tail = text.lower().partition(":")
    if head == "pick":
        return picking_text(parse_picking(text.lower()))
    if head != "selective":
        return head
    return f"selective:threshold={parse_options(text, tail, SELECTIVE_OPTIONS)['threshold']:g}"


def parse_window(text: str) -> tuple[int, int]:
    """(first position, number of jobs) of START:LENGTH. Raises ValueError that says what is expected."""
    numbers = re.fullmatch(r"(\d+):(\d+)", text.strip())
    if numbers is None or int(numbers.group(2)) < 1:
        raise ValueError(
            f"window {text!r}: expected START:LENGTH, the position of the first job (from 0) and the number of jobs (from "
            "1), such as 0:1024"
        )
    return int(numbers.group(1)), int(numbers.group(2))


def check_run_name(name: str) -> str:
    """The name. Raises ValueError when a run cannot be called so."""
    if not RUN_NAME.fullmatch(name):
        raise ValueError(
            f"bad name of a run {name!r}: use up to 64 letters, digits, dots, dashes and underscores, a letter or digit first"
        )
    return name


def check_saved_settings(settings: RunSettings) -> RunSettings:
    """The settings. Raises ValueError where a saved run could not say which settings it had."""
    if settings.without_queue or settings.round_walltimes is not None or settings.partitions:
        raise ValueError(
            "runs without a queue, with rounded requests or with partitions are not saved, since a saved run does not record these: "
            "leave --save out, or compare them with `tracehouse what-if`"
        )
    return settings


def parse_partition(text: str) -> tuple[str, int]:
    """A queue and the processors that it owns, of a text such as "gpu=64". Raises ValueError for another."""
    queue, _, procs = text.rpartition("=")
    if not queue.strip() or not procs.strip().isdecimal():
        raise ValueError(f"partition {text!r}: expected a queue and the processors that it owns, such as gpu=64")
    return queue.strip(), int(procs)


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


def outages_of(settings: RunSettings, cluster_procs: int) -> Outages:
    """The outages in the form that the simulator takes. Raises ValueError that says which is wrong, counted from 1."""
    rows = []
    for number, outage in enumerate(settings.outages, start=1):
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
