"""Replays with live estimates: the estimate of a waiting job is computed again whenever a job of its user has ended.

Estimates come from similar jobs (models/runtime/past/similar.py) that have ended *in the replay*. So the scheduler uses nothing that
the replayed system would not have known. Predictions made from the log may: where the replayed schedule is slower than the real
one, they use jobs that have not ended yet. Live estimates also change after submission. If a user submits a hundred jobs
at once, the first that ends improves the estimates of the other ninety-nine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.compiled import compiled, lean
from models.runtime.estimates import GIVEN_STATISTIC, LIVE_STATISTICS
from models.runtime.past.past_jobs import SAME_ALL, SAME_USER, Likeness, likeness_of
from models.runtime.past.similar import (
    MOST_VALUES,
    NO_REQUEST_S,
    Blend,
    Memory,
    kept_runtime,
    moments,
    no_memory,
    num_kept,
    quantile_of_sample,
    recall,
    remember,
    request_of,
    requests_of,
    sort_sample,
    usual_blend,
)
from simulator.engine import episode as at
from simulator.engine.episode import DONE, RESERVE, WANT_ESTIMATES, new_episode
from simulator.engine.general import advance
from simulator.engine.replay import OrderReplayer, check_outcome, inputs_of, notes_of, rules_for, scoring_of
from simulator.engine.states import ReplayState, keep_state, take_up
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs, column_of
from simulator.jobs.schedule import Schedule
from simulator.jobs.tasks import tasks_of
from simulator.policies.registry import Policy, bounded_formula, parse_policy
from simulator.policies.sampling import no_recorder
from simulator.policies.scoring import FIXED, FORMULA
from simulator.replayer import BY_ORDER, Outcome

IntArray = NDArray[np.int64]

GIVEN, MEAN, SLOWDOWN, LAST_TWO, QUANTILE = range(5)

_BY_ESTIMATE = {
    **{"SJF": "-estimate", "LJF": "estimate", "SAF": "-area", "LAF": "area"},
    **{"SRF": "-(estimate / procs)", "LRF": "estimate / procs", "inspector-SJF": "-(estimate * (cluster + 1) + procs)"},
}
"""Policies whose order changes with the estimates, as formulas (highest first)."""
_NOT_BY_ESTIMATE = ("FCFS", "LCFS", "smallest", "largest", "random")


@dataclass(frozen=True)
class LiveSettings:
    """statistic: one of LIVE_STATISTICS in models/runtime/estimates.py, or "given" for estimates that do not change.
    factor: multiplies the statistic.
    reserve_by, admit_by: see simulator.jobs.jobs.jobs_from_log."""

    statistic: str = "mean"
    factor: float = 1.0
    reserve_by: str = "requested"
    admit_by: str = "estimate"


@dataclass(frozen=True)
class LiveReplay:
    """The schedule, and the estimates that the scheduler used.

    estimate: of each job when it started, seconds, int64 (jobs,). promised: when each job was to start, by its reservation when it
    first was a blocked head of a pass, -1 for one that never was. There is no blocked head while no waiting job fits."""

    schedule: Schedule
    estimate: IntArray
    promised: IntArray

    def fate(self, jobs: Jobs, scored: NDArray[np.bool_] | None = None) -> dict[str, int]:
        """The effect of underestimates, in jobs and whole seconds. No prediction ends a job: each holds its processors for its
        whole run time.

        scored: the jobs that count, bool (jobs,). Default: all."""
        counted = np.ones(len(jobs), dtype=np.bool_) if scored is None else scored
        under = counted & (jobs.runtime > self.estimate)
        headed = counted & (self.promised >= 0)
        late = np.maximum(self.schedule.start - self.promised, 0)[headed]
        return {
            "jobs_underestimated": int(under.sum()),
            "reservations": int(headed.sum()),
            "reservations_delayed": int((late > 0).sum()),
            "mean_reservation_delay_s": int(late[late > 0].mean()) if (late > 0).any() else 0,
        }


class LiveState(NamedTuple):
    """A state of the engine, and what the scheduler has learned and estimates then."""

    state: ReplayState
    estimate: IntArray  # (queued + running,), seconds, of the tasks in `state.queue` and in `state.running`
    hold: IntArray  # (queued + running,), as in simulator.jobs.jobs.Jobs
    admit: IntArray  # (queued + running,)
    heard: IntArray  # (queued,), how many ends of its user's jobs an estimate includes, -1 for none
    ended: IntArray  # (ended,), jobs in the order in which they were learned from


class LiveLearner(NamedTuple):
    """What recomputes estimates. kind, level: the statistic, see `_statistic`. holds_follow, admits_follow: whether reservations, and
    the rule for passing a blocked head, follow the estimates too. estimate, hold, admit: the arrays behind those of `Tasks`, int64
    (jobs,). news: by user, jobs that have ended. heard: by job, the news that its estimate includes. learned: (2,), jobs learned
    from, and how many these were when estimates were last recomputed. alike, alike_at: by narrowest class, the last estimate of its
    jobs, seconds, and `learned` at that moment."""

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
    news: IntArray
    heard: IntArray
    learned: IntArray
    alike: NDArray[np.float64]
    alike_at: IntArray


def replay_live(
    jobs: Jobs,
    rows: pl.DataFrame,
    cluster_procs: int,
    policy: str | Policy = "FCFS",
    backfill: str = "easy-sjbf",
    correction: str = "requested",
    settings: LiveSettings | None = None,
) -> LiveReplay:
    """Replays all jobs on an empty cluster with estimates that are recomputed on the way.

    rows: of the same jobs in the same order, with the columns of `past_jobs.likeness_of`. Raises ValueError for a policy or a
    backfilling rule that cannot follow changing estimates, with the remedy.
    """
    stoppable = StoppableLiveReplay(jobs, rows, cluster_procs, policy, backfill, correction, settings)
    stoppable.run()
    return stoppable.outcome


@dataclass(frozen=True)
class LiveReplayer:
    """An order whose estimates are recomputed on the way, as arguments of `replay_live`."""

    order: OrderReplayer
    rows: pl.DataFrame
    settings: LiveSettings
    honours: ClassVar = BY_ORDER | {"estimates live", "agent", "inspector", "nodes"}

    def replay(self, jobs: Jobs, cluster: Cluster) -> Outcome:
        """The schedule, and the fate of underestimated jobs as counts. Raises as `replay_live` does."""
        rules = self.order.policy, self.order.backfill, self.order.correction
        live = replay_live(jobs, self.rows, cluster.procs, *rules, self.settings)
        return Outcome(live.schedule, counts=live.fate(jobs))


class StoppableLiveReplay:
    """A replay with live estimates that may stop between two events, be kept, and continue, as
    simulator.engine.replay.StoppableReplay. What was learned is part of its state."""

    def __init__(
        self,
        jobs: Jobs,
        rows: pl.DataFrame,
        cluster_procs: int,
        policy: str | Policy = "FCFS",
        backfill: str = "easy-sjbf",
        correction: str = "requested",
        settings: LiveSettings | None = None,
    ) -> None:
        """Arguments and errors as those of `replay_live`."""
        settings = settings or LiveSettings()
        live = _statistic(settings.statistic)[0] != GIVEN
        chosen = parse_policy(policy) if isinstance(policy, str) else policy
        if live:
            chosen = replace(live_policy(chosen), agent=chosen.agent)
        rules = rules_for(chosen, backfill, correction, cluster_procs)._replace(live=live, promises=True)
        if rules.backfill == RESERVE:
            raise ValueError(
                f"backfilling {backfill!r} holds reservations made with earlier estimates: live estimates need none, any, easy or easy-sjbf"
            )
        likeness = likeness_of(rows)
        request = requests_of(likeness)
        limit = jobs.limit.copy()
        if live:
            limit[request >= NO_REQUEST_S] = NO_REQUEST_S  # otherwise the limit would be the run time
        estimate = jobs.estimate.copy()
        hold, admit = (_believed_by(word, jobs, limit, request) for word in (settings.reserve_by, settings.admit_by))
        # the engine reads them without write access, as in every replay. The learner changes the arrays below
        self._tasks = tasks_of(jobs, Cluster(cluster_procs))._replace(
            estimate=column_of(estimate), hold=column_of(hold), limit=column_of(limit), admit=column_of(admit)
        )
        self._rules, self._policy = rules, chosen
        steady = live and chosen.formula is not None and chosen.formula.is_static
        self._scoring = scoring_of(chosen, jobs, self._tasks, cluster_procs)._replace(steady=steady)
        users = int(self._tasks.user.max(initial=0)) + 1
        self._episode = new_episode(
            self._tasks, cluster_procs, users, False, inputs_of(chosen), live=True, **notes_of(rules)
        )
        self._learner = learner_of(likeness, settings, (estimate, hold, admit))

    def run(self, until: int | None = None) -> bool:
        """Continues to the end, or to the first event at second `until` or later. Returns whether the replay is at its end."""
        self._episode.counters[at.PAUSE] = 0 if until is None else until + 1
        why = _drive(self._tasks, self._rules, self._scoring, self._episode, no_recorder(), self._learner)
        check_outcome(int(why), self._tasks, self._rules, self._policy, self._episode)
        return bool(why == DONE)

    @property
    def outcome(self) -> LiveReplay:
        """The outcome of the jobs so far."""
        episode = self._episode
        return LiveReplay(Schedule(episode.start, episode.backfilled), self._learner.estimate, episode.promised)

    def keep(self) -> LiveState:
        """The state of a replay that has stopped on its way."""
        learner, state = self._learner, keep_state(self._episode)
        _sort_ties(self._tasks, self._episode, learner.learned[0])
        jobs = np.concatenate([state.queue, state.running])
        believed = learner.estimate[jobs], learner.hold[jobs], learner.admit[jobs]
        ended = self._episode.ended[: self._episode.counters[at.ENDED]].copy()
        return LiveState(state, *believed, learner.heard[state.queue], ended)

    def take_up(self, kept: LiveState, jobs: int | None = None) -> None:
        """Continues from a state. jobs: how many of all jobs are submitted, by default all."""
        learner, episode, ended = self._learner, self._episode, len(kept.ended)
        last = self._tasks.last if jobs is None else jobs
        take_up(kept.state, self._tasks, self._rules.cluster_procs, self._scoring, episode, last)
        here = np.concatenate([kept.state.queue, kept.state.running])
        learner.estimate[here], learner.hold[here], learner.admit[here] = kept.estimate, kept.hold, kept.admit
        learner.memory.seen[:], learner.news[:], learner.learned[:] = 0, 0, 0
        learner.heard[:], learner.alike_at[:] = -1, -1
        learner.heard[kept.state.queue] = kept.heard
        episode.ended[:ended], episode.counters[at.ENDED] = kept.ended, ended
        _learn(self._tasks, episode, learner)


def learner_of(
    likeness: Likeness, settings: LiveSettings, believed: tuple[IntArray, IntArray, IntArray]
) -> LiveLearner:
    """One that has learned nothing yet. believed: estimate, hold and admit of jobs, as LiveLearner has them."""
    memory, (kind, level) = no_memory(likeness), _statistic(settings.statistic)
    return LiveLearner(
        *(likeness, memory, kind, level, settings.factor),
        *(settings.reserve_by == "estimate", settings.admit_by == "estimate"),
        usual_blend(),
        *believed,
        news=np.zeros(len(memory.seen), dtype=np.int64),
        heard=np.full(likeness.class_of.shape[1], -1, dtype=np.int64),
        learned=np.zeros(2, dtype=np.int64),
        alike=np.zeros(len(memory.seen)),
        alike_at=np.full(len(memory.seen), -1, dtype=np.int64),
    )


def live_policy(policy: Policy) -> Policy:
    """The policy in a form whose order follows the estimates. Raises ValueError for a policy without such a form."""
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
        raise ValueError(f"unknown statistic {name!r} of similar jobs: expected one of {', '.join(LIVE_STATISTICS)}")
    kinds = {"mean": MEAN, "slowdown": SLOWDOWN, "last_two": LAST_TWO}
    if name in kinds:
        return kinds[name], 0.0
    return QUANTILE, 0.5 if name == "median" else int(name[1:]) / 100


def _believed_by(word: str, jobs: Jobs, limit: IntArray, request: IntArray) -> IntArray:
    """The estimate at submission by one of RESERVE_BY or ADMIT_BY, seconds, int64 (jobs,)."""
    if word == "requested":
        return np.where(request < NO_REQUEST_S, limit, jobs.estimate)
    return jobs.estimate.copy()


@compiled
def _drive(tasks, rules, scoring, episode, recorder, learner):
    """Steps the engine. Before every pass it learns from the jobs that have ended. Then it recomputes the estimates of the waiting
    jobs of their users. Returns why the engine stopped."""
    value = np.empty(MOST_VALUES)
    weight = np.empty(MOST_VALUES)
    while True:
        why = advance(tasks, rules, scoring, episode, recorder, 0)
        if why != WANT_ESTIMATES:
            return why
        _sort_ties(tasks, episode, learner.learned[0])
        _learn(tasks, episode, learner)
        _renew(tasks, scoring, episode, learner, value, weight)


@lean
def _renew(tasks, scoring, episode, learner, value, weight):
    """Recomputes the estimates of waiting jobs whose user has an ended job more. value, weight: scratch, (MOST_VALUES,)."""
    likeness, news, heard, learned = learner.likeness, learner.news, learner.heard, learner.learned
    nothing_new = learned[0] == learned[1] and scoring.kind != FIXED
    learned[1] = learned[0]
    for k in range(episode.counters[at.QUEUED] - 1, -1, -1):
        job = episode.queue[k]
        user = likeness.class_of[SAME_USER, job]
        if heard[job] == news[user]:
            if nothing_new:  # the queue is in submit order, so those before have been here as well
                break
            continue
        heard[job] = news[user]
        seconds = estimate_of_alike(learner, job, value, weight)
        estimate = min(max(np.int64(np.rint(learner.factor * seconds)), 1), tasks.limit[job])
        request = request_of(likeness, job)
        estimate = min(estimate, request)
        learner.estimate[job] = estimate
        if learner.holds_follow or request >= NO_REQUEST_S:
            learner.hold[job] = estimate
        if learner.admits_follow or request >= NO_REQUEST_S:
            learner.admit[job] = estimate
        if scoring.steady:
            episode.score[k] = np.nan


@lean
def estimate_of_alike(learner, job, value, weight):
    """The statistic, computed once for all jobs of a narrowest class until another job has ended. These jobs are also in the same
    wider classes."""
    c = learner.likeness.class_of[SAME_ALL, job]
    if learner.alike_at[c] != learner.learned[0]:
        learner.alike[c] = _estimate(learner, job, value, weight)
        learner.alike_at[c] = learner.learned[0]
    return learner.alike[c]


@lean
def _learn(tasks, episode, learner):
    """Learns from the jobs that have ended since it learned last."""
    while learner.learned[0] < episode.counters[at.ENDED]:
        job = episode.ended[learner.learned[0]]
        learner.learned[0] += 1
        remember(learner.memory, learner.likeness, job, max(tasks.runtime[job], 1))
        learner.news[learner.likeness.class_of[SAME_USER, job]] += 1


@lean
def _sort_ties(tasks, episode, first):
    """Sorts the ends of one second, which come in the order of a heap. Puts those from `first` on into the order of the log, as in
    `similar_job_features`."""
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


@lean
def _estimate(learner, job, value, weight):
    """The statistic of the job's similar jobs, seconds."""
    memory, likeness = learner.memory, learner.likeness
    if learner.kind == LAST_TWO:
        user = likeness.class_of[SAME_USER, job]
        kept = num_kept(memory, user)
        if kept == 0:
            request = request_of(likeness, job)
            return float(request) if request < NO_REQUEST_S else 3600.0
        last = kept_runtime(memory, user, 0)
        return (last + kept_runtime(memory, user, 1)) / 2 if kept > 1 else last
    count = recall(memory, likeness, job, learner.blend, value, weight)
    if learner.kind == QUANTILE:
        sort_sample(value, weight, count)
        return quantile_of_sample(value, weight, count, learner.level)
    mean, inverse = moments(value, weight, count)
    return mean if learner.kind == MEAN else np.sqrt(mean / inverse)
