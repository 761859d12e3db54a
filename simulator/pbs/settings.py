"""Settings of PBS that change schedules, as numbers. Names and defaults: Altair PBS Professional Administrator's Guide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from simulator.formula.parsing import Formula, parse_formula
from simulator.formula.text import FormulaError
from traces.cluster.description import ClusterDescription, SchedulerSettings, Setting

FIVE_YEARS = 5 * 365 * 24 * 3600
"""What PBS takes for a job without a walltime."""
SUSPENDED, CHECKPOINTED, REQUEUED, DELETED = range(4)
"""What happens to a job that is preempted: it waits on its nodes, or anywhere with the rest of its run time, or begins again, or ends."""
_WAYS = {"S": SUSPENDED, "C": CHECKPOINTED, "R": REQUEUED, "D": DELETED}
EXPRESS, OVER_SERVER, OVER_QUEUE = 1, 2, 4
"""What puts a job into a level of preemption: its queue, or a soft limit of the server or of its queue that its owner is over."""
_LEVELS = {"normal_jobs": 0, "express_queue": EXPRESS, "server_softlimits": OVER_SERVER, "queue_softlimits": OVER_QUEUE}
_OWN_WORDS = {"queue_priority": "cluster", "job_priority": "queued"}
"""Attributes of PBS that go through slots of the formula machine that PBS has no word for."""


@dataclass(frozen=True)
class PbsPhases:
    """What differs between two runs of the same PBS. minute_s: UTC second of second 0 of the log's clock, of which
    minutes, and weekdays of standing reservations, are counted. poll_s: second from
    which PBS asks nodes every ten seconds what jobs use. decay_s: seconds from the first submission to the first decay of usage, None for
    a whole interval."""

    minute_s: int = 0
    poll_s: int = 0
    decay_s: int | None = None


class CycleSettings(NamedTuple):
    """Times in seconds. strict, by_queue, fair_share: 0 or 1. depth: top jobs of a pass, where a queue has no number of its own. iteration:
    longest time between two passes. express_priority: queues from which on preempt. preempt_way: what happens to a preempted job,
    SUSPENDED, CHECKPOINTED, REQUEUED or DELETED. preempts: 0 or 1. lowest: number of the lowest level of preemption, whose jobs preempt
    none. decay_time, decay_factor: of usage. minute_phase, poll_phase: of PbsPhases."""

    strict: int
    by_queue: int
    fair_share: int
    depth: int
    iteration: int
    preempts: int
    express_priority: int
    preempt_way: int
    lowest: int
    decay_time: int
    decay_factor: float
    minute_phase: int
    poll_phase: int


def cycle_settings(scheduler: SchedulerSettings, phases: PbsPhases | None = None) -> CycleSettings:
    """The settings of a configuration, with PBS's defaults for those that it does not set."""
    phases = phases or PbsPhases()
    values = scheduler.values

    def whole(name: str, usual: int) -> int:
        return int(float(str(values.get(name, usual))))

    order = str(values.get("preempt_order", "SCR")).strip('"').split()[0].upper()
    return CycleSettings(
        strict=is_on(values, "strict_ordering", False),
        by_queue=is_on(values, "by_queue", True),
        fair_share=is_on(values, "fair_share", False),
        depth=whole("backfill_depth", 1),
        iteration=max(whole("scheduler_iteration", 600), 1),
        preempts=is_on(values, "preemptive_sched", True),
        express_priority=whole("preempt_queue_prio", 150),
        preempt_way=_WAYS.get(order[:1], SUSPENDED),
        lowest=len(preemption_levels(scheduler)),
        decay_time=max(setting_seconds(str(values.get("fairshare_decay_time", 86400))), 1),
        decay_factor=float(str(values.get("fairshare_decay_factor", 0.5))),
        minute_phase=phases.minute_s,
        poll_phase=phases.poll_s,
    )


def preemption_levels(scheduler: SchedulerSettings) -> tuple[int, ...]:
    """What each level of `preempt_prio` asks of its jobs, as sums of EXPRESS, OVER_SERVER and OVER_QUEUE, 0 for normal jobs, highest level
    first. Levels that a replay does not know are left out, see `unmodelled_levels`."""
    masks = [sum(_LEVELS[word] for word in words) for words in _levels(scheduler) if set(words) <= set(_LEVELS)]
    return tuple(dict.fromkeys([*masks, 0]))


def unmodelled_levels(scheduler: SchedulerSettings) -> tuple[str, ...]:
    """Levels of `preempt_prio` that a replay does not know."""
    return tuple("+".join(words) for words in _levels(scheduler) if not set(words) <= set(_LEVELS))


def soft_limit_owners(scheduler: SchedulerSettings) -> tuple[str, ...]:
    """What soft limits change something for jobs: those of "cluster" and "partition" that `preempt_prio` has a level for."""
    masks = preemption_levels(scheduler) if is_on(scheduler.values, "preemptive_sched", True) else ()
    owners = ((OVER_SERVER, "cluster"), (OVER_QUEUE, "partition"))
    return tuple(owner for kind, owner in owners if any(mask & kind for mask in masks))


def _levels(scheduler: SchedulerSettings) -> list[tuple[str, ...]]:
    text = str(scheduler.values.get("preempt_prio", "")).strip('"') or "express_queue, normal_jobs"
    parts = (tuple(word.strip().lower() for word in part.split("+")) for part in text.split(","))
    return [words for words in parts if any(words)]


def setting_seconds(text: str) -> int:
    """Seconds of a time such as 24:00:00."""
    seconds = 0.0
    for part in text.split(":"):
        seconds = 60 * seconds + float(part)
    return int(seconds)


def is_on(values: Mapping[str, Setting], name: str, usual: bool) -> int:
    """1 where a setting is true, else 0."""
    return int(str(values.get(name, usual)).lower() in ("true", "1", "yes"))


def sort_formula(scheduler: SchedulerSettings) -> Formula | None:
    """The formula of the queue's order, None where there is none.

    Raises FormulaError for a formula with attributes that a replay does not have."""
    text = formula_text(scheduler)
    if not text:
        return None
    for name, ours in _OWN_WORDS.items():
        text = text.replace(name, ours)
    return parse_formula(text)


def formula_text(scheduler: SchedulerSettings) -> str:
    """The formula as it is configured, "" for none."""
    return str(scheduler.values.get("job_sort_formula", "")).strip().strip('"')


def unmodelled_formula(scheduler: SchedulerSettings) -> str:
    """Why the formula cannot be replayed, "" where it can."""
    try:
        sort_formula(scheduler)
    except FormulaError as error:
        return str(error).splitlines()[0]
    return ""


def queue_depths(cluster: ClusterDescription) -> tuple[int, ...]:
    """Top jobs of a pass by queue, -1 where the queue shares those of the server."""
    return tuple(int(float(str(queue.extra.get("backfill_depth", -1)))) for queue in cluster.queues)
