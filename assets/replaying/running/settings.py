"""The settings of one what-if replay, each declared once (assets/common/writing/options.py). replayers.py checks them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, PrivateAttr

from assets.common.writing.options import Option, options_of
from assets.replaying.configuring.outages import Outage, read_outages
from assets.replaying.configuring.sizes import parse_load
from models.runtime.estimates import AS_LOGGED, Estimates
from simulator.jobs.words import (
    ADMIT_BY,
    CORRECTIONS,
    KEEP_PACE,
    KEEP_TIMES,
    PLACES,
    RESERVE_BY,
    RULE_SETS,
    USER_WORDS,
    one_of,
    parse_duration,
)

MOST_WALLTIME_FACTOR = 100.0
TEXT = "a text in quotes"
"""What a scenario gives for settings that are texts."""
CHAMPION = "learned"
"""In place of a rule or a file: the champion that the pipeline keeps for the source."""
OWN_BACKFILL = "own"
"""As rows have the backfilling of a cluster's own scheduler."""
OWN_SCHEDULERS = {"slurm": "Slurm", "pbs": "PBS"}
"""Schedulers of clusters that replay as themselves, with their names in sentences. As policies they stand alone, or before an order:
slurm:SAF."""
RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}")


def _window_text(window: str | tuple[int, int]) -> str:
    return window if isinstance(window, str) else "{}:{}".format(*window)


def _outages(outages: str | Path | Sequence[Outage]) -> Sequence[Outage]:
    return read_outages(Path(outages)) if isinstance(outages, str | Path) else outages


def _load(load: str | float) -> float:
    return parse_load(load) if isinstance(load, str) else load


def _factor(factor: str | float) -> float:
    try:
        number = float(factor)
    except ValueError:
        number = 0.0
    if not 0 < number <= MOST_WALLTIME_FACTOR:
        raise ValueError(
            f"walltime_factor {factor!r}: expected a number above 0 and at most {MOST_WALLTIME_FACTOR:g}, such as 1.5"
        )
    return number


