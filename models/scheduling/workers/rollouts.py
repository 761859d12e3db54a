"""Which windows a worker replays in an epoch, and when it stops early so that the others need not wait for it.

The rule is that of DD-PPO (Wijmans et al. 2019, section 3): a worker that has done a quarter of its rollout stops once more than a
share of all workers have finished theirs. Rewards come at a window's end here, so it stops between windows.

What a worker's windows begin with: backlogs of the learning policy's own replay, or of another policy's, which is made seldom.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models.scheduling.arena import Arena, Windows
from models.scheduling.learning.training import Lessons
from models.scheduling.workers.groups import Workers
from simulator.agents.episodes import Backlogs
from simulator.agents.trajectories import Trajectories, join_trajectories, window_seeds
from simulator.policies.network import KernelWeights
from simulator.policies.registry import Policy, parse_policy

IntArray = NDArray[np.int64]

LEAST_DONE = 0.25
"""Share of its rollout that a worker does in any case."""
CHUNKS = 16
"""Parts of a rollout, after each of which a worker looks whether it is to stop."""


@dataclass(frozen=True)
class Share:
    """What one worker replays in an epoch: families of windows, each of which is one window, replayed `siblings` times.

    family: their numbers among all families of the epoch, ascending. drawn: a window of each. seeds: of the draws of each replay,
    int64 (families, siblings).
    """

    family: IntArray
    drawn: Windows
    seeds: IntArray

    def first(self, families: int) -> Share:
        """The share as if it had no more than so many families."""
        return Share(
            self.family[:families], self.drawn.taken(np.arange(min(families, len(self.drawn)))), self.seeds[:families]
        )


def share_of(rank: int, size: int, drawn: Windows, siblings: int, seed: int) -> Share:
    """The share of one worker: whole families, dealt to the workers in turn. drawn: a window of each family of the epoch.

    Draws depend on (seed, family, sibling) alone, so that it makes no difference who replays a family.
    """
    family = np.arange(rank, len(drawn), size)
    seeds = window_seeds(seed, len(drawn) * siblings).reshape(-1, siblings)
    return Share(family, drawn.taken(family), seeds[family])


def roll_out(
    workers: Workers,
    iteration: str,
    share: Share,
    replay: Callable[[Windows, IntArray], Trajectories],
    sync_fraction: float,
    done: int | None,
    inputs: int,
) -> tuple[Share, Trajectories]:
    """Replays the worker's share, or the first part of it. Returns what it has done, and its trajectories.

    iteration: the epoch's name among all that are counted. replay: windows and a seed for each into trajectories. sync_fraction:
    share of the workers above which the others stop; 1 for never. done: stop after exactly so many families, as an earlier training
    did. inputs: numbers that a network reads of each job.
    """
    families, siblings = share.seeds.shape
    last = families if done is None else min(done, families)
    preempts = done is None and sync_fraction < 1.0
    step = -(-families // CHUNKS) if preempts else last
    parts: list[Trajectories] = []
    reached = 0
    while reached < last:
        end = min(reached + step, last)
        windows = share.drawn.taken(np.repeat(np.arange(reached, end), siblings))
        parts.append(replay(windows, share.seeds[reached:end].ravel()))
        reached = end
        if preempts and is_to_stop(workers, iteration, reached / families, sync_fraction):
            break
    if preempts:
        workers.finish(iteration)
    return share.first(reached), join_trajectories(parts, inputs, share.drawn.jobs)


def is_to_stop(workers: Workers, iteration: str, done: float, sync_fraction: float) -> bool:
    """Whether a worker that has done this share of its rollout is to leave the rest."""
    return done >= LEAST_DONE and workers.finished(iteration) > sync_fraction * workers.size


# --- beginnings


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
