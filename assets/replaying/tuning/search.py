"""The search for better settings: an optimiser proposes edits, whole replays of the first part of a log say what they are worth."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from assets.common.progress import progress_bar
from assets.replaying.tuning.guards import AgainstBase, Guards, ScoredRuns, against_base
from assets.replaying.tuning.knobs import Candidate, Knob, Values, edits_of
from assets.replaying.tuning.tunable import StoredReplays, Tunable
from models.side_by_side import cores

_BATCH = 4
"""Candidates that are proposed at once, however many cores there are, so that a seed gives the same candidates on every machine."""
FIRST_RANDOM = 12
"""So many candidates are drawn at random before the optimiser learns from them. More trials go on where fewer have ended."""
_FINALISTS = 5
"""Candidates that are replayed in all runs of a scheduler that is not deterministic."""
_LEAST_GAIN = 0.002
"""A line stays only if the mean of both logarithms is worse by this without it."""
NULL_SEED = 1_000_003


@dataclass(frozen=True)
class Trial:
    """A candidate and what it is worth on the first part of the log, in one run."""

    candidate: Candidate
    compared: AgainstBase


@dataclass
class SettingsSearch:
    """One search. replays: made and stored. cut: how many of the first jobs it sees. trials: how many candidates it tries."""

    replays: StoredReplays
    knobs: tuple[Knob, ...]
    guards: Guards
    trials: int
    nulls: int
    seed: int
    cut: int

    def __post_init__(self) -> None:
        tunable = self.replays.tunable
        finals = _FINALISTS * (tunable.runs - 1)
        total = 4 * tunable.runs + self.trials + finals + len(self.knobs) + self.nulls
        # it is stored, and may take a minute more than the others to compile: the time left is not estimated by it
        self.replays.schedule(edits_of(self.knobs, self.unchanged), 0, self.cut)
        self._bar: Any = progress_bar("replays", total)

    @property
    def tunable(self) -> Tunable:
        """What is replayed."""
        return self.replays.tunable

    def runs(self, candidate: Candidate, runs: int, whole: bool) -> ScoredRuns:
        """Runs of a candidate. whole: of the whole log, of which the later part is scored, in place of the first part."""
        count = len(self.tunable.jobs) if whole else self.cut
        edits = edits_of(self.knobs, candidate)
        schedules = []
        for run in range(runs):
            schedules.append(self.replays.schedule(edits, run, count))
            self._bar.update()
        # where every job is scored, the machine is measured until the last one has ended, which may be long after the others
        scored = np.arange(count) >= self.cut if whole else np.arange(count) < count - 1
        return ScoredRuns(self.tunable, tuple(schedules), scored)

    def many(self, candidates: Iterable[Candidate], runs: int, whole: bool) -> list[ScoredRuns]:
        """Runs of candidates, as many at a time as there are cores."""
        with ThreadPoolExecutor(cores()) as pool:
            return list(pool.map(lambda each: self.runs(each, runs, whole), candidates))

    @property
    def unchanged(self) -> Candidate:
        """The settings as they are."""
        return tuple(knob.unchanged for knob in self.knobs)

    def best(self) -> tuple[Candidate | None, list[Trial], ScoredRuns]:
        """The best candidate that keeps every guard, all trials, and the base. The best one has as few lines as it needs. It is None where
        none is better than the present settings. Raises ValueError where there is no wait to shorten."""
        base = self.runs(self.unchanged, self.tunable.runs, False)
        if not max(base.mean_waits_s):
            raise ValueError(
                f"{self.tunable.name}: no job waits in the first part of the log: no setting can shorten waits"
            )
        trials = self._tried(base)
        better = sorted((each for each in trials if each.compared.keeps), key=lambda each: each.compared.loss)
        finals = list(dict.fromkeys(each.candidate for each in better if each.compared.loss < 0))[:_FINALISTS]
        runs = self.many(finals, self.tunable.runs, False)
        compared = [against_base(each, base, self.guards) for each in runs]
        kept = [(each.loss, k) for k, each in enumerate(compared) if each.keeps and each.gain < -_LEAST_GAIN]
        if not kept:
            return None, trials, base
        return self._pruned(finals[min(kept)[1]], base), trials, base

    def random_candidates(self) -> list[Candidate]:
        """Settings at random within the bounds, as the optimiser's first ones."""
        optuna = optuna_package()
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=self.seed + NULL_SEED))
        return [_proposed(study.ask(), self.knobs) for _ in range(self.nulls)]

    def close(self) -> None:
        """Ends the bar."""
        self._bar.__exit__(None, None, None)

    def _tried(self, base: ScoredRuns) -> list[Trial]:
        optuna, trials = optuna_package(), []
        sampler = optuna.samplers.TPESampler(seed=self.seed, n_startup_trials=FIRST_RANDOM, constant_liar=True)
        study = optuna.create_study(sampler=sampler)
        for begun in range(0, self.trials, _BATCH):
            asked = [study.ask() for _ in range(min(_BATCH, self.trials - begun))]
            candidates = [_proposed(each, self.knobs) for each in asked]
            for each, candidate, runs in zip(asked, candidates, self.many(candidates, 1, False), strict=True):
                compared = against_base(runs, base, self.guards)
                study.tell(each, compared.loss)
                trials.append(Trial(candidate, compared))
        return trials

    def _pruned(self, candidate: Candidate, base: ScoredRuns) -> Candidate:
        """Without lines that change next to nothing."""
        best = against_base(self.runs(candidate, 1, False), base, self.guards)
        for k, values in enumerate(candidate):
            if values == self.knobs[k].unchanged:
                continue
            fewer = (*candidate[:k], self.knobs[k].unchanged, *candidate[k + 1 :])
            without = against_base(self.runs(fewer, 1, False), base, self.guards)
            if without.keeps and without.loss <= best.loss + _LEAST_GAIN:
                candidate, best = fewer, without
        return candidate


def _proposed(trial: Any, knobs: Sequence[Knob]) -> Candidate:
    """Each knob stays as it is or gets new values; the only one always gets some."""
    candidate: list[Values] = []
    for number, knob in enumerate(knobs):
        if len(knobs) > 1 and not trial.suggest_categorical(f"{number} changes", [False, True]):
            candidate.append(knob.unchanged)
            continue
        texts = []
        for place, value in enumerate(knob.values):
            name = f"{number} {place}"
            if value.words:
                texts.append(trial.suggest_categorical(name, list(value.words)))
            elif value.is_whole:
                texts.append(value.text(trial.suggest_int(name, int(value.low), int(value.high), log=value.is_log)))
            else:
                texts.append(value.text(trial.suggest_float(name, value.low, value.high, log=value.is_log)))
        candidate.append(tuple(texts))
    return tuple(candidate)


def optuna_package() -> Any:
    """The optimiser, quiet. Raises ValueError, with the remedy, where it is not installed."""
    try:
        import optuna
    except ImportError:
        raise ValueError(
            "a search for settings needs Optuna, which is not installed: pip install 'tracehouse[tune]'"
        ) from None
    optuna.logging.set_verbosity(logging.WARNING)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    return optuna
