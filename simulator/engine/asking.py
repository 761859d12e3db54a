"""Replays in the order of a plug-in, which the general engine asks for the scores of the waiting jobs in every pass."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from simulator.compiled import compiled
from simulator.engine import episode as at
from simulator.engine.episode import WANT_SCORES, Episode, Rules
from simulator.engine.general import advance
from simulator.jobs.tasks import Tasks
from simulator.policies.registry import Policy
from simulator.policies.sampling import no_recorder
from simulator.policies.scoring import Scoring


def ask_plug_in(policy: Policy, tasks: Tasks, rules: Rules, scoring: Scoring, episode: Episode) -> int:
    """Steps the engine and has a plug-in score the queue in every pass."""
    plug_in = policy.plug_in
    assert plug_in is not None
    columns = {"submit": tasks.submit, "estimate": tasks.estimate, "procs": tasks.procs, "user": tasks.user}
    if plug_in.is_compiled:
        try:
            why = _drive(plug_in.fill, tasks, rules, scoring, episode)
        except Exception as error:
            raise plug_in.failure(error) from error
        if why == WANT_SCORES:  # the plug-in gave no score
            raise plug_in.no_score(int(episode.counters[at.FAILED]), int(episode.counters[at.NOW]))
        return why
    while (why := advance(tasks, rules, scoring, episode, no_recorder(), 0)) == WANT_SCORES:
        counters = episode.counters
        queue = episode.queue[: counters[at.QUEUED]]
        scores = plug_in.scores(queue, int(counters[at.NOW]), int(counters[at.FREE]), rules.cluster_procs, columns)
        episode.score[: len(queue)] = scores
    return int(why)


@compiled
def drive(tasks, rules, scoring, episode, recorder, fill):
    """A loop around the engine that calls a compiled plug-in without leaving compiled code. Where a score is not a number, it
    returns WANT_SCORES, and the job is in FAILED. fill: of the plug-in, called by its address."""
    while True:
        why = advance(tasks, rules, scoring, episode, recorder, 0)
        if why != WANT_SCORES:
            return why
        fill(
            episode.queue,
            episode.counters[at.QUEUED],
            episode.counters[at.NOW],
            episode.counters[at.FREE],
            rules.cluster_procs,
            tasks.submit,
            tasks.estimate,
            tasks.procs,
            tasks.user,
            episode.score,
        )
        for k in range(episode.counters[at.QUEUED]):
            if np.isnan(episode.score[k]):
                episode.counters[at.FAILED] = episode.queue[k]
                return why


def _drive(fill: Any, tasks: Tasks, rules: Rules, scoring: Scoring, episode: Episode) -> int:
    """What `drive` returns. Only the plug-in itself is compiled for each plug-in. A loop for each would take 5 s to compile."""
    arguments = tasks, rules, scoring, episode, no_recorder()
    number = numba.int64
    arrays = episode.queue, tasks.submit, tasks.estimate, tasks.procs, tasks.user, episode.score
    queue, *columns = map(numba.typeof, arrays)
    kinds = queue, number, number, number, number, *columns
    fill.compile(kinds)
    fill_kind = numba.types.FunctionType(numba.types.none(*kinds))
    return int(drive.compile((*map(numba.typeof, arguments), fill_kind))(*arguments, fill))
