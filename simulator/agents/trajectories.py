"""Windows of a trace replayed by a network that learns: its choices are drawn, or shown by a teacher, and recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.agents.batch import Threads, begin_anew, check_windows, episode_of, many, window_of
from simulator.compiled import lean
from simulator.engine import episode as at
from simulator.engine import general as engine
from simulator.engine.general import Recorder, advance
from simulator.engine.replay import inputs_of, new_recorder, rules_of, scoring_of
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.tasks import tasks_of
from simulator.policies.network import KernelWeights
from simulator.policies.registry import network_policy
from simulator.policies.sampling import DRAW, FOLLOW, seed_draws
from simulator.published.rlscheduler import rlscheduler_inputs
from simulator.published.rlscheduler_loop import sample_range

IntArray = NDArray[np.int64]

ROWS_PER_JOB, DECISIONS_PER_JOB = 24, 2
"""Room of a recorder; where it is full the next one takes over, twice as large if not even one window fitted."""


@dataclass(frozen=True)
class Trajectories:
    """Decisions of a policy, ragged: decision d saw rows first_row[d] : first_row[d] + num_rows[d].

    features: float32 (rows, inputs); choice: index within the decision's rows, int64 (decisions,); log_prob: of that choice under
    the network, 0 where a teacher chose, float32 (decisions,); first_decision: of each window, int64 (windows + 1,); start:
    start times, seconds in the log's clock, int64 (windows, window_jobs). Decisions with a single visible job are not choices
    and are not recorded.
    """

    features: NDArray[np.float32]
    first_row: IntArray
    num_rows: IntArray
    choice: IntArray
    log_prob: NDArray[np.float32]
    first_decision: IntArray
    start: IntArray

    @property
    def decisions(self) -> int:
        return len(self.choice)


def sample_windows(
    jobs: Jobs,
    cluster_procs: int,
    first: IntArray,
    window_jobs: int,
    weights: KernelWeights,
    seed: int,
    backfill: str = "easy",
    rules: str = "standard",
    teacher: NDArray[np.float64] | None = None,
    threads: int | None = None,
) -> Trajectories:
    """Replays windows of a trace, each on an initially empty cluster, recording every choice of a network.

    first: index of each window's first job, int64 (windows,). rules: "standard", or "rlscheduler" for that code's
    (simulator/published/rlscheduler.py). teacher: scores of the jobs that are followed instead of drawing, lowest first, float64
    (num_jobs,). The draws of window k depend on (seed, k) alone. Raises as `replay_windows` does.
    """
    first = np.asarray(first, dtype=np.int64)
    check_windows(jobs, first, window_jobs)
    seeds = np.random.SeedSequence(seed).generate_state(len(first), dtype=np.uint32).astype(np.int64)
    run = _standard if rules == "standard" else _rlscheduler
    fill = run(jobs, cluster_procs, first, window_jobs, weights, backfill, seeds, teacher)
    start = np.empty((len(first), window_jobs), dtype=np.int64)
    count = np.zeros(len(first), dtype=np.int64)
    parts: dict[int, Recorder] = {}

    def work(begin: int, end: int) -> None:
        room = window_jobs
        while begin < end:
            room = max(room, (end - begin) * window_jobs)
            recorder = new_recorder(ROWS_PER_JOB * room, DECISIONS_PER_JOB * room, weights.w1.shape[0])
            reached, rows = fill(recorder, begin, end, start, count)
            if reached > begin:
                used = int(count[begin:reached].sum())
                filled: list[Any] = [recorder.features[:rows], *(column[:used] for column in recorder[1:])]
                parts[begin] = Recorder(*filled)
            else:
                room *= 2
            begin = reached

    Threads(threads).share(len(first), 1, work)
    found = [parts[begin] for begin in sorted(parts)]
    offsets = np.cumsum([0, *(len(part.features) for part in found)])
    for part, offset in zip(found, offsets, strict=False):
        part.first_row[:] += offset
    columns: list[Any] = [
        np.concatenate(column) if len(found) > 1 else column[0] for column in zip(*found, strict=True)
    ]
    return Trajectories(*[*columns, np.concatenate(([0], np.cumsum(count))), start])


Fill = Callable[[Recorder, int, int, IntArray, IntArray], tuple[int, int]]


def _standard(jobs, cluster_procs, first, window_jobs, weights, backfill, seeds, teacher) -> Fill:
    tasks = tasks_of(jobs, Cluster(cluster_procs))
    policy = network_policy(weights, None if teacher is None else lambda *_: teacher)
    rules = rules_of(backfill, "requested", cluster_procs, sample=DRAW if teacher is None else FOLLOW)
    if rules.backfill == engine.RESERVE:
        raise ValueError(f"networks cannot be trained under {backfill!r} backfilling: choose none, easy or easy-sjbf")
    scoring = scoring_of(policy, jobs, tasks, cluster_procs)
    users = int(jobs.user.max()) + 1 if policy.half_life_s > 0 else 0

    def fill(recorder: Recorder, begin: int, end: int, start: IntArray, count: IntArray) -> tuple[int, int]:
        state = many(window_jobs, cluster_procs, 1, users, False, inputs_of(policy))
        return _sample_range(
            tasks, rules, scoring, state, recorder, first, window_jobs, begin, end, seeds, start, count
        )

    return fill


def _rlscheduler(jobs, cluster_procs, first, window_jobs, weights, backfill, seeds, teacher) -> Fill:
    policy = network_policy(weights, None if teacher is None else lambda *_: teacher)
    sample = DRAW if teacher is None else FOLLOW
    rules, loop_jobs = rlscheduler_inputs(jobs, cluster_procs, policy, backfill != "none", sample=sample)

    def fill(recorder: Recorder, begin: int, end: int, start: IntArray, count: IntArray) -> tuple[int, int]:
        part = slice(begin, end)
        fitted, rows = sample_range(rules, loop_jobs, recorder, first[part], seeds[part], start[part], count[part])
        return begin + fitted, rows

    return fill


@lean
def _sample_range(tasks, rules, scoring, state, recorder, first, window_jobs, begin, end, seeds, start, count):
    """Replays windows begin : end; fills their start times and numbers of decisions. Returns the first window that did not
    fit into the recorder, or `end`, and the rows of those before it."""
    decisions = rows = 0
    for k in range(begin, end):
        seed_draws(seeds[k])
        window, of_window = window_of(tasks, first[k], window_jobs, scoring, scoring.users)
        begin_anew(state)
        state.counters[0, at.CHOICES], state.counters[0, at.ROWS] = decisions, rows
        episode = episode_of(state, 0)
        why = advance(window, rules, of_window, episode, recorder, 0)
        if why == engine.RECORDER_FULL:
            return k, rows
        count[k] = state.counters[0, at.CHOICES] - decisions
        decisions, rows = state.counters[0, at.CHOICES], state.counters[0, at.ROWS]
        for i in range(window_jobs):
            start[k, i] = episode.start[i]
    return end, rows
