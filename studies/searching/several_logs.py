"""Training on several logs at once, for gains that others do not pay for.

A network is compared by what a search of programs makes small (studies/searching/evolution.py): the gain over FCFS with EASY, and
LIMIT_PENALTY times whatever guards exceed. The worst log counts half. A generation replays one copy of every log, so that no network learns
the accidents of one month.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.scheduling.learning.checkpoint import training_hash, visible_columns
from models.scheduling.learning.evolution import CostOf
from simulator.metrics.metrics import SEMANTICS
from simulator.policies.network import KernelWeights
from simulator.policies.observation import ALL_SIGNALS, FACTS, facts_of
from simulator.policies.registry import network_policy
from studies.searching.evolution import CLASS_LIMIT, LIMIT_MARGIN, LIMIT_PENALTY, value_of_logs
from studies.searching.learning_logs import LearningLog


@dataclass(frozen=True)
class GuardedLogs:
    """A fitness for models.scheduling.learning.evolution.evolve_by.

    learned: logs to learn from, each with its copies. choosing: the same logs, of which later jobs are scored. limit: as in `log_value`.
    """

    learned: Sequence[Sequence[LearningLog]]
    choosing: Sequence[LearningLog]
    limit: float

    def cost_in_generation(self, rng: np.random.Generator, centre: KernelWeights) -> CostOf:
        """On one copy of every log, the same for all candidates."""
        drawn = [copies[int(rng.integers(len(copies)))] for copies in self.learned]
        return lambda weights: self._value(weights, drawn)

    def validated(self, weights: KernelWeights) -> float:
        """On the later jobs of all logs."""
        return self._value(weights, self.choosing)

    def training(self, settings: object, start: KernelWeights) -> str:
        """A hash of all that the training depends on. Raises ValueError where a log lacks what the network reads."""
        logs = [*(log for copies in self.learned for log in copies), *self.choosing]
        for log in logs:
            facts_of(log.jobs, log.procs, start.facts)
        arrays = [column for log in logs for column in visible_columns(log.jobs)]
        values = [[len(log.jobs), log.procs, log.first_scored, sorted(log.jobs.facts)] for log in logs]
        shape = [len(copies) for copies in self.learned]
        value = [self.limit, LIMIT_PENALTY, LIMIT_MARGIN, CLASS_LIMIT, SEMANTICS]
        return training_hash([*arrays, *start], [values, shape, value, settings, *FACTS, *ALL_SIGNALS])

    def _value(self, weights: KernelWeights, logs: Sequence[LearningLog]) -> float:
        policy = network_policy(weights)
        return value_of_logs([[log.outcome(policy)] for log in logs], self.limit)
