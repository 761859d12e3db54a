"""Settings that were searched, and whether they are worth adopting: confirmed on later jobs, with random settings as rivals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assets.replaying.scenarios.paced import Paced, turns_round
from assets.replaying.tuning.guards import AgainstBase, Guards, ScoredRuns, against_base
from assets.replaying.tuning.knobs import Knob, edits_of
from assets.replaying.tuning.paced_runs import paced_under_guards
from assets.replaying.tuning.search import SettingsSearch, optuna_package
from assets.replaying.tuning.tunable import Edits, StoredReplays
from models.judging.judge import Judgement, judge
from models.judging.verdict import DEPENDS, DOMINATES, NO_DIFFERENCE, TRADES, Ratios, beside_chance, verdict_text

TRIALS = 60
FEWEST_RANDOM = 40
"""Of fewer random settings, none may be as good as those that were found."""
KEEP = "keep the settings"
NONE_BETTER = "no candidate is better and keeps every guard"
LIKE_RANDOM_SETTINGS = "no better than random settings"
"""In place of the word for random orders."""


@dataclass(frozen=True)
class RandomSettings:
    """What random settings within the bounds are on the later jobs. compared: each of them, where all jobs start."""

    compared: tuple[AgainstBase, ...]

    def share_as_good(self, ratios: Ratios) -> float:
        """The share of them that keep every guard and do at least as well in both averages, the settings counted as one of them."""
        as_good = sum(
            each.keeps
            and all(getattr(each.ratios[0], name) <= getattr(ratios, name) for name in ("bounded_slowdown", "wait"))
            for each in self.compared
        )
        return (1 + as_good) / (1 + len(self.compared))

    def spread(self, measure: str) -> tuple[float, float, float]:
        """Low end, median and high end of a ratio over nine in ten of them."""
        values = [getattr(each.ratios[0], measure) for each in self.compared if each.ratios]
        low, middle, high = np.quantile(values, (0.05, 0.5, 0.95))
        return float(low), float(middle), float(high)

    @property
    def keep_guards(self) -> float:
        """The share that keeps every guard."""
        return sum(each.keeps for each in self.compared) / len(self.compared)


@dataclass(frozen=True)
class TunedSettings:
    """What came out of a search.

    edits: the lines to change, () where nothing is better on the first part. changes: in words, what they change. word, is_certain: of the
    verdict on the later jobs. first, later: over the present settings, None where there are no edits. judgement: of the later jobs.
    random: None where the settings would not dominate. waits_h: mean waits of the later jobs in each run, before and after. tried, kept:
    candidates, and those that keep every guard. replays, seconds: made now, and their CPU time. paced: the later jobs where users keep
    their pace, None where the settings would not dominate, or too few users react. not_paced: why else, "" for neither."""

    source: str
    knobs: tuple[Knob, ...]
    guards: Guards
    edits: Edits
    changes: tuple[str, ...]
    word: str
    is_certain: bool
    first: AgainstBase | None
    later: AgainstBase | None
    judgement: Judgement | None
    random: RandomSettings | None
    waits_h: tuple[list[float], list[float]]
    tried: int
    kept: int
    replays: int
    seconds: float
    later_jobs: int
    paced: Paced | None = None
    not_paced: str = ""

    @property
    def is_better(self) -> bool:
        """Whether the lines are worth changing."""
        return self.word == DOMINATES

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return verdict_text(self.word, self.is_certain)

    @property
    def share_as_good(self) -> float | None:
        """The share of random settings that do as well, None where none was replayed."""
        return None if self.judgement is None else self.judgement.verdict.share_as_good


def tuned_settings(
    replays: StoredReplays, knobs: tuple[Knob, ...], guards: Guards, trials: int = TRIALS, seed: int = 1
) -> TunedSettings:
    """Searches the first half of the jobs, and confirms on the other one what is best there.

    Every replay is stored: the same call goes on where it was killed. Raises ValueError for knobs that the cluster does not take, and where
    no job waits."""
    optuna_package()
    tunable = replays.tunable
    for knob in knobs:
        for end in zip(*(value.ends for value in knob.values), strict=True):
            tunable.changes(edits_of((knob,), (tuple(end),)))
    nulls = max(FEWEST_RANDOM, trials // 2)
    search = SettingsSearch(replays, knobs, guards, trials, nulls, seed, len(tunable.jobs) // 2)
    try:
        return _result(search)
    finally:
        search.close()


def _result(search: SettingsSearch) -> TunedSettings:
    tunable = search.tunable
    best, tried, base = search.best()
    common: dict[str, Any] = {"source": tunable.name, "knobs": search.knobs, "guards": search.guards}
    common |= {"tried": len(tried), "kept": sum(each.compared.keeps for each in tried)}
    common["later_jobs"] = len(tunable.jobs) - search.cut
    if best is None or best == search.unchanged:
        nothing: dict[str, Any] = dict.fromkeys(("first", "later", "judgement", "random"))
        spent = {"replays": search.replays.made, "seconds": search.replays.seconds}
        words = {"edits": (), "changes": (), "word": NONE_BETTER, "is_certain": False, "waits_h": ([], [])}
        return TunedSettings(**common, **nothing, **spent, **words)  # type: ignore[arg-type]
    edits = edits_of(search.knobs, best)
    first = against_base(search.runs(best, tunable.runs, False), base, search.guards)
    present, ours = (search.runs(each, tunable.runs, True) for each in (search.unchanged, best))
    later = against_base(ours, present, search.guards)
    judgement = judge(ours.replayed, present.replayed, wide_of=tunable.procs)
    word, random = judgement.verdict.word, None
    before, after = (sorted(each.mean_waits_s) for each in (present, ours))
    if len(before) > 1 and before[0] <= after[-1] and after[0] <= before[-1]:
        word = NO_DIFFERENCE
    elif word == DOMINATES and not later.keeps:
        word = TRADES
    elif word == DOMINATES:
        drawn = search.many(search.random_candidates(), 1, True)
        random = RandomSettings(tuple(against_base(each, present, search.guards) for each in drawn))
        share = max(random.share_as_good(each) for each in later.ratios)
        judgement = replace(judgement, verdict=beside_chance(judgement.verdict, share))
        word = word if judgement.verdict.word == word else LIKE_RANDOM_SETTINGS
    paced, not_paced = None, ""
    if word == DOMINATES:
        try:
            paced = _paced(search, edits, present)
        except ValueError as error:  # an order that has no rule for such users
            not_paced = str(error)
        if paced is not None and turns_round(word, paced.judgement.verdict.word):
            word = DEPENDS
    return TunedSettings(
        **common,
        edits=edits,
        changes=tunable.changes(edits),
        word=word,
        is_certain=word == DOMINATES and judgement.verdict.is_certain,
        first=first,
        later=later,
        judgement=judgement,
        random=random,
        waits_h=tuple([each / 3600 for each in runs.mean_waits_s] for runs in (present, ours)),  # type: ignore[arg-type]
        replays=search.replays.made,
        seconds=search.replays.seconds,
        paced=paced,
        not_paced=not_paced,
    )


def _paced(search: SettingsSearch, edits: Edits, present: ScoredRuns) -> Paced | None:
    """The later jobs next to the present settings where users keep their pace. present: which jobs these are. Raises ValueError for an
    order that has no rule for such users."""
    base, ours = (None if search.tunable.paced is None else search.tunable.paced(each) for each in ((), edits))
    return None if base is None or ours is None else paced_under_guards(base, ours, present, search.guards)
