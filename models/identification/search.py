"""Which candidates explain a log together: forward selection by full replays of its first half."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models.identification.closed_hours import gate_evidence, stopped_words
from models.identification.logged_jobs import StartedJobs, held_moments
from models.identification.plateaus import FEW_BOUNDS
from models.identification.replaying import FAIRSHARE, RuledCluster
from models.identification.rules import (
    BACKFILL,
    BOUNDARY,
    HOURS,
    LIMIT_KINDS,
    ORDER,
    SIZE,
    Evidence,
    IdentifiedRule,
    RejectedRule,
)
from models.judging.fidelity import OFFSET_S
from simulator.limits.rules import DAY_MINUTES

FloatArray = NDArray[np.float64]

MEAN_COUNTS = 0.25
"""What the search minimizes is the mean over jobs of |ln((replayed + 60) / (logged + 60))|, and so much of the same for the mean wait."""
RULE_PENALTY, PENALTY_SHARE = 0.03, 0.04
"""By how much that must fall for a rule to be taken, and by which share of it where it is small."""
CLEAR_GAIN = 0.1
"""By which share of it another order, hours, or a limit of a queue must make it fall: there are many, and some fit by chance."""
FEWEST_EXPECTED, FEW_BROKEN = 50, 0.02
"""Starts that were to be expected in closed hours, and the share of them that may be there, once the hours are refined."""
BLOCKS, STEADY = 10, 2.5
"""A rule must help in most of so many parts of the log: the mean gain by its standard error."""
HARM, FEWEST_BLOCKS = 0.1, 3
"""Else it must help in so many parts, and lose no more than this share of what it gains in the others: many rules matter for some weeks."""
EXPLAINED, EXPLAINED_HARM, NEARLY_ALL = 0.2, 0.3, 0.8
"""Two parts are enough where so much of the error goes, and no more than that share of what it gains is lost elsewhere. One part is enough
where nearly all of it goes."""
MOST_RULES = 8
SECOND_LOOK, OF_A_SLOT = 30, 6
"""Candidates that are tried again after a rule was taken, and of them such as exclude each other."""
MOVES_OF_TIME = (-60, -30, 30, 60)
MOVES_OF_A_CLOSURE = (30, 60, 120, 180, 240, 300, 360)
"""Minutes by which the cluster is closed later than it is empty: before that nothing may start that runs into it."""
OTHER_BEGINNINGS = 2
"""Orders with backfilling rules from which the selection begins, besides the usual ones and each backfilling rule alone."""
MOST_WORSE = 1.5
"""By how much worse than the usual beginning another one may be, to be tried."""
MOST_REFINED = 2
"""Candidates for hours that are refined before they are judged, of each kind."""
TRIED_HALF_LIVES = (1, 2, 3, 5, 7, 10, 14, 21, 30)
"""Days, of fair share."""

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
        self.moments = held_moments(log, procs)
        self.rejected: dict[IdentifiedRule, str] = {}
        self.refined: set[IdentifiedRule] = set()
        self.refinements: Counter[str] = Counter()
        self.ends: dict[tuple[frozenset[IdentifiedRule], bool], Fit] = {}

    def run(self, candidates: Sequence[IdentifiedRule]) -> tuple[IdentifiedRule, ...]:
        """The rules that were taken, in their order: the selection from the usual beginning, unless another one is clearly better."""
        best = Fit(self.taken, None)
        try:
            for begin in self._beginnings(candidates):
                selected = self._selected(begin, candidates)
                if best.errors is None or is_better(best, selected):
                    best = selected
            for rule in best.rules:
                if rule.kind in (HOURS, BOUNDARY) and rule not in self.taken:
                    best = self._refined(best, rule, 0.0)
                elif rule.kind in LIMIT_KINDS and rule.value and rule not in self.taken:
                    best = self._seen_for_more(best, rule, candidates)
        except BudgetSpent:
            for each in candidates:
                self.rejected.setdefault(each, "the budget of replays was spent")
        for each in candidates:
            if each not in best.rules:
                self.rejected.setdefault(each, "a rule like it fits better")
        return best.rules

    def _beginnings(self, candidates: Sequence[IdentifiedRule]) -> Iterator[Fit]:
        """What is taken alone, with each backfilling rule, and with the likeliest orders: a wrong one hides what a limit explains."""
        usual = self.fit(self.taken)
        yield usual
        free = [each for each in candidates if rule_slot(each) not in {rule_slot(rule) for rule in self.taken}]
        orders, backfills = ([each for each in free if each.kind == kind] for kind in (ORDER, BACKFILL))
        pairs = [
            tuple(rule for rule in (order, backfill) if rule is not None)
            for order in (None, *orders)
            for backfill in (None, *backfills)
        ]
        fits = [self.fit((*self.taken, *pair)) for pair in pairs[1:]]
        alone, others = fits[: len(backfills)], fits[len(backfills) :]
        for each in (*alone, *sorted(others, key=_costs)[:OTHER_BEGINNINGS]):
            if each.score <= MOST_WORSE * usual.score:
                yield each

    def _selected(self, best: Fit, candidates: Sequence[IdentifiedRule]) -> Fit:
        """Forward selection from a beginning."""
        left = [each for each in candidates if each not in best.rules]
        try:
            return self._further(best, left, is_first=True)
        except BudgetSpent:
            for each in left:
                self.rejected.setdefault(each, "the budget of replays was spent")
        return best

    def _further(self, best: Fit, left: list[IdentifiedRule], is_first: bool = False) -> Fit:
        """The best selection with more rules. is_first: both the best rule, and the best of those that are neither orders nor backfilling
        rules, are followed: a wrong order explains a part of what another rule does."""
        place = (
            frozenset(best.rules),
            is_first,
        )  # fewer candidates are left where a selection gets to than where it begins
        if place in self.ends:
            return self.ends[place]
        fits = [self._beside(best, each) for each in left] if len(best.rules) < MOST_RULES else []
        if fits:
            left, fits = self._with_better_hours(best, left, fits)
        gains = sorted(range(len(fits)), key=lambda k: _costs(fits[k]))
        passing = [k for k in gains if not self._objection(best, fits[k], left[k])]
        helpful = [left[k] for k in gains if fits[k].score < best.score]
        winners = passing[:1]
        if is_first:
            winners += [k for k in passing if left[k].kind not in (ORDER, BACKFILL)][:1]
        ends = [] if winners else [self._with_half_life(self._without_idle(best))]
        for winner in dict.fromkeys(winners):
            fit, rule = fits[winner], fits[winner].rules[-1]
            if rule not in self.refined:
                fit = self._refined(fit, rule)
            others = (each for each in helpful if rule_slot(each) != rule_slot(left[winner]))
            ends.append(self._further(fit, _best_of_slots(others)))
        self.ends[place] = min(ends, key=_costs)
        return self.ends[place]

    def _with_better_hours(
        self, best: Fit, left: list[IdentifiedRule], fits: list[Fit]
    ) -> tuple[list[IdentifiedRule], list[Fit]]:
        """The candidates with the best hours refined, of each kind: hours that are a little off hide what the right ones explain."""
        for kind in (HOURS, BOUNDARY):
            places = [k for k, rule in enumerate(left) if rule.kind == kind and fits[k].score < best.score]
            place = min(places, key=lambda k: fits[k].score, default=None)
            if place is not None and left[place] not in self.refined and self.refinements[kind] < MOST_REFINED:
                fit = self._refined(fits[place], left[place])
                self.refined |= {left[place], fit.rules[-1]}
                self.refinements[kind] += 1
                if fit.rules[-1] not in left:
                    left, fits = [*left, fit.rules[-1]], [*fits, fit]
        return left, fits

    def _with_half_life(self, best: Fit) -> Fit:
        """With the half-life of fair share that fits best."""
        shared = [rule for rule in best.rules if rule.kind == ORDER and rule.word.startswith(FAIRSHARE)]
        for rule in shared:
            others = [replace(rule, word=f"{FAIRSHARE}:half_life_days={days}") for days in TRIED_HALF_LIVES]
            fits = [self.fit(tuple(near if each == rule else each for each in best.rules)) for near in others]
            best = min([best, *fits], key=lambda fit: fit.score)
        return best

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
        return self.fit((*(each for each in best.rules if rule_slot(each) != rule_slot(rule)), rule))

    def _objection(self, best: Fit, fit: Fit, rule: IdentifiedRule) -> str:
        """Why a rule is not taken, "" where it is."""
        objection = objection_to(best, fit, rule)
        if rule.gate is not None and not objection:
            seen = gate_evidence(self.log, self.moments, rule.gate)
            if not _is_closed(seen):
                objection = f"{seen.broken:,} jobs started in these hours, where {seen.starts:,} were to be expected"
        if objection:
            self.rejected[rule] = objection
        return objection

    def _refined(self, fit: Fit, rule: IdentifiedRule, share: float = 0.25) -> Fit:
        """With values near those of the rule, as long as they fit better. share: of what a rule must gain, that a move must."""
        others = tuple(each for each in fit.rules if each != rule)
        for near_rules in (neighbours_of, self._other_thresholds, neighbours_of):
            best = fit
            for near in near_rules(rule):
                if near.gate is not None:
                    near = replace(near, evidence=gate_evidence(self.log, self.moments, near.gate))
                    if not _is_closed(near.evidence):
                        continue
                tried = self.fit((*others, near))
                if tried.score < best.score - share * _least_fall(best):
                    best = tried
            fit, rule = best, rule if best is fit else best.rules[-1]
        return fit

    def _seen_for_more(self, best: Fit, rule: IdentifiedRule, candidates: Sequence[IdentifiedRule]) -> Fit:
        """With a limit of another scope instead, which explains as much and which more holders keep: what one account shows may be the
        limit of its users."""
        slots = {rule_slot(each) for each in best.rules}
        for other in candidates:
            if (other.kind, other.queue) != (rule.kind, rule.queue) or not other.value or rule_slot(other) in slots:
                continue
            if other.evidence.kept > rule.evidence.kept:
                fit = self.fit(tuple(other if each == rule else each for each in best.rules))
                if fit.score <= best.score + _least_fall(best):
                    return fit
        return best

    def _other_thresholds(self, rule: IdentifiedRule) -> Iterator[IdentifiedRule]:
        """A gate that stops other requests or sizes."""
        if rule.gate is not None and not rule.gate.partition:
            for words in stopped_words(self.log):
                if "partition" not in words:
                    yield replace(rule, gate=replace(rule.gate, **{"over_time_s": None, "over_cpus": None} | words))  # type: ignore[arg-type]

    def _without_idle(self, best: Fit) -> Fit:
        """Without rules that no longer help, since later ones explain the same."""
        for rule in best.rules:
            if rule in self.taken:
                continue
            less = self.fit(tuple(each for each in best.rules if each != rule))
            must_stay = rule.kind not in (ORDER, BACKFILL, HOURS) or not objection_to(less, best, rule)
            if less.score <= best.score + _least_fall(less) / 2 or not must_stay:
                self.rejected[rule] = "other rules explain the same"
                best = less
        return best


def _costs(fit: Fit) -> float:
    """The score, and RULE_PENALTY for each rule, each change of size and each exception."""
    changes = sum(max(len(rule.bounds) - 2, 0) for rule in fit.rules if rule.kind == SIZE)
    changes += sum(exceptions_of(rule) for rule in fit.rules)
    return fit.score + RULE_PENALTY * (len(fit.rules) + changes)


def exceptions_of(rule: IdentifiedRule) -> int:
    """How many holders are excepted from a common limit."""
    return len(rule.bounds) if rule.kind in LIMIT_KINDS and rule.value else 0


def _is_closed(seen: Evidence) -> bool:
    """Whether the log shows that hours are closed."""
    return seen.starts >= FEWEST_EXPECTED and seen.broken <= FEW_BROKEN * seen.starts


def _least_fall(best: Fit) -> float:
    """By how much the score must fall for a rule."""
    return min(RULE_PENALTY, PENALTY_SHARE * best.score)


def is_better(best: Fit, other: Fit) -> bool:
    """Whether a selection is clearly better than the one before it: by what its further rules cost, and steadily. A rule of another order
    or another backfilling costs as a further one."""
    new = [rule for rule in other.rules if rule not in best.rules]
    return bool(new) and not objection_to(
        best, other, min(new, key=lambda rule: rule.kind != ORDER), max(len(other.rules) - len(best.rules), 1)
    )


def objection_to(best: Fit, fit: Fit, rule: IdentifiedRule, count: int = 1) -> str:
    """Why a rule, or `count` rules of which it is one, do not help enough, "" where they do."""
    if fit.errors is None or best.errors is None:
        return "under it some jobs never start"
    fall, gain = best.score - fit.score, best.errors - fit.errors
    if is_fixed_by_holder(rule) and len(rule.bounds) > FEW_BOUNDS:
        gain = gain[len(gain) // 2 :]
        fall = min(fall, float(gain.mean()))
    least = (count + exceptions_of(rule)) * _least_fall(best)
    if rule.kind in (ORDER, HOURS) or rule.scope == "queue":
        least = max(least, CLEAR_GAIN * best.score)
    if fall <= 0 or fall < least:
        return f"the error of the waits falls by {fall:.3f} only" if fall > 0 else "the waits fit no better"
    blocks = np.array([block.mean() for block in np.array_split(gain, BLOCKS)])
    is_steady = blocks.mean() >= STEADY * blocks.std(ddof=1) / np.sqrt(BLOCKS)
    won, lost = blocks[blocks > 0].sum(), -blocks[blocks < 0].sum()
    helped = int((blocks > least).sum())
    is_harmless = lost <= HARM * won and helped >= FEWEST_BLOCKS
    explains = lost <= EXPLAINED_HARM * won and helped >= 2 and fall >= EXPLAINED * best.score
    is_all = lost <= HARM * won and fall >= NEARLY_ALL * best.score
    if not (is_steady or is_harmless or explains or is_all):
        return f"it helps in {int((blocks > 0).sum())} of {BLOCKS} parts of the log only"
    return ""


def is_fixed_by_holder(rule: IdentifiedRule) -> bool:
    """Whether the rule has a bound for each holder that does not change. Such bounds are read from the first half of what the search sees.
    Many of them are judged by the second."""
    return rule.kind in LIMIT_KINDS and len({bound.since_s for bound in rule.bounds}) == 1


def _best_of_slots(rules: Iterable[IdentifiedRule]) -> list[IdentifiedRule]:
    """The first of each slot, up to SECOND_LOOK in all."""
    kept: list[IdentifiedRule] = []
    counts: Counter[tuple[object, ...]] = Counter()
    for rule in rules:
        counts[rule_slot(rule)] += 1
        if counts[rule_slot(rule)] <= OF_A_SLOT:
            kept.append(rule)
    return kept[:SECOND_LOOK]


def rule_slot(rule: IdentifiedRule) -> tuple[object, ...]:
    """Two rules of the same slot exclude each other."""
    if rule.kind in LIMIT_KINDS:
        return rule.kind, rule.scope, rule.queue, rule.holder
    if rule.kind == HOURS and rule.gate is not None:
        gate = rule.gate
        return rule.kind, gate.days, gate.over_time_s, gate.over_cpus, gate.partition
    return (rule.kind,)


def neighbours_of(rule: IdentifiedRule) -> Iterator[IdentifiedRule]:
    """A gate or a closure with other hours near its own. The bound of a limit is a plateau that the log shows, and stays."""
    if rule.kind == BOUNDARY and len(rule.edges) == 1 and rule.edges[0].minutes:
        edge = rule.edges[0]
        for move in MOVES_OF_A_CLOSURE:
            if edge.minutes > move and edge.minute + move < DAY_MINUTES:
                yield replace(rule, edges=(replace(edge, minute=edge.minute + move, minutes=edge.minutes - move),))
    if rule.kind == HOURS and rule.gate is not None:
        gate = rule.gate
        for move in MOVES_OF_TIME:
            yield replace(rule, gate=replace(gate, begin_minute=(gate.begin_minute + move) % DAY_MINUTES))
            yield replace(rule, gate=replace(gate, end_minute=(gate.end_minute + move) % DAY_MINUTES))
            for other in (move, -move):
                begin, end = (gate.begin_minute + move) % DAY_MINUTES, (gate.end_minute + other) % DAY_MINUTES
                yield replace(rule, gate=replace(gate, begin_minute=begin, end_minute=end))


def as_rejected(rejected: dict[IdentifiedRule, str]) -> tuple[RejectedRule, ...]:
    """Candidates that were not taken, with the reason of each."""
    return tuple(RejectedRule(rule, because) for rule, because in rejected.items())
