"""A replay that begins with jobs that run and jobs that wait goes on as the replay that they come from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from simulator.engine.replay import StoppableReplay, replay
from simulator.jobs.cluster import FOREVER, Cluster, Outages, RunningJobs
from simulator.jobs.jobs import COLUMNS, NEVER, Jobs
from simulator.jobs.schedule import Schedule
from simulator.jobs.words import CORRECTIONS
from simulator.policies.registry import parse_policy
from tests.simulator.busy import PROCS, busy_jobs, random_weights

n = np.array
EXACT_POLICIES = (
    *("FCFS", "LCFS", "SJF", "SAF", "WFP3", "UNICEP", "F2", "tetris", "bounded-key", "learned"),
    *("formula:wait/estimate - queued", "SEXP"),
)
"""Policies that look at nothing but the moment and the jobs."""


class WarmReplay(NamedTuple):
    """positions: in the whole trace, of `jobs`; the first `cluster.waiting` of them wait."""

    jobs: Jobs
    cluster: Cluster
    positions: np.ndarray


def warm_start_at(first: int, jobs: Jobs, whole: Schedule, outages: Outages | None = None) -> WarmReplay:
    """What a warm start before job `first` sees of a whole schedule: the definition in docs/reference/semantics.md, written as a loop."""
    begin, running, waiting = int(jobs.submit[first]), [], []
    for job in range(first):
        start, runtime, cancel = int(whole.start[job]), int(jobs.runtime[job]), int(jobs.cancel[job])
        if start < 0:
            waiting += [job] if cancel > begin else []
        elif start >= begin:
            waiting.append(job)
        elif start + runtime > begin:
            running.append(job)
    columns = ("runtime", "procs", "estimate", "limit", "user", "hold")
    warm = RunningJobs(whole.start[running], *(getattr(jobs, name)[running] for name in columns))
    positions = n([*waiting, *range(first, len(jobs))])
    some = Jobs(
        **{name: getattr(jobs, name)[positions] for name in COLUMNS},
        origin=jobs.origin,
        facts={name: values[positions] for name, values in jobs.facts.items()},
    )
    return WarmReplay(some, Cluster(PROCS, warm, outages or Outages(), len(waiting)), positions)


def assert_goes_on(
    jobs: Jobs, policy: str, backfill: str, correction: str = "requested", outages: Outages | None = None
) -> int:
    """Cuts a whole replay before several jobs; returns how many jobs waited at the cuts."""
    weights, waiting = random_weights() if policy == "learned" else None, 0
    chosen = parse_policy(policy, weights)
    whole = replay(jobs, Cluster(PROCS, outages=outages or Outages()), chosen, backfill, correction=correction)
    for first in np.random.default_rng(len(jobs)).choice(len(jobs), 6, replace=False).tolist():
        warm = warm_start_at(first, jobs, whole, outages)
        after = replay(warm.jobs, warm.cluster, chosen, backfill, correction=correction)
        assert after.start.tolist() == whole.start[warm.positions].tolist()
        assert after.backfilled.tolist() == whole.backfilled[warm.positions].tolist()
        waiting += warm.cluster.waiting
    return waiting


@pytest.mark.parametrize("backfill", ["none", "easy", "easy-sjbf"])
@pytest.mark.parametrize("policy", EXACT_POLICIES)
def test_a_warm_start_goes_on_exactly(policy: str, backfill: str) -> None:
    """Half of the estimates are too short, jobs are cancelled while they wait, and many are submitted in the same second."""
    for seed, correction in enumerate(CORRECTIONS):
        jobs = busy_jobs(400, load=1.3, seed=seed, cancelled_share=0.2)
        assert assert_goes_on(jobs, policy, backfill, correction) > 20


@pytest.mark.parametrize("backfill", ["none", "easy", "easy-sjbf"])
@pytest.mark.parametrize("policy", ["SAF", "WFP3"])
def test_outages_under_way_and_announced_stay(policy: str, backfill: str) -> None:
    jobs = busy_jobs(400, load=1.1, seed=3)
    moments = np.quantile(jobs.submit, [0.1, 0.3, 0.5, 0.7, 0.9]).astype(np.int64)
    length = np.diff(moments, append=moments[-1] + 9000)
    outages = Outages(moments, moments + 2 * length, n([4, 8, 3, 6, 2]), moments - n([0, 9000, 0, 90_000, 4000]))
    assert assert_goes_on(jobs, policy, backfill, outages=outages) > 20


def test_jobs_that_run_are_believed_to_hold_what_they_held_before() -> None:
    jobs = busy_jobs(400, load=1.3)
    longer = Jobs(**{name: getattr(jobs, name) for name in COLUMNS if name not in ("hold", "admit")}, hold=jobs.limit)
    assert assert_goes_on(longer, "SAF", "easy") > 20


def test_conservative_backfilling_goes_on_exactly_where_the_order_of_promises_is_that_of_submission() -> None:
    """The promises before the cut are unknown. With exact estimates FCFS makes the same ones, since all are then in the order of
    submission; under another policy they are made in its order (below)."""
    jobs = busy_jobs(400, load=1.3, seed=4)
    exact = Jobs(jobs.submit, jobs.runtime, jobs.procs, np.maximum(jobs.runtime, 1), np.maximum(jobs.runtime, 1))
    assert assert_goes_on(exact, "FCFS", "conservative") > 20
    for policy, backfill in (("SJF", "conservative"), ("FCFS", "selective:threshold=1.5")):
        with pytest.raises(AssertionError):
            assert_goes_on(exact, policy, backfill)


@pytest.mark.parametrize("backfill", ["conservative", "selective:threshold=1.5"])
@pytest.mark.parametrize("policy", ["FCFS", "SJF", "fairshare:half_life_days=0.01"])
def test_plans_of_a_warm_start_never_oversubscribe(policy: str, backfill: str) -> None:
    jobs = busy_jobs(300, load=1.3, seed=5, cancelled_share=0.2)
    whole = replay(jobs, PROCS, "FCFS", "easy")
    warm = warm_start_at(150, jobs, whole)
    assert warm.cluster.waiting > 5 and len(warm.cluster.running) > 2
    after = replay(warm.jobs, warm.cluster, policy, backfill)
    begin, started = int(jobs.submit[150]), after.started
    start, running = after.start[started], warm.cluster.running
    assert (start >= np.maximum(warm.jobs.submit[started], begin)).all()
    assert (warm.jobs.cancel[~started] < NEVER).all()
    moments = np.unique(start)
    use = sum(
        (procs * ((since <= moments) & (moments < since + runtime)))
        for since, runtime, procs in zip(
            np.concatenate([running.start, start]),
            np.concatenate([running.runtime, warm.jobs.runtime[started]]),
            np.concatenate([running.procs, warm.jobs.procs[started]]),
            strict=True,
        )
    )
    assert use.max() <= PROCS


def test_fair_share_counts_what_the_running_jobs_use_from_the_beginning_on() -> None:
    """4 processors. User 1's job runs on all of them until 100. A job of user 1 has waited since 10, one of user 2 since 20; both
    need all processors for 50 s. The replay begins at 60. At 100 user 1 has used something and user 2 nothing, so that user 2
    starts at 100, user 1 at 150. The job of user 3 that is submitted at 60 has used nothing either. It goes behind user 2 by its
    submission, and before user 1: it starts at 150, and user 1 at 200."""
    running = RunningJobs(n([0]), n([100]), n([4]), n([100]), n([100]), n([1]))
    length = n([50, 50, 50])
    jobs = Jobs(n([10, 20, 60]), length, n([4, 4, 4]), length, length, user=n([1, 2, 3]))
    assert replay(jobs, Cluster(4, running, waiting=2), "fairshare", "easy").start.tolist() == [200, 100, 150]
    assert replay(jobs, Cluster(4, running, waiting=2), "FCFS", "easy").start.tolist() == [100, 150, 200]


def test_a_waiting_job_that_is_cancelled_leaves_and_one_that_can_never_start_is_named() -> None:
    """4 processors, all held until 100. The first waiting job is cancelled at 90, so that the second starts at 100."""
    running = RunningJobs(n([0]), n([100]), n([4]), n([100]), n([100]), n([0]))
    length = n([50, 50, 50])
    jobs = Jobs(n([10, 20, 60]), length, n([4, 4, 1]), length, length, cancel=n([90, NEVER, NEVER]))
    for policy in ("FCFS", "WFP3"):
        assert replay(jobs, Cluster(4, running, waiting=2), policy).start.tolist() == [-1, 100, 150]
        lasting = Outages(n([0]), n([FOREVER]), n([2]), n([0]))
        with pytest.raises(ValueError, match=r"job at index 1 .*can never start"):
            replay(jobs, Cluster(4, running, lasting, waiting=2), policy)


def test_a_replay_with_a_queue_may_stop_and_go_on() -> None:
    jobs = busy_jobs(300, load=1.3)
    warm = warm_start_at(100, jobs, replay(jobs, PROCS, "SAF"))
    for policy in ("SAF", "WFP3"):
        expected = replay(warm.jobs, warm.cluster, policy)
        stopped = StoppableReplay(warm.jobs, warm.cluster, policy)
        assert not stopped.run(until=int(jobs.submit[200]))
        state = stopped.keep()
        assert stopped.run()
        assert stopped.schedule.start.tolist() == expected.start.tolist()
        other = StoppableReplay(warm.jobs, warm.cluster, policy)
        other.take_up(state)
        assert other.run()
        assert other.schedule.start[-100:].tolist() == expected.start[-100:].tolist()


def test_a_queue_that_cannot_be_is_refused() -> None:
    length = n([5, 5])
    jobs = Jobs(n([0, 10]), length, n([1, 1]), length, length, cancel=n([9, NEVER]))
    with pytest.raises(
        ValueError, match="2 of 2 jobs wait when the replay begins: at least one must be submitted then"
    ):
        replay(jobs, Cluster(4, waiting=2))
    with pytest.raises(
        ValueError, match="job at index 0 does not wait at 10, when the replay begins: it was cancelled at 9"
    ):
        replay(jobs, Cluster(4, waiting=1))
    with pytest.raises(ValueError, match="the number of waiting jobs must not be negative, got -1"):
        Cluster(4, waiting=-1)
