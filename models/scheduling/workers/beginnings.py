"""What a worker's windows begin with: backlogs of the learning policy's own replay, or of another policy's, which is made seldom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from models.scheduling.arena import Arena, Windows
from models.scheduling.learning.training import Lessons
from models.scheduling.workers.groups import Workers
from simulator.agents.backlogs import Backlogs
from simulator.policies.network import KernelWeights
from simulator.policies.registry import Policy, parse_policy

EPOCHS_AHEAD = 16
"""For how many epochs one replay of another policy keeps backlogs: a log of millions of jobs takes seconds to replay."""


class Beginnings:
    """Backlogs for the windows of each epoch.

    policy: whose backlogs, by name; None for the learning policy's, from a replay in every epoch. drawn: the worker's windows of an
    epoch, which depend on nothing but its number.
    """

    def __init__(self, arena: Arena, lessons: Lessons, policy: str | None, drawn: Callable[[int], Windows]) -> None:
        self._arena, self._lessons, self._drawn = arena, lessons, drawn
        self._policy = None if policy is None else parse_policy(policy)
        self._kept: dict[int, Windows] = {}
        self._validation: Windows | None = None

    def of(self, epoch: int, windows: Windows, weights: KernelWeights) -> Windows:
        """The worker's windows of an epoch with what they begin with."""
        after = self._lessons.after
        if self._policy is None or after is None:
            return self._lessons.begun(self._arena, windows, weights) if len(windows) else windows
        if epoch not in self._kept:
            self._kept = self._ahead(epoch, weights, after)
        return self._kept[epoch]

    def of_validation(self, workers: Workers, weights: KernelWeights) -> Windows:
        """This worker's share of the windows that choose. They begin as those to learn from where another policy keeps the backlogs, and
        else on an empty cluster. A continuous replay cannot be shared, and is worker 0's."""
        windows = self._lessons.validation
        if windows.continuous:
            return windows if workers.rank == 0 else windows.taken(np.zeros(0, dtype=np.int64))
        if self._validation is None:
            own = windows.taken(np.arange(workers.rank, len(windows), workers.size))
            after = self._lessons.after
            if self._policy is not None and after is not None and len(own):
                own = self._arena.with_backlogs(self._accounting(weights), own, after)
            self._validation = own
        return self._validation

    def _accounting(self, weights: KernelWeights) -> Policy:
        """The policy, which keeps users' accounts where the network reads them."""
        assert self._policy is not None
        return replace(self._policy, half_life_s=self._arena.policy_of(weights).half_life_s)

    def _ahead(self, epoch: int, weights: KernelWeights, after: int) -> dict[int, Windows]:
        """The windows of the next epochs, all from one replay."""
        epochs = range(epoch, epoch + EPOCHS_AHEAD)
        drawn = [self._drawn(k) for k in epochs]
        first = np.concatenate([windows.first for windows in drawn])
        policy = self._accounting(weights)
        together = self._arena.with_backlogs(policy, replace(drawn[0], first=first), after) if len(first) else drawn[0]
        states = together.backlogs.states if together.backlogs else ()
        ends = np.cumsum([len(windows) for windows in drawn])
        return {
            k: replace(windows, backlogs=Backlogs(states[end - len(windows) : end], after))
            for k, windows, end in zip(epochs, drawn, ends.tolist(), strict=True)
        }
