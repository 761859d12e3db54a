"""Which candidates explain a log together: forward selection by full replays of its first half."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models.identification.logged_jobs import StartedJobs
from models.identification.replaying import RuledCluster
from models.identification.rules import HOURS, LIMIT_KINDS, IdentifiedRule, RejectedRule
from models.judging.fidelity import OFFSET_S
from simulator.limits.hours import DAY_MINUTES

FloatArray = NDArray[np.float64]

MEAN_COUNTS = 0.25
"""What the search minimizes is the mean over jobs of |ln((replayed + 60) / (logged + 60))|, and so much of the same for the mean wait."""
PENALTY = 0.03
"""By how much that must fall for a rule to be taken."""
BLOCKS, STEADY = 10, 2.5
"""A rule must help in most of so many parts of the log: the mean gain by its standard error."""
MOST_RULES = 8
SECOND_LOOK, OF_A_SLOT = 30, 6
"""Candidates that are tried again after a rule was taken, and of them such as exclude each other."""
MOVES_OF_TIME = (-60, -30, 30, 60)

Advance = Callable[[float, str], None]


class BudgetSpent(Exception):
    """No replay is left."""


@dataclass(frozen=True)
class Fit:
    """A set of rules, the error of each scored job, float64 (jobs,), None where a job never starts, and how far off the mean wait is, as
    |ln| of the ratio."""

    rules: tuple[IdentifiedRule, ...]
    errors: FloatArray | None
    mean_off: float = 0.0

    @property
    def score(self) -> float:
        """What the search minimizes."""
        return float("inf") if self.errors is None else float(self.errors.mean()) + MEAN_COUNTS * self.mean_off


class RuleSearch:
    """Forward selection on one part of a log. taken: rules that are not searched, such as declared ones."""

    def __init__(
        self, log: StartedJobs, procs: int, budget: int, advance: Advance, taken: Iterable[IdentifiedRule] = ()
    ) -> None:
        self.log, self.procs, self.budget, self.advance = log, procs, budget, advance
        self.replays = 0
        self.taken = tuple(taken)
        self.scored = log.start <= log.jobs.submit.max()
        self.logged = log.wait[self.scored]
        self.rejected: dict[IdentifiedRule, str] = {}

    def run(self, candidates: Sequence[IdentifiedRule]) -> tuple[IdentifiedRule, ...]:
        """The rules that were taken, in their order."""
        best = self.fit(self.taken)
        left = list(candidates)
        try:
            while left and len(best.rules) < MOST_RULES:
                fits = [self._beside(best, each) for each in left]
                gains = sorted(range(len(left)), key=lambda k: fits[k].score)
                winner = next((k for k in gains if not self._objection(best, fits[k], left[k])), None)
                if winner is None:
                    break
                helpful = [left[k] for k in gains if fits[k].score < best.score]
                left = _best_of_slots(each for each in helpful if slot_of(each) != slot_of(left[winner]))
                best = self._refined(fits[winner], fits[winner].rules[-1])
            best = self._without_idle(best)
        except BudgetSpent:
            for each in left:
                self.rejected.setdefault(each, "the budget of replays was spent")
        for each in candidates:
            if each not in best.rules:
                self.rejected.setdefault(each, "a rule like it fits better")
        return best.rules

    def fit(self, rules: tuple[IdentifiedRule, ...]) -> Fit:
        """A replay under some rules. Raises BudgetSpent."""
        if self.replays >= self.budget:
            raise BudgetSpent
        self.replays += 1
        self.advance(self.replays / self.budget, "replays under combinations of rules")
        waits = RuledCluster(self.procs, rules).waits(self.log)
        if waits is None:
            return Fit(rules, None)
        replayed = waits[self.scored] + OFFSET_S
        logged = self.logged + OFFSET_S
        return Fit(rules, np.abs(np.log(replayed / logged)), abs(float(np.log(replayed.mean() / logged.mean()))))

    def _beside(self, best: Fit, rule: IdentifiedRule) -> Fit:
        """With a rule more, which replaces the one of its kind where there is one."""
        return self.fit((*(each for each in best.rules if slot_of(each) != slot_of(rule)), rule))

    def _objection(self, best: Fit, fit: Fit, rule: IdentifiedRule) -> str:
        """Why a rule is not taken, "" where it is."""
        objection = objection_to(best, fit, rule)
        if objection:
            self.rejected[rule] = objection
        return objection

    def _refined(self, fit: Fit, rule: IdentifiedRule) -> Fit:
        """With values near those of the rule, as long as they fit better."""
        others = tuple(each for each in fit.rules if each != rule)
        for _ in range(2):
            best = fit
            for near in neighbours_of(rule):
                tried = self.fit((*others, near))
                if tried.score < best.score - PENALTY / 4:
                    best = tried
            if best is fit:
                break
            fit, rule = best, best.rules[-1]
        return fit

    def _without_idle(self, best: Fit) -> Fit:
        """Without rules that no longer help, since later ones explain the same."""
        for rule in best.rules:
            if rule in self.taken:
                continue
            less = self.fit(tuple(each for each in best.rules if each != rule))
            if less.score < best.score + PENALTY / 2:
                self.rejected[rule] = "other rules explain the same"
                best = less
        return best


def objection_to(best: Fit, fit: Fit, rule: IdentifiedRule) -> str:
    """Why a rule does not help enough, "" where it does."""
    if fit.errors is None or best.errors is None:
        return "under it some jobs never start"
    fall, gain = best.score - fit.score, best.errors - fit.errors
    if is_fixed_by_holder(rule):
        gain = gain[len(gain) // 2 :]
        fall = min(fall, float(gain.mean()))
    if fall < PENALTY:
        return f"the error of the waits falls by {fall:.3f} only" if fall > 0 else "the waits fit no better"
    blocks = np.array([block.mean() for block in np.array_split(gain, BLOCKS)])
    if blocks.mean() < STEADY * blocks.std(ddof=1) / np.sqrt(BLOCKS):
        return f"it helps in {int((blocks > 0).sum())} of {BLOCKS} parts of the log only"
    return ""


def is_fixed_by_holder(rule: IdentifiedRule) -> bool:
    """Whether the rule has a bound for each holder that does not change. Such bounds are read from the first half of what the search sees,
    and judged by the second."""
    return rule.kind in LIMIT_KINDS and len({bound.since_s for bound in rule.bounds}) == 1


def _best_of_slots(rules: Iterable[IdentifiedRule]) -> list[IdentifiedRule]:
    """The first of each slot, up to SECOND_LOOK in all."""
    kept: list[IdentifiedRule] = []
    counts: Counter[tuple[object, ...]] = Counter()
    for rule in rules:
        counts[slot_of(rule)] += 1
        if counts[slot_of(rule)] <= OF_A_SLOT:
            kept.append(rule)
    return kept[:SECOND_LOOK]


def slot_of(rule: IdentifiedRule) -> tuple[object, ...]:
    """Two rules of the same slot exclude each other."""
    if rule.kind in LIMIT_KINDS:
        return rule.kind, rule.scope, rule.queue, rule.holder
    if rule.kind == HOURS and rule.gate is not None:
        gate = rule.gate
        return rule.kind, gate.days, gate.over_time_s, gate.over_cpus, gate.partition
    return (rule.kind,)


def neighbours_of(rule: IdentifiedRule) -> Iterator[IdentifiedRule]:
    """A gate with other hours near its own. The bound of a limit is a plateau that the log shows, and stays."""
    if rule.kind == HOURS and rule.gate is not None:
        gate = rule.gate
        for move in MOVES_OF_TIME:
            yield replace(rule, gate=replace(gate, begin_minute=(gate.begin_minute + move) % DAY_MINUTES))
            yield replace(rule, gate=replace(gate, end_minute=(gate.end_minute + move) % DAY_MINUTES))


def as_rejected(rejected: dict[IdentifiedRule, str]) -> tuple[RejectedRule, ...]:
    """Candidates that were not taken, with the reason of each."""
    return tuple(RejectedRule(rule, because) for rule, because in rejected.items())
