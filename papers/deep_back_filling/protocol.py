"""The protocol of Deep Back-Filling (Wang, Harwood and Rodriguez, HPCC 2022, sections II-A and IV-A), and what it measures.

An episode begins with one job of a trace on an empty cluster. Arrivals never stop. It is over when so many jobs have been *placed*,
whoever waits then.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.agents.batch import WindowRules, replay_windows
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import CANCELLED

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

PLACED_JOBS = 1000
"""Jobs placed in an episode of the paper."""
LATER_JOBS = 4000
"""Jobs of the trace that an episode may come to see: enough under every rule that we tried."""
START_SEED, START_EPISODES = 1, 100
"""Of the episodes that all rules are compared on."""


class ProtocolMetrics(NamedTuple):
    """What each episode was worth, float64 (episodes,). An episode is from its first submission to the start of the last placed job.

    A job has *arrived* if it was submitted by then. The wait of one that has not been placed counts until then (reading 7 of
    papers.deep_back_filling.options: the paper's equation of section II-A3 is about arrived jobs, its figures may be about placed ones).
    """

    wait_placed: FloatArray  # seconds, mean of the placed jobs
    wait_arrived: FloatArray  # seconds, mean of the arrived jobs
    queue: FloatArray  # jobs that wait, mean over time (section II-A2)
    use: FloatArray  # share of the processors in use, mean over time (section II-A1)
    load: FloatArray  # processor-seconds that wait, mean over time (section II-A4)
    wide_placed: FloatArray  # share placed of the arrived jobs wider than half the cluster, NaN where none arrived
    wait_p99: FloatArray  # seconds, of the arrived jobs
    wait_longest: FloatArray  # seconds, of the arrived jobs
    invisible: FloatArray  # jobs outside the window, mean over time (Fig. 6)
    partly_observed: FloatArray  # share of the time in which there are any (Fig. 6)
    arrived: FloatArray  # jobs

    def means(self) -> ProtocolMetrics:
        """Means over the episodes, each of shape ()."""
        return ProtocolMetrics(*(np.asarray(np.nanmean(column)) for column in self))


def protocol_starts(num_jobs: int, first: int = 0, episodes: int = START_EPISODES, later: int = LATER_JOBS) -> IntArray:
    """Where the compared episodes begin: jobs drawn from `first` on that have `later` jobs from there on, int64 (episodes,).

    Raises ValueError where the trace is too short.
    """
    if first < 0 or num_jobs - later <= first:
        raise ValueError(
            f"no episode of {later} jobs can begin between job {first} and the end of a trace of {num_jobs} jobs: take fewer later "
            "jobs or a longer trace"
        )
    return np.random.default_rng(START_SEED).integers(first, num_jobs - later, episodes)


def protocol_metrics(
    jobs: Jobs, cluster_procs: int, first: IntArray, start: IntArray, placed: int = PLACED_JOBS, window: int = 20
) -> ProtocolMetrics:
    """The metrics of episodes, from the schedules of their jobs.

    jobs: the trace. first: index of each episode's first job, int64 (episodes,). start: start times of the jobs from there on,
    seconds in the log's clock, or CANCELLED for those that have not started, int64 (episodes, jobs). placed: how many end an
    episode; they are the first by start time, with ties by order in the log. window: visible jobs, for `invisible` and
    `partly_observed`. Raises ValueError for an episode in which fewer jobs have started.
    """
    episodes = [
        _of_episode(jobs, cluster_procs, position, of_episode, placed, window)
        for position, of_episode in zip(first.tolist(), start, strict=True)
    ]
    columns = np.array(episodes, dtype=np.float64).reshape(len(episodes), len(ProtocolMetrics._fields))
    return ProtocolMetrics(*columns.T)


def _of_episode(
    jobs: Jobs, cluster_procs: int, first: int, start: IntArray, placed: int, window: int
) -> tuple[float, ...]:
    part = slice(first, first + len(start))
    submit, procs, runtime = jobs.submit[part], jobs.procs[part], jobs.runtime[part]
    when = np.where(start == CANCELLED, np.iinfo(np.int64).max, start)
    order = np.argsort(when, kind="stable")[:placed]
    if len(order) < placed or start[order[-1]] == CANCELLED:
        started = int((start != CANCELLED).sum())
        raise ValueError(f"the episode from job {first} has {started} started jobs, and is over with {placed}")
    begin, over = int(submit[0]), int(when[order[-1]])
    span = max(over - begin, 1)
    is_placed = np.zeros(len(start), dtype=np.bool_)
    is_placed[order] = True
    arrived = submit <= over
    wait = np.where(is_placed, when, over)[arrived] - submit[arrived]
    work = procs[arrived] * runtime[arrived]
    wide = arrived & (2 * procs > cluster_procs)
    ran = np.minimum(when[order] + runtime[order], over) - when[order]
    invisible, partly = _beyond(submit[arrived], when[order], over, window)
    return (
        float((when[order] - submit[order]).mean()),
        float(wait.mean()),
        float(wait.sum() / span),
        float((ran * procs[order]).sum() / (span * cluster_procs)),
        float((wait * work.astype(np.float64)).sum() / span),
        float(is_placed[wide].mean()) if wide.any() else np.nan,
        float(np.percentile(wait, 99)),
        float(wait.max()),
        invisible / span,
        partly / span,
        float(arrived.sum()),
    )


def _beyond(submit: IntArray, starts: IntArray, over: int, window: int) -> tuple[float, float]:
    """Seconds that jobs spend beyond so many in the queue, summed over these jobs, and seconds in which there are any."""
    time = np.concatenate([submit, starts])
    change = np.concatenate([np.ones(len(submit), dtype=np.int64), np.full(len(starts), -1)])
    order = np.argsort(time, kind="stable")
    beyond = np.maximum(np.cumsum(change[order]) - window, 0)
    lasts = np.diff(time[order], append=over)
    return float((beyond * lasts).sum()), float(lasts[beyond > 0].sum())


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
