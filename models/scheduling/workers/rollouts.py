"""Which windows a worker replays in an epoch, and when it stops early so that the others need not wait for it.

The rule is that of DD-PPO (Wijmans et al. 2019, section 3): a worker that has done a quarter of its rollout stops once more than a
share of all workers have finished theirs. Rewards come at a window's end here, so it stops between windows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.scheduling.arena import Windows
from models.scheduling.workers.groups import Workers
from simulator.agents.trajectories import Trajectories, join_trajectories, window_seeds

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
