"""Replays with live estimates: the estimate of a waiting job is renewed whenever a job of its user has ended.

Estimates come from similar jobs (models/runtime/similar.py) that have ended *in the replay*. So the scheduler uses nothing that
the replayed system would not have known. Predictions made from the log may: where the replayed schedule is slower than the real
one, they know of jobs that have not ended yet. Live estimates also change after submission: of a hundred jobs that a user submits
at once, the first that ends teaches the scheduler about the other ninety-nine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.compiled import compiled
from models.runtime.estimates import GIVEN_STATISTIC, LIVE_STATISTICS
from models.runtime.similar import (
    MOST_VALUES,
    NO_REQUEST_S,
    Blend,
    Likeness,
    Memory,
    likeness_of,
    moments,
    no_memory,
    quantile_of_sample,
    recall,
    remember,
    sort_sample,
    usual_blend,
)
from simulator.engine import episode as at
from simulator.engine.episode import new_episode
from simulator.engine.general import advance
from simulator.engine.replay import check_outcome, inputs_of, rules_of, scoring_of
from simulator.engine.rules import RESERVE, WANT_ESTIMATES
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs, column_of
from simulator.jobs.schedule import Schedule
from simulator.jobs.tasks import tasks_of
from simulator.policies.registry import Policy, bounded_formula, parse_policy
from simulator.policies.sampling import no_recorder
from simulator.policies.scoring import FIXED, FORMULA

IntArray = NDArray[np.int64]

GIVEN, MEAN, SLOWDOWN, LAST_TWO, QUANTILE = range(5)

_BY_ESTIMATE = {"SJF": "-estimate", "LJF": "estimate", "SAF": "-area"}
"""Policies whose order changes with the estimates, as formulas (highest first)."""
_NOT_BY_ESTIMATE = ("FCFS", "LCFS", "smallest", "largest", "random")


@dataclass(frozen=True)
class LiveSettings:
    """statistic: one of LIVE_STATISTICS in models/runtime/estimates.py, or "given" for estimates that stay as the jobs have them.
    factor: by which it is multiplied.
    reserve_by, admit_by: see simulator.jobs.jobs.jobs_from_log."""

    statistic: str = "mean"
    factor: float = 1.0
    reserve_by: str = "requested"
    admit_by: str = "estimate"


@dataclass(frozen=True)
class LiveReplay:
    """The schedule and what the scheduler believed.

    estimate: of each job when it started, seconds, int64 (jobs,). promised: when each job was to start, by its reservation when it
    first was a blocked head of a pass, -1 for one that never was. There is none while no waiting job fits."""

    schedule: Schedule
    estimate: IntArray
    promised: IntArray

    def fate(self, jobs: Jobs) -> dict[str, int]:
        """What underestimates did, in jobs and whole seconds. No prediction ends a job: each holds its processors for its
        whole run time."""
        under = jobs.runtime > self.estimate
        headed = self.promised >= 0
        late = np.maximum(self.schedule.start - self.promised, 0)[headed]
        return {
            "jobs_underestimated": int(under.sum()),
            "reservations": int(headed.sum()),
            "reservations_delayed": int((late > 0).sum()),
            "mean_reservation_delay_s": int(late[late > 0].mean()) if (late > 0).any() else 0,
        }


class _Learner(NamedTuple):
    """What renews estimates. kind, level: the statistic, see `_statistic`. holds_follow, admits_follow: whether reservations, and
    who may go before a blocked head, follow the estimates, too. estimate, hold, admit: the arrays behind those of `Tasks`, int64
    (jobs,)."""

    likeness: Likeness
    memory: Memory
    kind: int
    level: float
    factor: float
    holds_follow: bool
    admits_follow: bool
    blend: Blend
    estimate: IntArray
    hold: IntArray
    admit: IntArray


def replay_live(
    jobs: Jobs,
    rows: pl.DataFrame,
    cluster_procs: int,
    policy: str | Policy = "FCFS",
    backfill: str = "easy-sjbf",
    correction: str = "requested",
    settings: LiveSettings | None = None,
) -> LiveReplay:
    """Replays all jobs on an empty cluster with estimates that are renewed on the way.

    rows: of the same jobs in the same order, with the columns of `similar.likeness_of`. Raises ValueError for a policy or a
    backfilling rule that cannot follow changing estimates, with the remedy.
    """
    settings = settings or LiveSettings()
    kind, level = _statistic(settings.statistic)
    live = kind != GIVEN
    chosen = parse_policy(policy) if isinstance(policy, str) else policy
    if live:
        chosen = live_policy(chosen)
    rules = rules_of(backfill, correction, cluster_procs)._replace(live=live, promises=True)
    if rules.backfill == RESERVE:
        raise ValueError(
            f"backfilling {backfill!r} holds reservations made with earlier estimates; live estimates need easy or easy-sjbf"
        )
    likeness = likeness_of(rows)
    limit = jobs.limit.copy()
    if live:
        limit[likeness.request >= NO_REQUEST_S] = NO_REQUEST_S  # else the limit would be the run time
    estimate = jobs.estimate.copy()
    hold = _believed_by(settings.reserve_by, jobs, limit, likeness.request)
    admit = _believed_by(settings.admit_by, jobs, limit, likeness.request)
    # the engine reads them as it reads those of every replay, without write access; the learner renews them below it
    tasks = tasks_of(jobs, Cluster(cluster_procs))._replace(
        estimate=column_of(estimate), hold=column_of(hold), limit=column_of(limit), admit=column_of(admit)
    )
    scoring = scoring_of(chosen, jobs, tasks, cluster_procs)
    users = int(tasks.user.max(initial=0)) + 1
    episode = new_episode(tasks, cluster_procs, users, False, inputs_of(chosen), live=True, promises=True)
    learner = _Learner(
        likeness,
        no_memory(likeness),
        kind,
        level,
        settings.factor,
        settings.reserve_by == "estimate",
        settings.admit_by == "estimate",
        usual_blend(),
        estimate,
        hold,
        admit,
    )
    why = _drive(tasks, rules, scoring, episode, no_recorder(), learner)
    check_outcome(int(why), tasks, rules, chosen, episode)
    return LiveReplay(Schedule(episode.start, episode.backfilled), estimate, episode.promised)


def live_policy(policy: Policy) -> Policy:
    """The policy in a form whose order follows the estimates. Raises ValueError for one that has none."""
    if policy.plug_in is not None:
        raise ValueError(
            f"policy {policy.name!r} is a plug-in, which cannot follow live estimates: write it as formula:TEXT"
        )
    if policy.weights is not None:
        raise ValueError(
            "a trained policy reads the estimate that a job has at submission and cannot follow live estimates: use --estimates "
            "predicted"
        )
    if policy.kind != FIXED:
        return policy
    if policy.formula is not None:
        return replace(policy, kind=FORMULA, fixed=None)
    if policy.name in _BY_ESTIMATE:
        return replace(parse_policy(f"formula:{_BY_ESTIMATE[policy.name]}"), kind=FORMULA, fixed=None, name=policy.name)
    if policy.name.partition(":")[0] == "bounded-key":
        return replace(parse_policy(bounded_formula(policy)), kind=FORMULA, fixed=None, name=policy.name)
    if policy.name.partition(":")[0] in _NOT_BY_ESTIMATE:
        return policy
    raise ValueError(
        f"policy {policy.name!r} orders jobs once, at submission: with live estimates, write it as formula:TEXT"
    )


def _statistic(name: str) -> tuple[int, float]:
    if name == GIVEN_STATISTIC:
        return GIVEN, 0.0
    if name not in LIVE_STATISTICS:
        raise ValueError(f"unknown statistic {name!r} of similar jobs; expected one of {', '.join(LIVE_STATISTICS)}")
    kinds = {"mean": MEAN, "slowdown": SLOWDOWN, "last_two": LAST_TWO}
    if name in kinds:
        return kinds[name], 0.0
    return QUANTILE, 0.5 if name == "median" else int(name[1:]) / 100


def _believed_by(word: str, jobs: Jobs, limit: IntArray, request: NDArray[np.float64]) -> IntArray:
    """What is believed at submission by one of RESERVE_BY or ADMIT_BY, seconds, int64 (jobs,)."""
    if word == "requested":
        return np.where(request < NO_REQUEST_S, limit, jobs.estimate)
    return jobs.estimate.copy()


@compiled
def _drive(tasks, rules, scoring, episode, recorder, learner):
    """Steps the engine; before every pass it learns from the jobs that have ended and renews the estimates of waiting jobs whose
    user has learned something. Returns why the engine stopped."""
    likeness, memory = learner.likeness, learner.memory
    counters = episode.counters
    value = np.empty(MOST_VALUES)
    weight = np.empty(MOST_VALUES)
    news = np.zeros(memory.seen.shape[1], dtype=np.int64)  # by user: jobs that have ended
    heard = np.full(len(tasks.submit), -1, dtype=np.int64)  # by job: the news that its estimate knows
    learned = 0
    while True:
        why = advance(tasks, rules, scoring, episode, recorder, 0)
        if why != WANT_ESTIMATES:
            return why
        _sort_ties(tasks, episode, learned)
        while learned < counters[at.ENDED]:
            job = episode.ended[learned]
            learned += 1
            remember(memory, likeness, job, max(tasks.runtime[job], 1))
            news[likeness.class_of[4, job]] += 1
        for k in range(counters[at.QUEUED]):
            job = episode.queue[k]
            user = likeness.class_of[4, job]
            if heard[job] == news[user]:
                continue
            heard[job] = news[user]
            seconds = _estimate(learner, job, value, weight)
            estimate = min(max(np.int64(np.rint(learner.factor * seconds)), 1), tasks.limit[job])
            if estimate > likeness.request[job]:
                estimate = np.int64(likeness.request[job])
            learner.estimate[job] = estimate
            if learner.holds_follow or likeness.request[job] >= NO_REQUEST_S:
                learner.hold[job] = estimate
            if learner.admits_follow or likeness.request[job] >= NO_REQUEST_S:
                learner.admit[job] = estimate


@compiled
def _sort_ties(tasks, episode, first):
    """Ends in the same second come in the order of a heap: puts those from `first` on in that of the log, as `similar_job_features`
    has them."""
    for k in range(first + 1, episode.counters[at.ENDED]):
        job = episode.ended[k]
        end = episode.start[job] + tasks.runtime[job]
        i = k
        while i > first and episode.ended[i - 1] > job:
            before = episode.ended[i - 1]
            if episode.start[before] + tasks.runtime[before] != end:
                break
            episode.ended[i] = before
            i -= 1
        episode.ended[i] = job


@compiled
def _estimate(learner, job, value, weight):
    """The statistic of the job's similar jobs, seconds."""
    memory, likeness = learner.memory, learner.likeness
    if learner.kind == LAST_TWO:
        user = likeness.class_of[4, job]
        seen = memory.seen[4, user]
        length = memory.runtimes.shape[2]
        if seen == 0:
            return likeness.request[job] if likeness.request[job] < NO_REQUEST_S else 3600.0
        last = memory.runtimes[4, user, (seen - 1) % length]
        return (last + memory.runtimes[4, user, (seen - 2) % length]) / 2 if seen > 1 else last
    count = recall(memory, likeness, job, learner.blend, value, weight)
    if learner.kind == QUANTILE:
        sort_sample(value, weight, count)
        return quantile_of_sample(value, weight, count, learner.level)
    mean, inverse = moments(value, weight, count)
    return mean if learner.kind == MEAN else np.sqrt(mean / inverse)
