"""Finds the rules of a cluster in the first half of its log, and grades them on the second."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from models.identification.closed_hours import boundaries_seen, closures_seen, gates_seen
from models.identification.logged_jobs import HeldMoments, StartedJobs, held_moments
from models.identification.plateaus import (
    FEW_BOUNDS,
    BoundReading,
    Pressure,
    common_limits,
    excepted_limits,
    own_limits,
    pressure_of,
    readings_for,
)
from models.identification.replaying import FAIRSHARE, QUEUE_ORDER, RuledCluster, declared_rules
from models.identification.rules import (
    BACKFILL,
    CYCLE,
    LIMIT_KINDS,
    ORDER,
    RUNNING_JOBS,
    SIZE,
    Bound,
    Evidence,
    IdentifiedRule,
    RejectedRule,
    sentence_of,
)
from models.identification.search import Advance, RuleSearch, as_rejected, rule_slot
from models.judging.fidelity import Agreement, agreement_of
from models.judging.machine import SizeOverTime, in_use, sizes_in_use
from traces.cluster.description import ClusterDescription

FEWEST_IN_A_LOG = 200
LEAST_KEPT = 0.6
"""Share of the holders that could have had more and that must keep a common limit, so that it is tried."""
MOST_BROKEN = 0.005
"""Share of the starts that it may forbid."""
LEAST_EXPLAINED = 0.2
"""Share of waiting beside room that a limit on processors must explain. A limit on jobs that few reach may explain less."""
BUDGET = 1500
ORDERS = ("SJF", "SAF", "bounded-key", "smallest", "largest", "LJF", "LCFS")
FIRST_HALF_LIVES = (1, 7, 30)
"""Days, of fair share. The search refines them."""
BACKFILLS = ("none", "any", "easy-sjbf")
SAVINGS = (0.03, 0.01)
"""Share of all processor time that a further size must explain as never there, of sizes that follow each other and of one change alone."""
PAUSES_S = (10, 1800)
"""Shortest and longest pause between two starts in which a cycle of the scheduler is looked for."""
LEAST_ALIKE, FEWEST_ALIKE = 0.1, 50
"""Share of the pauses, and number of them, that last to the second as long as a cycle."""


@dataclass(frozen=True)
class Identification:
    """What a log shows of its cluster.

    procs: of the cluster. rules: found ones, in the order in which the search took them. declared: those that were taken from a
    description. rejected: all other candidates. replays: how many the search made, of `budget`. before, after: how replays without and
    with the rules agree with the log in its second half; bounds that change are those of the past of each month. beside: the same with the
    months after, None where no bound changes.
    """

    procs: int
    rules: tuple[IdentifiedRule, ...]
    declared: tuple[IdentifiedRule, ...]
    rejected: tuple[RejectedRule, ...]
    replays: int
    budget: int
    before: Agreement
    after: Agreement
    beside: Agreement | None = None

    @property
    def cluster(self) -> RuledCluster:
        """What replays the log under all rules."""
        return RuledCluster(self.procs, (*self.declared, *self.rules))

    @property
    def policy(self) -> str:
        """The order, in the words of --policy."""
        return self.cluster.order

    @property
    def backfill(self) -> str:
        """The rule of backfilling."""
        return self.cluster.backfill


def identify_rules(
    log: StartedJobs,
    procs: int,
    declared: ClusterDescription | None = None,
    budget: int = BUDGET,
    advance: Advance = lambda share, step: None,
) -> Identification:
    """The rules that a log shows.

    procs: of the cluster, the most that it ever had. declared: what its configuration says, which is taken and not searched. budget: of
    replays. advance: gets which share of the work is done, from 0 to 1, and what comes next.

    Raises ValueError for a log that is too short, or whose jobs are wider than the cluster.
    """
    if len(log.jobs) < FEWEST_IN_A_LOG:
        raise ValueError(f"the log has {len(log.jobs):,} jobs with a known start: rules need {FEWEST_IN_A_LOG} or more")
    if int(log.jobs.procs.max()) > procs:
        raise ValueError(f"a job has {int(log.jobs.procs.max()):,} processors, the cluster {procs:,}: give --procs")
    taken = () if declared is None else tuple(declared_rules(declared, log))
    first = log.first(len(log.jobs) // 2)
    moments = held_moments(first, procs)
    candidates = Candidates(first, procs, moments, taken)
    listed = candidates.listed(advance)
    search = RuleSearch(first, procs, budget, lambda share, step: advance(0.1 + 0.8 * share, step), taken)
    chosen = search.run(listed)
    new = tuple(rule for rule in chosen if rule not in taken)
    whole = held_moments(log, procs)
    past, beside = (
        tuple(candidates.extended(rule, log, whole, with_after) for rule in new) for with_after in (False, True)
    )
    advance(0.95, "the second half of the log")
    return Identification(
        procs,
        tuple(replace(rule, sentence=sentence_of(rule)) for rule in past),
        taken,
        (*candidates.rejected, *as_rejected(search.rejected)),
        search.replays,
        budget,
        _agreement(log, procs, taken),
        _agreement(log, procs, (*taken, *past)),
        None if past == beside else _agreement(log, procs, (*taken, *beside)),
    )


def _agreement(log: StartedJobs, procs: int, rules: tuple[IdentifiedRule, ...]) -> Agreement:
    """Of the second half of the jobs."""
    waits = RuledCluster(procs, rules).waits(log)
    if waits is None:
        raise ValueError("some jobs never start under the rules that the log shows: give --procs")
    half = slice(len(log.jobs) // 2, None)
    return agreement_of(log.wait[half], waits[half], log.jobs.runtime[half], log.reacting)


class Candidates:
    """The rules that may explain a log, and how those whose bounds differ by holder were read."""

    def __init__(self, log: StartedJobs, procs: int, moments: HeldMoments, taken: tuple[IdentifiedRule, ...]) -> None:
        self.log, self.procs, self.moments = log, procs, moments
        self.slots = {rule_slot(rule) for rule in taken}
        self.readings: dict[IdentifiedRule, BoundReading] = {}
        self.rejected: list[RejectedRule] = []
        self.middle = int(log.jobs.submit[len(log.jobs) // 2])

    def listed(self, advance: Advance) -> list[IdentifiedRule]:
        """All of them, without those that are declared."""
        made: list[IdentifiedRule] = []
        scopes = [*self.log.holders, "all"]
        for number, scope in enumerate(scopes):
            advance(0.08 * number / len(scopes), "levels while jobs wait")
            made += self._limits(scope)
        advance(0.08, "hours")
        made += gates_seen(self.log, self.moments) + boundaries_seen(self.log) + closures_seen(self.log)
        made += self._sizes() + self._orders() + self._cycles()
        made += [IdentifiedRule(BACKFILL, "all", word=word) for word in BACKFILLS]
        return [rule for rule in dict.fromkeys(made) if rule_slot(rule) not in self.slots]

    def _limits(self, scope: str) -> list[IdentifiedRule]:
        pressure, made = pressure_of(self.log, scope, self.moments), []
        span = (int(self.log.jobs.submit[0]), int(self.log.jobs.submit[-1]))
        for kind in LIMIT_KINDS:
            for rule in common_limits(pressure, kind) if scope != "queue" else ():
                if objection := _unlikely(rule):
                    self.rejected.append(RejectedRule(rule, objection))
                else:
                    made.append(rule)
            if scope not in ("queue", "all"):
                made += excepted_limits(pressure, kind, span[0], self.procs)
            for reading in readings_for(span[1] - span[0]) if scope != "all" else ():
                is_few = len(pressure.names) <= FEW_BOUNDS
                read = span if reading.months or is_few else (span[0], self.middle)
                rule_of_each = own_limits(pressure, kind, reading, read, self.procs)
                if rule_of_each is None:
                    continue
                made.append(rule_of_each)
                if reading.months or not is_few:
                    self.readings.setdefault(rule_of_each, reading)
                elif len(rule_of_each.bounds) > 1:
                    made += [replace(rule_of_each, bounds=(bound,)) for bound in rule_of_each.bounds]
        return made

    def _sizes(self) -> list[IdentifiedRule]:
        """The most that was ever in use, and sizes that follow each other."""
        jobs, start = self.log.jobs, self.log.start
        end, until = start + jobs.runtime, int(jobs.submit[-1])
        begin = int(jobs.submit[0])
        peak = int(in_use(start, end, jobs.procs)[1].max())
        made = [IdentifiedRule(SIZE, "all", bounds=(Bound("", begin, peak),))] if peak < self.procs else []
        coarse, fine = (sizes_in_use(start, end, jobs.procs, until, saving) for saving in SAVINGS)
        tried = [] if coarse is None else [(coarse.procs, coarse.ends), *_fewer_sizes(coarse)]
        tried += [] if fine is None else [sizes for sizes in _fewer_sizes(fine) if len(sizes[1]) == 1]
        for procs, ends in dict.fromkeys(tried):
            bounds = [Bound("", since, most) for since, most in zip((begin, *ends), procs, strict=True)]
            made.append(IdentifiedRule(SIZE, "all", bounds=tuple(bounds)))
        return made

    def _cycles(self) -> list[IdentifiedRule]:
        """How often the scheduler looks, where one pause between starts is far more frequent than others."""
        pauses = np.diff(np.unique(self.log.start))
        pauses = pauses[(pauses >= PAUSES_S[0]) & (pauses <= PAUSES_S[1])]
        lasts, counts = np.unique(pauses, return_counts=True)
        if not len(counts) or counts.max() < max(FEWEST_ALIKE, LEAST_ALIKE * len(pauses)):
            return []
        evidence = Evidence(starts=len(pauses), kept=int(counts.max()))
        return [IdentifiedRule(CYCLE, "all", int(lasts[np.argmax(counts)]), evidence=evidence)]

    def _orders(self) -> list[IdentifiedRule]:
        words = list(ORDERS)
        if "user" in self.log.holders:
            words += [f"{FAIRSHARE}:half_life_days={days}" for days in FIRST_HALF_LIVES]
        queues = self.log.holders.get("queue")
        if queues is not None and 1 < len(queues.names) <= 8:
            mean = [_mean_wait(self.log, queues.number == number) for number in range(len(queues.names))]
            words.append(QUEUE_ORDER + ",".join(queues.names[k] for k in np.argsort(mean, kind="stable")))
        return [IdentifiedRule(ORDER, "all", word=word) for word in words]

    def extended(self, rule: IdentifiedRule, log: StartedJobs, moments: HeldMoments, beside: bool) -> IdentifiedRule:
        """The rule with bounds from all that the search saw, or over the whole log where they are read again each month."""
        reading = self.readings.get(rule)
        if reading is None:
            return rule
        if reading.months is None:
            seen = pressure_of(self.log, rule.scope, self.moments)
            span = (int(self.log.jobs.submit[0]), int(self.log.jobs.submit[-1]))
            return own_limits(seen, rule.kind, reading, span, self.procs) or rule
        pressure: Pressure = pressure_of(log, rule.scope, moments)
        span = (int(log.jobs.submit[0]), int(log.start.max()) + 1)
        return own_limits(pressure, rule.kind, replace(reading, beside=beside), span, self.procs) or rule


def _fewer_sizes(sizes: SizeOverTime) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """One change, or a size between two others, out of many: a quiet week looks like a smaller cluster. Sizes, and the ends of all but the
    last."""
    procs, ends = sizes.procs, sizes.ends
    for cut in range(1, len(procs)):
        before, after = max(procs[:cut]), max(procs[cut:])
        if before != after:
            yield (before, after), (ends[cut - 1],)
        for last in range(cut + 1, len(procs)):
            between, behind = max(procs[cut:last]), max(procs[last:])
            if between < min(before, behind):
                yield (before, between, behind), (ends[cut - 1], ends[last - 1])


def _mean_wait(log: StartedJobs, chosen: np.ndarray) -> float:
    return float(log.wait[chosen].mean()) if chosen.any() else float("inf")


def _unlikely(rule: IdentifiedRule) -> str:
    """Why a common limit is not worth a replay, "" where it is."""
    seen = rule.evidence
    if seen.kept < LEAST_KEPT * seen.holders or not seen.kept:
        return f"{seen.kept:,} of {seen.holders:,} that could have had more keep it"
    if seen.broken > MOST_BROKEN * seen.starts:
        return f"{seen.broken:,} of {seen.starts:,} starts break it"
    if rule.kind != RUNNING_JOBS and seen.explained < LEAST_EXPLAINED:
        return f"it explains {seen.explained:.0%} of the waiting while there was room"
    return ""
