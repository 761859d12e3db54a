"""Replays with live estimates: what the scheduler believes of a waiting job is renewed whenever a job of its user has ended.

Estimates come from similar jobs (models/runtime/similar.py) that have ended *in the replay*, so that nothing is known that
the replayed system would not have known; predictions made from the log know of jobs that have not ended yet when the replayed
schedule is slower than the real one. And they need not be made at submission: a user who submits a hundred jobs at once
teaches the scheduler with the first that ends what the other ninety-nine may be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.compiled import compiled
from models.runtime.similar import (
    DOUBT,
    MOST_VALUES,
    NO_REQUEST_S,
    RECENCY,
    likeness_of,
    moments,
    no_memory,
    quantile_of_sample,
    recall,
    remember,
    sort_sample,
)
from simulator.engine import episode as at
from simulator.engine.episode import new_episode
from simulator.engine.general import advance
from simulator.engine.replay import check_outcome, inputs_of, rules_of, scoring_of
from simulator.engine.rules import RESERVE, WANT_ESTIMATES
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.jobs.tasks import tasks_of
from simulator.policies.registry import Policy, parse_policy
from simulator.policies.sampling import no_recorder
from simulator.policies.scoring import FIXED, FORMULA

IntArray = NDArray[np.int64]

GIVEN, MEAN, SLOWDOWN, LAST_TWO, QUANTILE = range(5)

STATISTICS = ("mean", "slowdown", "last_two", "median", "p60", "p70", "p75", "p80", "p90", "p95")
"""What of the similar jobs' run times is the estimate: their mean; the run time with which a job's bounded slowdown is what it is
on average, sqrt(mean / mean of 1 / max(run time, 10 s)); the mean of the user's last two (Tsafrir et al. 2007); a quantile."""

_BY_ESTIMATE = {"SJF": "-estimate", "LJF": "estimate", "SAF": "-area"}
"""Policies whose order changes with the estimates, as formulas (highest first)."""
_NOT_BY_ESTIMATE = ("FCFS", "LCFS", "smallest", "largest", "random")


@dataclass(frozen=True)
class LiveSettings:
    """statistic: one of STATISTICS, or "given" for estimates that stay as the jobs have them. factor: by which it is multiplied.
    reserve_by: see simulator.jobs.jobs.jobs_from_log."""

    statistic: str = "mean"
    factor: float = 1.0
    reserve_by: str = "requested"


@dataclass(frozen=True)
class LiveReplay:
    """schedule: what came out. estimate: what the scheduler believed of each job when it started, seconds, int64 (jobs,).
    promised: when each job was to start, by its reservation when it first was a blocked head of a pass (there is none while no
    waiting job fits), -1 for one that never was."""

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
    tasks = tasks_of(jobs, Cluster(cluster_procs))._replace(
        estimate=jobs.estimate.copy(), hold=_holds(jobs, limit, likeness.request, settings.reserve_by), limit=limit
    )
    scoring = scoring_of(chosen, jobs, tasks, cluster_procs)
    users = int(tasks.user.max(initial=0)) + 1
    episode = new_episode(tasks, cluster_procs, users, False, inputs_of(chosen), live=True, promises=True)
    why = _drive(
        tasks, rules, scoring, episode, no_recorder(), likeness, no_memory(likeness), kind, level, settings.factor,
        settings.reserve_by == "estimate", RECENCY, np.array(DOUBT),
    )  # fmt: skip
    check_outcome(int(why), tasks, rules, chosen, episode)
    return LiveReplay(Schedule(episode.start, episode.backfilled), tasks.estimate, episode.promised)


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
    if policy.name.partition(":")[0] in _NOT_BY_ESTIMATE:
        return policy
    raise ValueError(
        f"policy {policy.name!r} orders jobs once, at submission: with live estimates, write it as formula:TEXT"
    )


def _statistic(name: str) -> tuple[int, float]:
    if name == "given":
        return GIVEN, 0.0
    if name not in STATISTICS:
        raise ValueError(f"unknown statistic {name!r} of similar jobs; expected one of {', '.join(STATISTICS)}")
    kinds = {"mean": MEAN, "slowdown": SLOWDOWN, "last_two": LAST_TWO}
    if name in kinds:
        return kinds[name], 0.0
    return QUANTILE, 0.5 if name == "median" else int(name[1:]) / 100


def _holds(jobs: Jobs, limit: IntArray, request: NDArray[np.float64], reserve_by: str) -> IntArray:
    if reserve_by == "requested":
        return np.where(request < NO_REQUEST_S, limit, jobs.estimate)
    return jobs.estimate.copy()


@compiled
def _drive(
    tasks, rules, scoring, episode, recorder, likeness, memory, kind, level, factor, holds_follow, recency, doubt
):
    """Steps the engine; before every pass it learns from the jobs that have ended and renews the estimates of waiting jobs whose
    user has learned something. Returns why the engine stopped."""
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
        # ends in the same second come in the order of a heap: put them in that of the log, as `similar_jobs` has them
        for k in range(learned + 1, counters[at.ENDED]):
            job = episode.ended[k]
            end = episode.start[job] + tasks.runtime[job]
            i = k
            while i > learned and episode.ended[i - 1] > job:
                before = episode.ended[i - 1]
                if episode.start[before] + tasks.runtime[before] != end:
                    break
                episode.ended[i] = before
                i -= 1
            episode.ended[i] = job
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
            seconds = _estimate(memory, likeness, job, kind, level, recency, doubt, value, weight)
            found = min(max(np.int64(np.rint(factor * seconds)), 1), tasks.limit[job])
            if found > likeness.request[job]:
                found = np.int64(likeness.request[job])
            tasks.estimate[job] = found
            if holds_follow or likeness.request[job] >= NO_REQUEST_S:
                tasks.hold[job] = found


@compiled
def _estimate(memory, likeness, job, kind, level, recency, doubt, value, weight):
    """The statistic of the job's similar jobs, seconds."""
    if kind == LAST_TWO:
        user = likeness.class_of[4, job]
        seen = memory.seen[4, user]
        length = memory.runtimes.shape[2]
        if seen == 0:
            return likeness.request[job] if likeness.request[job] < NO_REQUEST_S else 3600.0
        last = memory.runtimes[4, user, (seen - 1) % length]
        return (last + memory.runtimes[4, user, (seen - 2) % length]) / 2 if seen > 1 else last
    count = recall(memory, likeness, job, recency, doubt, value, weight)
    if kind == QUANTILE:
        sort_sample(value, weight, count)
        return quantile_of_sample(value, weight, count, level)
    mean, inverse = moments(value, weight, count)
    return mean if kind == MEAN else np.sqrt(mean / inverse)
