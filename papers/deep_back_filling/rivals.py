"""The rules that Deep Back-Filling is compared with, under its own protocol: rules that see the whole queue, and rules that see the
agent's window."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from papers.deep_back_filling.protocol import LATER_JOBS, PLACED_JOBS, ProtocolMetrics, protocol_metrics
from simulator.agents.batch import WindowRules, replay_windows
from simulator.jobs.jobs import Jobs


class Rival(NamedTuple):
    """A policy and its backfilling, as simulator.engine.replay.replay takes them."""

    policy: str
    backfill: str


RIVALS = {
    "FCFS+EASY": Rival("FCFS", "easy"),
    "EASY-SJBF": Rival("FCFS", "easy-sjbf"),
    "conservative": Rival("FCFS", "conservative"),
    "LCFS+EASY": Rival("LCFS", "easy"),
    "fewest cores": Rival("smallest", "easy"),
    "SJF+EASY": Rival("SJF", "easy"),
    "SAF+EASY": Rival("SAF", "easy"),
    "SJF first fit": Rival("SJF", "any"),
    "SAF, none": Rival("SAF", "none"),
}
"""Rules that see the whole queue, by name. The paper's own are the first, the fourth and the fifth."""
WINDOW_RULES = ("shortest", "narrowest", "oldest")
"""What rules pick from the agent's window."""
WINDOW_SIZES = (8, 10, 16, 20, 32)
"""The paper's M; rules gain nothing from longer ones."""


def window_splits(slots: int) -> dict[str, tuple[int, int]]:
    """Slots at the front and at the end of the queue, by name."""
    half = slots // 2
    return {
        "head only": (slots, 0),
        "one tail slot": (slots - 1, 1),
        "half": (slots - half, half),
        "all tail": (0, slots),
    }


def window_rival(by: str, front: int, back: int) -> Rival:
    """The rule `by` (one of WINDOW_RULES), which starts any visible job that fits and never waits."""
    return Rival("FCFS", f"pick:by={by},from=all,window={front}-{back}")


def try_rival(
    rival: Rival,
    jobs: Jobs,
    cluster_procs: int,
    first: NDArray[np.int64],
    placed: int = PLACED_JOBS,
    later: int = LATER_JOBS,
    window: int = 20,
) -> ProtocolMetrics:
    """The rule in episodes from these jobs of the trace on. window: visible jobs, of which the others are counted as invisible.

    Raises as simulator.agents.batch.replay_windows does.
    """
    rules = WindowRules(backfill=rival.backfill)
    start, _ = replay_windows(jobs, cluster_procs, first, later, rival.policy, rules)
    return protocol_metrics(jobs, cluster_procs, first, start, placed, window)