def _names(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _name_or_none(name: str) -> str | None:
    return name or None


def _partitions(partitions: Mapping[str, int] | Sequence[str]) -> dict[str, int]:
    return dict(partitions) if isinstance(partitions, Mapping) else dict(parse_partition(text) for text in partitions)


def own_policy_of(policy: str) -> tuple[str, str] | None:
    """Of a policy under a cluster's own scheduler: the scheduler, and the order in place of its own, "" for that. None for any other."""
    scheduler, _, order = policy.strip().partition(":")
    scheduler = scheduler.lower()
    return (scheduler, order.strip()) if scheduler in OWN_SCHEDULERS else None


def parse_partition(text: str) -> tuple[str, int]:
    """A queue and the processors that it owns, of a text such as "gpu=64". Raises ValueError for another."""
    queue, _, procs = text.rpartition("=")
    if not queue.strip() or not procs.strip().isdecimal():
        raise ValueError(f"partition {text!r}: expected a queue and the processors that it owns, such as gpu=64")
    return queue.strip(), int(procs)


class RunSettings(BaseModel):
    """Everything that decides what a replay does with a trace. docs/reference/semantics.md defines every word."""

    policy: Annotated[
        str, Option(short="p", help="Order of the queue, one of the list above.", convert=str, key=TEXT, refusable=True)
    ] = Field(default="FCFS", description="As `tracehouse replay --policy`: a name, formula:TEXT, FILE.py:NAME, ...")
    backfill: Annotated[str, Option(short="b", convert=str, key=TEXT, refusable=True)] = Field(
        default="easy",
        description="none, any, easy, easy-sjbf, conservative, selective:threshold=X (default 2), pick:OPTIONS, learned (the agent that "
        "picks trained for the source), or FILE.json, such an agent, or one of Deep Back-Filling, which decides all starts "
        "(docs/guides/backfilling.md).",
    )
    inspector: Annotated[str | None, Option(metavar="RULE|learned|FILE", convert=str, key=TEXT, refusable=True)] = (
        Field(
            default=None,
            description="Who accepts or rejects each pick of the policy: accept, unfit (rejects what does not fit), reject, learned (the "
            "inspector trained for the source), or FILE.json, a trained inspector.",
        )
    )
    estimates: Annotated[str, Option(key=TEXT, refusable=True)] = Field(
        default="requested",
        description="Run times the scheduler uses: requested, actual, predicted (or a quantile, predicted:p80), or live. Live ones come "
        "from similar jobs that have ended in the replay, updated while a job waits (live:mean, live:median, live:p80, live:slowdown, "
        "live:last_two).",
    )
    reserve_by: Annotated[str, Option(words=RESERVE_BY, key=TEXT, refusable=True)] = Field(
        default="estimate",
        description="Time that reservations use for running jobs: their estimate, or the requested time, which no underestimate can upset.",
    )
    admit_by: Annotated[str, Option(words=ADMIT_BY, key=TEXT, refusable=True)] = Field(
        default="estimate",
        description="What decides whether a job may go before a blocked one: its estimate, or its requested time, so that no "
        "underestimate delays the blocked one.",
    )
    correction: Annotated[str, Option(words=CORRECTIONS, key=TEXT, refusable=True)] = Field(
        default="requested", description="Estimate of a job that has run longer than its estimate."
    )
    rules: Annotated[str, Option(words=RULE_SETS)] = Field(
        default="standard",
        description="rlscheduler: the rules of that paper's code with its own backfilling, for comparison with its tables. "
        "rlscheduler-corrected: the same with the true wait in WFP3 and UNICEP.",
    )
    window: Annotated[str | None, Option(metavar="START:LENGTH", convert=_window_text)] = Field(
        default=None,
        description="Only these jobs: position of the first among the replayable jobs, from 0, and how many.",
    )
    warm_start: Annotated[bool, Option(refusable=True)] = Field(
        default=False,
        description="Begin with the jobs that were running or waiting by the log's own times, under Slurm and PBS on their nodes.",
    )
    outages: Annotated[
        list[Outage], Option(metavar="FILE", form="file", convert=_outages, key=TEXT, refusable=True)
    ] = Field(
        default=[],
        description="CSV with start,end,procs and optionally announced, in the log's own seconds: processors missing.",
    )
    cancelled: Annotated[bool, Option(refusable=True)] = Field(
        default=False, description="Also replay jobs that were cancelled before they started."
    )
    drop_wider: Annotated[bool, Option()] = Field(
        default=False, description="Leave out jobs wider than the cluster instead of failing."
    )
    trim: Annotated[float, Option(metavar="SHARE", form="share", share=(0, 0.5, (False, True)))] = Field(
        default=0.0,
        description="Also give metrics without warm-up and cool-down: this share of the submission span cut at both ends.",
    )
    load: Annotated[
        float, Option(metavar="FACTOR", default="1", convert=_load, key='a number, or a text such as "+20%"')
    ] = Field(
        default=1.0,
        description="How many times as densely jobs are submitted, such as 1.1 or +10% for a tenth more work in the same time.",
    )
    users: Annotated[str, Option(metavar="WORDS", words=USER_WORDS, key=TEXT, refusable=True, is_saved=False)] = Field(
        default=KEEP_TIMES,
        description="What users do when the schedule changes. keep times: they submit at the times of the log. keep pace: who submitted "
        "soon after an end of an own job does so after its end in the replay, and who waits for too long gives up "
        "(docs/explanation/users-react.md).",
    )
    procs: Annotated[int | None, Option(metavar="NUMBER", key='a number, or a text such as "+10%" or "-64"')] = Field(
        default=None,
        description="Processors of the cluster, such as 300, or a change such as +10% or -4. Default: from source or log.",
    )
    without_queue: Annotated[
        list[str],
        Option(metavar="NAME", convert=_names, is_saved=False, key="the name of a queue in quotes, or a list of names"),
    ] = Field(default=[], description="Leave the jobs of this queue, or partition, out. May be given several times.")
    partitions: Annotated[
        dict[str, int],
        Option(
            flag="partition",
            metavar="QUEUE=PROCS",
            convert=_partitions,
            key="a table of queues and the processors that each owns, such as { gpu = 64 }",
            refusable=True,
            is_saved=False,
        ),
    ] = Field(
        default={},
        description="Processors that a queue owns, such as gpu=64. Its jobs run on no others. May be given several times.",
    )
    cluster: Annotated[
        str | None, Option(metavar="NAME", convert=_name_or_none, key=TEXT, refusable=True, is_saved=False)
    ] = Field(
        default=None,
        description="Limits, hours, reservations and absences of this cluster hold (clusters/NAME.toml, docs/reference/limits.md), and "
        "its nodes say how many processors there are. If it is of Slurm or PBS and no policy is given, that decides. An empty name "
        "stands for none.",
    )
    edits: Annotated[
        list[str],
        Option(
            flag="set",
            metavar="KEY=VALUE",
            convert=_names,
            key='an edit such as "PriorityWeightAge=1000" in quotes, or a list of them',
            refusable=True,
            is_saved=False,
        ),
    ] = Field(
        default=[],
        description="Replay as if the configuration of the cluster's Slurm or PBS had this line: PriorityWeightAge=1000, "
        "qos.normal.MaxTRESPU=cpu=512, server.backfill_depth=5 (docs/guides/what-if.md). A file or folder stands for new "
        "configuration. May be given several times.",
    )
    round_walltimes: Annotated[
        str | None, Option(metavar="LENGTH", is_saved=False, key='a length of time in quotes, such as "4h"')
    ] = Field(default=None, description="Round requested times up to a multiple of this, such as 4h or 30min.")
    walltime_factor: Annotated[float, Option(metavar="FACTOR", convert=_factor, is_saved=False)] = Field(
        default=1.0,
        description="Multiply requested times by this, such as 2, before they are rounded up. Default: 1.",
        gt=0,
        le=MOST_WALLTIME_FACTOR,
    )

    @property
    def is_standard(self) -> bool:
        """Whether the replay follows our rules, not those of the RLScheduler code."""
        return self.rules == "standard"

    @property
    def is_closed(self) -> bool:
        """Whether jobs are submitted after those that they follow. Raises ValueError where `users` is no word for what they do."""
        return one_of("users", self.users, USER_WORDS) == KEEP_PACE

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
        """The rule, or the agent's file without its folder, or OWN_BACKFILL. That is what is stored, because rows hold no path of the
        machine."""
        if self.is_on_cluster:
            return OWN_BACKFILL
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
    def own_scheduler(self) -> str | None:
        """The scheduler of the cluster, where that decides on the cluster's nodes. None where an order does."""
        own = own_policy_of(self.policy)
        return None if own is None else own[0]

    @property
    def is_on_cluster(self) -> bool:
        """Whether the source's own scheduler decides, on the nodes of its cluster."""
        return self.own_scheduler is not None

    @property
    def labels(self) -> list[str]:
        """Columns of core.jobs that the rows need for these settings, besides those that every replay has."""
        if self.is_on_cluster:
            return list(REQUEST_LABELS)
        if self.cluster is not None:
            return list(LIMIT_LABELS)
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


class NodeSettings(BaseModel):
    """On which nodes a replay runs its jobs; docs/reference/semantics.md, "Placement", defines every word."""

    topology: Annotated[str, Option(metavar="TREE|FILE", convert=str)] = Field(
        description="Place jobs on nodes below switches: nodes per leaf x leaves per pod x pods (16x8x4), or Slurm's topology.conf "
        "(docs/guides/topology.md). Default: that of the source in the catalogue."
    )
    hops: Annotated[str | None, Option(metavar="NUMBERS")] = Field(
        default=None,
        description="Hops between two nodes by the level of their lowest common switch, from the leaf up, such as 2,4,6.",
    )
    procs_per_node: Annotated[int | None, Option(metavar="NUMBER", least=1, key="a whole number from 1 on")] = Field(
        default=None, description="Processors of a node. Default: from catalogue or log, or 1."
    )
    nodes: Annotated[str, Option(metavar="NUMBER|shared|whole", key='a number, or a text such as "+10%" or "-4"')] = (
        Field(
            default="shared",
            description="Nodes of the cluster instead of --procs, such as 32, or a change such as +10% or -4. With --topology it may be "
            "shared or whole: whether jobs share nodes, or take whole ones. Default: shared.",
        )
    )
    place: Annotated[str, Option(words=PLACES)] = Field(
        default="tree",
        description="Who chooses the nodes of a job. Default: tree, Slurm's best fit. looking-ahead also chooses the jobs.",
    )
    period: Annotated[int | None, Option(flag="every", metavar="DURATION", form="duration")] = Field(
        default=None, description="The scheduler acts only this often, such as 60s or 5min. Default: always."
    )
    switches: Annotated[str | None, Option(metavar="LEAVES@WAIT")] = Field(
        default=None,
        description="How long jobs wait for how few leaf switches, as with Slurm's --switches, such as 1@2h or 2@600s.",
    )
    guard: Annotated[int | None, Option(metavar="PERIODS", least=1)] = Field(
        default=None,
        description="With --place looking-ahead: no job passes one that has waited this number of periods. Default: 11.",
    )
    placing_seed: Annotated[int, Option(metavar="NUMBER", least=0)] = Field(
        default=1, description="Seed of the rules random, free and looking-ahead. Default: 1."
    )
    _declared_at: str = PrivateAttr(default="")  # where the catalogue declares the tree, for messages

    @contextmanager
    def naming_catalogue(self) -> Iterator[None]:
        """Faults of a tree that comes from the catalogue say so."""
        try:
            yield
        except ValueError as error:
            if not self._declared_at:
                raise
            raise ValueError(
                f"{self._declared_at} topology = {self.topology!r}: {error}. Correct it there, or give another tree"
            ) from None


REQUESTED_OF_JOBS = (
    *("queue", "account", "qos", "reservation", "nodes", "requested_nodes", "gpus", "requested_gpu_types"),
    *("requested_memory_kb", "memory_per", "features", "is_exclusive", "submit_time", "eligible_time"),
    *("start_time", "end_time", "dependency"),
)
"""Columns of core.jobs that say what a job asked its scheduler for, besides those that every trace has."""
REQUEST_LABELS = (*REQUESTED_OF_JOBS, "selected_chunks", "place", "project")
"""These, and columns of raw.pbs_records, which are null for jobs of other logs."""
LIMIT_LABELS = ("queue", "account", "qos", "group_name")
"""Columns of core.jobs that say which limits hold for a job, besides those that every trace has."""
REFUSABLE = tuple(name for name, option in options_of(RunSettings).items() if option.refusable)
"""Settings that not every replayer honours. The others change the jobs or the size of the cluster, or what is measured."""


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
    usual, options = RunSettings(), options_of(RunSettings)
    if any(getattr(settings, name) != getattr(usual, name) for name, option in options.items() if not option.is_saved):
        raise ValueError(
            "runs without a queue, with changed requests, partitions, users who keep their pace, or a cluster's limits are not saved, "
            "since a saved run does not record these: "
            "leave --save out, or compare them with `tracehouse what-if`"
        )
    return settings
