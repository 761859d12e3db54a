"""Live estimates on the nodes of a cluster: Slurm plans each waiting job by similar jobs that have ended in the replay.

They are those of models/runtime/live.py, recomputed before schedulers run. A job that outlives its estimate is planned to its limit
(simulator/slurm/starting.py), and no estimate ends one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from compilation.references import refer as typed_refer
from models.compiled import compiled, lean
from models.runtime.live import LiveSettings, estimate_of_alike, learner_of
from models.runtime.past.past_jobs import SAME_USER, likeness_of
from models.runtime.past.similar import MOST_VALUES, remember, request_of
from simulator.slurm.clockwork import NEXT_SUBMIT, NOW, PENDING, STOPS, STOPS_TO_LEARN, WANT_ORDER, Replay
from simulator.slurm.loop import run_replay

refer: Any = typed_refer  # numba gives it its context
OPEN, SUBMITTED = range(2)
"""Places in the counts: jobs that have been submitted and not been learned from, and how many were submitted."""


@dataclass(frozen=True)
class LiveOnCluster:
    """Runs a replay under Slurm with live estimates. rows: of its jobs, in the same order, with the columns of
    `past_jobs.likeness_of`. statistic: of similar jobs, one of LIVE_STATISTICS in models/runtime/estimates.py."""

    rows: pl.DataFrame
    statistic: str

    def __call__(self, replay: Replay) -> None:
        """From the state in which it is to its end."""
        none = np.zeros(self.rows.height, dtype=np.int64)
        learner = learner_of(likeness_of(self.rows), LiveSettings(self.statistic), (none, none, none))
        replay.clock[STOPS] = STOPS_TO_LEARN
        room: NDArray[np.int64] = np.zeros((2, self.rows.height), dtype=np.int64)
        _drive(replay, learner, room[0], room[1], np.zeros(2, dtype=np.int64))


@compiled
def _drive(replay, learner, open_jobs, ended, counts):
    """open_jobs, ended: room for jobs, (jobs,)."""
    state = refer(replay)
    value, weight = np.empty(MOST_VALUES), np.empty(MOST_VALUES)
    while run_replay(state) == WANT_ORDER:
        _learn(state, learner, open_jobs, ended, counts)
        _renew(state, learner, value, weight)


@lean
def _learn(state, learner, open_jobs, ended, counts):
    """Learns from the jobs that have ended since it learned last, in the order of their ends, those of one second in that of the log."""
    clock, finished = state.clock, state.finished
    while counts[SUBMITTED] < clock[NEXT_SUBMIT]:
        open_jobs[counts[OPEN]] = state.order[counts[SUBMITTED]]
        counts[OPEN] += 1
        counts[SUBMITTED] += 1
    kept, number = np.int64(0), np.int64(0)
    for k in range(counts[OPEN]):
        job = open_jobs[k]
        if finished[job] < 0 or finished[job] > clock[NOW]:
            open_jobs[kept] = job
            kept += 1
            continue
        place = number
        while place > 0 and _is_later(finished, ended[place - 1], job):
            ended[place] = ended[place - 1]
            place -= 1
        ended[place] = job
        number += 1
    counts[OPEN] = kept
    for k in range(number):
        learner.learned[0] += 1
        remember(learner.memory, learner.likeness, ended[k], max(state.runtime[ended[k]], 1))
        learner.news[learner.likeness.class_of[SAME_USER, ended[k]]] += 1


@lean
def _is_later(finished, job, other):
    return finished[job] > finished[other] or (finished[job] == finished[other] and job > other)


@lean
def _renew(state, learner, value, weight):
    """Recomputes what waiting jobs are planned for whose user has an ended job more."""
    jobs = state.engine.jobs
    for k in range(state.clock[PENDING]):
        job = state.pending[k, 0]
        user = learner.likeness.class_of[SAME_USER, job]
        if learner.heard[job] == learner.news[user]:
            continue
        learner.heard[job] = learner.news[user]
        seconds = max(np.int64(np.rint(learner.factor * estimate_of_alike(learner, job, value, weight))), 1)
        jobs.planned[job] = min(min(seconds, request_of(learner.likeness, job)), jobs.limit[job])
