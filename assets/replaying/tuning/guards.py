"""How much better candidate settings are, and whether somebody pays more for it than the user allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assets.replaying.tuning.tunable import Classes, Tunable
from models.judging.panel import FEWEST_JOBS_OF_A_CLASS, USERS_LEAST_S, Replayed
from models.judging.verdict import MOST_LOST, MOST_OF_A_GUARD, Ratios, ratios_of
from simulator.jobs.schedule import Schedule

_KINDS = ("user", "size", "qos", "queue")
"""Kinds of classes that a guard may name: classes of users by their number of jobs, classes of size, QOS, and queues or partitions."""
P95, UTILISATION = "p95", "utilisation"
NOISE_OF_USE = 0.002
"""A utilisation is lower from this share on."""
_PENALTY = 5.0
"""A broken guard weighs so much more than a gain, both as logarithms."""
NO_VALUE = 10.0
"""The loss of a candidate under which jobs never start."""


@dataclass(frozen=True)
class Guards:
    """What a change may cost. classes: by kind, the most that the mean wait of any class may grow, as a ratio. p95: the same for the 95th
    percentile of all jobs and of each class. utilisation: the least that is left of it."""

    classes: Mapping[str, float] = field(
        default_factory=lambda: dict.fromkeys(("user", "size", "qos"), MOST_OF_A_GUARD)
    )
    p95: float = MOST_OF_A_GUARD
    utilisation: float = 1.0

    @classmethod
    def of(cls, texts: Sequence[str]) -> Guards:
        """The usual ones with those that texts such as `qos=1.05` change. Raises ValueError for another text."""
        usual = cls()
        classes, others = dict(usual.classes), {P95: usual.p95, UTILISATION: usual.utilisation}
        for text in texts:
            name, _, number = text.partition("=")
            try:
                ratio = float(number)
            except ValueError:
                ratio = math.nan
            if name not in (*_KINDS, *others) or not 0 < ratio < math.inf:
                raise ValueError(
                    f"guard {text!r}: expected NAME=RATIO with one of {', '.join((*_KINDS, *others))}, such as qos=1.05 for waits that "
                    "grow by 5 % at most"
                )
            if name in others:
                others[name] = ratio
            else:
                classes[name] = ratio
        return cls(classes, **others)


@dataclass(frozen=True)
class ScoredRuns:
    """The same jobs of all runs of one configuration. scored: which of the first jobs count, bool (jobs,)."""

    tunable: Tunable
    schedules: tuple[Schedule, ...]
    scored: NDArray[np.bool_]

    @cached_property
    def replayed(self) -> tuple[Replayed, ...]:
        """Each run, as verdicts take it."""
        jobs = self.tunable.jobs.window(0, len(self.scored))
        return tuple(Replayed(jobs, self.tunable.procs, each, self.scored) for each in self.schedules)

    @cached_property
    def never_started(self) -> int:
        """Scored jobs without a start in the first run."""
        return int((self.scored & ~self.schedules[0].started).sum())

    @cached_property
    def waits(self) -> NDArray[np.int64]:
        """Waits of all jobs in each run, seconds, (runs, jobs)."""
        submit = self.tunable.jobs.submit[: len(self.scored)]
        return np.stack([np.where(each.started, each.start - submit, 0) for each in self.schedules])

    @cached_property
    def utilisations(self) -> list[float]:
        """Of each run, from the first submission of all jobs to the last. Better settings leave less work to a later part."""
        everyone = np.arange(len(self.scored)) < len(self.scored) - 1
        return [replace(each, scored=everyone).metrics[UTILISATION] for each in self.replayed]

    @property
    def mean_waits_s(self) -> list[float]:
        """Mean wait of the scored jobs in each run."""
        return [float(each[self.scored].mean()) for each in self.waits]

    def of_class(self, kind: str, number: int) -> NDArray[np.bool_]:
        """The scored jobs of a class."""
        return self.scored & (self.tunable.classes[kind].of_job[: len(self.scored)] == number)


@dataclass(frozen=True)
class AgainstBase:
    """ratios: of each run over the base's run of the same number. guards: by name, what a guard has become over its limit, so that those
    above 1 are broken."""

    ratios: tuple[Ratios, ...]
    guards: Mapping[str, float]
    jobs_lost: int = 0

    @property
    def gain(self) -> float:
        """The logarithm of bounded slowdown and mean wait over those of the base, on average. Below 0 is better."""
        both = [math.log(each.bounded_slowdown) + math.log(max(each.wait, 1e-6)) for each in self.ratios]
        return sum(both) / (2 * len(both))

    @property
    def broken(self) -> tuple[str, ...]:
        """The guards that are broken, worst first."""
        worst = sorted(self.guards.items(), key=lambda each: -each[1])
        return tuple(name for name, ratio in worst if ratio > 1)

    @property
    def keeps(self) -> bool:
        """Whether every guard is kept, and every job starts that starts in the base."""
        return not self.broken and not self.jobs_lost

    @property
    def loss(self) -> float:
        """What a search makes small."""
        if self.jobs_lost:
            return NO_VALUE
        excess = max(0.0, *(math.log(max(ratio, 1e-6)) for ratio in self.guards.values()))
        return min(self.gain + _PENALTY * excess, NO_VALUE)

    def mean_of(self, name: str) -> float:
        """The geometric mean of a ratio over the runs."""
        return math.exp(sum(math.log(max(getattr(each, name), 1e-6)) for each in self.ratios) / len(self.ratios))


def against_base(ours: ScoredRuns, base: ScoredRuns, guards: Guards) -> AgainstBase:
    """A candidate and the base, over the same jobs. A guard of a class is held against the worst of the base's runs, so that what one run
    differs from the next breaks none."""
    pairs = zip(ours.replayed, base.replayed, strict=False)
    lost = max(0, ours.never_started - base.never_started)
    if lost:
        return AgainstBase((), {}, lost)
    procs = base.tunable.procs
    ratios = tuple(ratios_of(one.panel(procs), other.panel(procs)) for one, other in pairs)
    return AgainstBase(ratios, dict(_guarded(ours, base, guards, ratios)))


def _guarded(
    ours: ScoredRuns, base: ScoredRuns, guards: Guards, ratios: Sequence[Ratios]
) -> Iterator[tuple[str, float]]:
    for name in ratios[0].guards:
        values = [each.guards[name] for each in ratios if name in each.guards]
        limit = guards.p95 if name == "p95_wait" else MOST_OF_A_GUARD
        yield f"{name.replace('_', ' ')} of all jobs", sum(values) / len(values) / limit
    lost = sum(each.lost_capacity for each in ratios) / len(ratios)
    yield "capacity lost while jobs wait", 1 + max(0.0, lost - MOST_LOST)
    least = guards.utilisation * min(base.utilisations) * (1 - NOISE_OF_USE)
    yield UTILISATION, least / max(sum(ours.utilisations) / len(ours.utilisations), 1e-9)
    p95 = partial(np.percentile, q=95)
    for kind, limit in guards.classes.items():
        classes = base.tunable.classes.get(kind, Classes((), np.zeros(0, dtype=np.int64)))
        for number, name in enumerate(classes.names):
            members = base.of_class(kind, number)
            if members.sum() >= FEWEST_JOBS_OF_A_CLASS:
                yield f"mean wait of {kind} {name}", _of_members(ours, base, members, np.mean, limit)
                yield f"95th percentile of waits of {kind} {name}", _of_members(ours, base, members, p95, guards.p95)


def _of_members(
    ours: ScoredRuns, base: ScoredRuns, members: NDArray[np.bool_], statistic: Callable[..., Any], limit: float
) -> float:
    """What a statistic of a class has become over the most that it may be: so many times what it is, or a minute more."""
    here, there = (statistic(runs.waits[:, members], axis=1) for runs in (ours, base))
    most = there.max()
    return float(here.mean() / max(limit * most, most + USERS_LEAST_S))
