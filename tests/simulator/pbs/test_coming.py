"""Tests of simulator/pbs: coming. Closed replays, in which jobs follow others. Rules: docs/reference/semantics/followers.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from simulator.jobs.cluster import Cluster, no_nodes
from simulator.jobs.followers import NEVER_SUBMITTED, NO_JOB, followers_of
from simulator.jobs.jobs import NEVER, Jobs
from simulator.pbs.replaying import PbsReplayer
from simulator.pbs.requests import PbsJob
from simulator.pbs.settings import PbsPhases
from simulator.pbs.variants.warm import PbsWarmStart
from simulator.replayer import Outcome
from studies.pbs.free_replays import UNKNOWN_RUN_S
from studies.pbs.recorded_runs import read_recorded_run
from studies.pbs.timing import logged_run_times
from tests.pbs.cycle_engine import described, requests_of
from tests.pbs.cycle_workloads import cycle_workload
from tests.shared import shared_file
from tests.simulator.busy import asking, pbs_site
from tests.simulator.jobs.people import arrays_before
from tests.simulator.pbs.variants.test_warm import HOURS, LIMITS, RESERVED, SHARES, crowd
from traces.cluster.accounts import Limit
from traces.cluster.description import AdvanceReservation, ClusterDescription

IntArray = NDArray[np.int64]
SEEDS = 100
"""Of each part."""


def jobs_of(
    asked: Sequence[PbsJob],
    runtime: IntArray,
    after: IntArray | None = None,
    think: object = 0,
    patience: IntArray | None = None,
    array: IntArray | None = None,
) -> Jobs:
    submit = np.array([one.submit_s for one in asked], dtype=np.int64)
    limit = np.maximum([one.time_s for one in asked], runtime)
    after = np.full(len(asked), NO_JOB) if after is None else after
    cancel = np.full(len(asked), NEVER) if patience is None else np.where(patience < NEVER, submit + patience, NEVER)
    think = np.zeros_like(after) + think
    array = np.full_like(after, NO_JOB) if array is None else array
    columns = {"after": after, "think": think, "cancel": cancel, "array": array}
    return Jobs(submit, runtime, np.ones_like(runtime), limit, limit, **columns)


def patience_of(jobs: Jobs) -> IntArray:
    return np.where(jobs.cancel < NEVER, jobs.cancel - jobs.submit, NEVER)


def impatient(jobs: Jobs, seed: int) -> Jobs:
    """The jobs with users who give up four of ten after 1 s to an hour."""
    rng = np.random.default_rng((seed, 9))
    patience = rng.choice([1, 10, 60, 600, 3600], len(jobs))
    return replace(jobs, cancel=np.where(rng.random(len(jobs)) < 0.4, jobs.submit + patience, NEVER))


def replayed(
    site: ClusterDescription,
    asked: Sequence[PbsJob],
    jobs: Jobs,
    phases: PbsPhases | None = None,
    turns: tuple[IntArray, IntArray] | None = None,
) -> Outcome:
    return PbsReplayer(site, asked, phases or PbsPhases(), turns).replay(jobs, Cluster(site.num_cpus))


def assert_same_as_open(
    site: ClusterDescription,
    asked: Sequence[PbsJob],
    jobs: Jobs,
    phases: PbsPhases | None = None,
    turns: tuple[IntArray, IntArray] | None = None,
) -> Outcome:
    """A replay knows nothing of later submissions. So the open one of the closed one's submissions has the same schedule."""
    closed = replayed(site, asked, jobs, phases, turns)
    asked = [one if one.begin_s > one.submit_s else replace(one, begin_s=0) for one in asked]
    submit = closed.submit
    assert submit is not None and (submit[jobs.after == NO_JOB] == jobs.submit[jobs.after == NO_JOB]).all()
    came = np.flatnonzero(submit != NEVER_SUBMITTED)
    order = came[np.lexsort((came, submit[came]))]
    place = {int(job): k for k, job in enumerate(order)}
    moved = [
        replace(
            asked[job],
            submit_s=int(submit[job]),
            dependencies=tuple((kind, place[other]) for kind, other in asked[job].dependencies if other in place),
            held=asked[job].held or any(other not in place for _, other in asked[job].dependencies),
        )
        for job in order
    ]
    own_turns = turns
    if turns is not None:
        turns = (turns[0][order], turns[1][order])
    opened = replayed(
        site, moved, jobs_of(moved, jobs.runtime[order], patience=patience_of(jobs)[order]), phases, turns
    )
    assert opened.submit is None and opened.held is not None and closed.held is not None
    assert closed.schedule.start[order].tolist() == opened.schedule.start.tolist()
    assert (closed.schedule.start[submit == NEVER_SUBMITTED] < 0).all()
    never = len(asked) - len(came)
    assert closed.counts.get("never submitted", 0) == never
    counts = dict(opened.counts) | {"never started": opened.counts["never started"] + never}
    assert {name: count for name, count in closed.counts.items() if name != "never submitted"} == counts
    if not never:  # the same in the order of the log
        again = replayed(site, asked, jobs.submitted_at(submit).without_followers(), phases, own_turns)
        assert again.schedule.start.tolist() == closed.schedule.start.tolist()
    for k, job in enumerate(order):
        mine = closed.held.node[closed.held.first[job] : closed.held.first[job + 1]]
        assert mine.tolist() == opened.held.node[opened.held.first[k] : opened.held.first[k + 1]].tolist()
    return closed


def chained(
    rng: np.random.Generator, asked: list[PbsJob], runtime: IntArray, is_exact: bool
) -> tuple[list[PbsJob], Jobs]:
    """Six of ten jobs follow an earlier one, mostly a near one, and some wait for another. is_exact: whether nothing leaves by a pass. Only
    then, and after a job that runs at all, a job may follow in the second of an end."""
    count = len(asked)
    near = np.arange(count) - 1 - np.minimum(rng.geometric(0.3, count), np.arange(count))
    after = np.where(rng.random(count) < 0.6, near, NO_JOB)
    think = rng.choice([0, 1, 3, 20, 90], count)
    think = np.where((think == 0) & ~(is_exact & (runtime > 0).all()), 1, think)
    kinds = ("after", "afterany", "afterok", "afternotok")
    for job in np.flatnonzero(rng.random(count) < 0.08)[1:]:
        depends = ((str(rng.choice(kinds, p=[0.4, 0.3, 0.28, 0.02])), int(rng.integers(count - 1))),)
        if depends[0][1] != job and asked[job].array < 0:
            asked[job] = replace(asked[job], dependencies=depends)
    array = arrays_before(after, rng.random(count) < 0.4)
    return asked, jobs_of(asked, runtime, after, np.where(after == NO_JOB, 0, think), array=array)


def assert_random(seed: int) -> Outcome:
    listed, cycle = cycle_workload(seed)
    site, rng = described(cycle), np.random.default_rng((seed, 2))
    runtime = np.array([job.runtime_s for job in listed], dtype=np.int64)
    asked, jobs = chained(rng, requests_of(listed), runtime, not cycle.settings.preempts)
    assert_same_as_open(site, asked, impatient(jobs, seed))
    return assert_same_as_open(site, asked, jobs)


def test_random_closed_replays_are_those_of_their_submissions() -> None:
    outcomes = [assert_random(seed) for seed in range(SEEDS)]
    never = [each.counts.get("never submitted", 0) for each in outcomes]
    assert 0 < sum(never) < 0.4 * 30 * SEEDS and any("preempted" in each.counts for each in outcomes)


@pytest.mark.parametrize("part", range(1, 20))
def test_two_thousand_closed_replays_are_those_of_their_submissions(part: int) -> None:
    for seed in range(part * SEEDS, (part + 1) * SEEDS):
        assert_random(seed)


CROWDS: dict[str, tuple[ClusterDescription, PbsPhases]] = {
    "top jobs": (pbs_site(LIMITS, backfill_depth=3), PbsPhases()),
    "sort keys": (pbs_site(job_sort_key="ncpus HIGH, walltime LOW"), PbsPhases()),
    "not strict": (pbs_site(strict_ordering=False, by_queue=True), PbsPhases()),
    "formula": (pbs_site(job_sort_formula="eligible_time - walltime"), PbsPhases()),
    "usage in a formula": (pbs_site(job_sort_formula="-fairshare_tree_usage * walltime", **SHARES), PbsPhases()),
    "reservations and hours": (pbs_site((), RESERVED, HOURS), PbsPhases()),
    "fair share": (pbs_site(**SHARES), PbsPhases(poll_s=4, decay_s=1_000)),
    "suspended": (pbs_site(preempt_order="S"), PbsPhases()),
    "queued again": (pbs_site(preempt_order="R"), PbsPhases()),
    "deleted": (pbs_site(preempt_order="D"), PbsPhases()),
    "queued jobs": (pbs_site((Limit("cluster", "", "submitted", "user", "jobs", 10),)), PbsPhases()),
}


def random_crowd(name: str, seed: int) -> tuple[list[PbsJob], Jobs, np.random.Generator]:
    """Of ten jobs one is of the express queue and one has a begin time."""
    site, _ = CROWDS[name]
    asked, runtime = crowd(seed=seed, reserved=site.reservations)
    rng = np.random.default_rng((seed, 3))
    for job in np.flatnonzero(rng.random(len(asked)) < 0.1):
        asked[job] = replace(asked[job], queue="express", array=-1)
    for job in np.flatnonzero(rng.random(len(asked)) < 0.1):
        asked[job] = replace(asked[job], begin_s=asked[job].submit_s + int(rng.integers(4_000)))
    return *chained(rng, asked, runtime, False), rng


@pytest.mark.parametrize("name", CROWDS)
def test_closed_replays_of_crowds_are_those_of_their_submissions(name: str) -> None:
    site, phases = CROWDS[name]
    asked, jobs, rng = random_crowd(name, 7)
    some_gave_up = assert_same_as_open(site, asked, impatient(jobs, 7), phases)
    assert (~some_gave_up.schedule.started).sum() > some_gave_up.counts["never started"]
    closed = assert_same_as_open(site, asked, jobs, phases)
    turns = rng.permutation(2 * len(asked))
    assert_same_as_open(site, asked, jobs, phases, (turns[: len(asked)], turns[len(asked) :]))
    expected = {"suspended": "preempted", "queued again": "preempted", "deleted": "deleted for others"}
    assert expected.get(name, "never started") in closed.counts
    assert name != "queued jobs" or closed.counts["over a limit on queued jobs"] > 0


@pytest.mark.parametrize("name", CROWDS)
def test_many_crowds_are_those_of_their_submissions(name: str) -> None:
    site, phases = CROWDS[name]
    for seed in range(100, 160):
        asked, jobs, _ = random_crowd(name, seed)
        assert_same_as_open(site, asked, jobs, phases)
        assert_same_as_open(site, asked, impatient(jobs, seed), phases)


def assert_same_again(site: ClusterDescription, asked: list[PbsJob], runtime: IntArray, phases: PbsPhases) -> None:
    """The closed replay by the ends of the open one has its submissions and schedule."""
    opened = replayed(site, asked, jobs_of(asked, runtime), phases)
    submit = np.array([one.submit_s for one in asked])
    suspended = np.zeros_like(runtime) if opened.schedule.suspended is None else opened.schedule.suspended[1]
    end = np.where(opened.schedule.start >= 0, opened.schedule.start + runtime + suspended, -1)
    names = sorted({one.user for one in asked})
    after, think = followers_of(submit, end, np.array([names.index(one.user) for one in asked]))
    assert (after != NO_JOB).sum() > len(asked) // 10
    # all wait for a second longer than they did
    waited = np.where(opened.schedule.start >= 0, opened.schedule.start - submit + 1, NEVER)
    closed = replayed(site, asked, jobs_of(asked, runtime, after, think, waited), phases)
    assert closed.submit is not None and closed.submit.tolist() == submit.tolist()
    assert closed.schedule.start.tolist() == opened.schedule.start.tolist() and closed.counts == opened.counts


@pytest.mark.parametrize("scenario", ["P1", "P1f", "P2", "P3", "P4", "P5", "P6", "P7"])
def test_a_recorded_run_comes_again_where_users_keep_their_pace(scenario: str) -> None:
    run = read_recorded_run(shared_file("golden", "pbs", scenario, "run1"))
    asked = [each.job for each in run.jobs]
    assert_same_again(run.cluster, asked, logged_run_times(run, UNKNOWN_RUN_S), PbsPhases(poll_s=3, decay_s=25))


@pytest.mark.parametrize("name", [name for name in CROWDS if name not in ("deleted", "reservations and hours")])
def test_a_crowd_comes_again_where_users_keep_their_pace(name: str) -> None:
    """In the others a job may end before its run time is over."""
    site, phases = CROWDS[name]
    for seed in range(40, 44):
        asked, jobs, _ = random_crowd(name, seed)
        assert_same_again(site, asked, jobs.runtime, phases)


# By hand. Each job has the cluster for itself unless it says otherwise.


def closed_replay(
    site: ClusterDescription,
    asked: list[PbsJob],
    runtime: list[int],
    after: list[int],
    think: list[int],
    patience: dict[int, int] | None = None,
) -> tuple[list[int], list[int], dict[str, int]]:
    waits = np.array([(patience or {}).get(job, NEVER) for job in range(len(asked))])
    outcome = replayed(site, asked, jobs_of(asked, np.array(runtime), np.array(after), np.array(think), waits))
    assert outcome.submit is not None
    return outcome.submit.tolist(), outcome.schedule.start.tolist(), dict(outcome.counts)


def test_a_job_is_submitted_some_time_after_another_has_ended() -> None:
    """The second one waits for the first. Its followers come 10 and 0 s after it, the first of them behind the job of second 155."""
    asked = [asking(0, 4, 100), asking(5, 4, 50), asking(6, 4, 10), asking(7, 4, 10), asking(155, 4, 10)]
    submit, start, counts = closed_replay(pbs_site(), asked, [100, 50, 5, 5, 5], [-1, -1, 1, 1, -1], [0, 0, 10, 0, 0])
    assert submit == [0, 5, 160, 150, 155] and start == [0, 100, 160, 150, 155] and counts == {"never started": 0}


def test_those_of_one_second_come_in_the_order_of_the_log() -> None:
    asked = [asking(0, 4, 100), asking(1, 4, 10), asking(2, 4, 10), asking(200, 4, 10)]
    submit, start, _ = closed_replay(pbs_site(), asked, [100, 10, 10, 10], [-1, 0, 0, -1], [0, 100, 100, 0])
    assert submit == [0, 200, 200, 200] and start == [0, 200, 210, 220]


def test_a_begin_time_is_that_of_the_clock() -> None:
    asked = [asking(0, 4, 100), asking(1, 4, 10, begin_s=300), asking(2, 4, 10, begin_s=50), asking(290, 4, 15)]
    submit, start, _ = closed_replay(pbs_site(), asked, [100, 10, 10, 15], [-1, 0, 0, -1], [0, 7, 9, 0])
    assert submit == [0, 107, 109, 290] and start == [0, 305, 109, 290]


def test_a_begin_time_that_is_the_submission_of_the_log_is_none() -> None:
    """A job of a log has one, and may come earlier in the replay."""
    asked = [asking(0, 4, 100), asking(500, 4, 10, begin_s=500)]
    submit, start, _ = closed_replay(pbs_site(), asked, [100, 10], [-1, 0], [0, 7])
    assert submit == [0, 107] and start == [0, 107]


def test_who_was_deleted_for_others_has_left() -> None:
    asked = [asking(0, 4, 100), asking(1, 4, 10), asking(10, 4, 20, queue="express")]
    submit, start, counts = closed_replay(pbs_site(preempt_order="D"), asked, [40, 10, 20], [-1, 0, -1], [0, 5, 0])
    assert submit == [0, 15, 10] and start == [0, 30, 10] and counts["deleted for others"] == 1

    submit, start, counts = closed_replay(pbs_site(preempt_order="R"), asked, [40, 10, 20], [-1, 0, -1], [0, 5, 0])
    assert submit == [0, 75, 10] and start == [0, 75, 10]  # it begins again at 30


def test_a_job_whose_user_gives_up_has_left() -> None:
    """The second job waits for the first one, its user for 40 s. Then the third one comes, and waits in its turn until 100."""
    asked = [asking(0, 4, 100), asking(1, 4, 10), asking(2, 4, 10)]
    for patience, started in ((53, 100), (52, -1)):
        submit, start, counts = closed_replay(
            pbs_site(), asked, [100, 10, 10], [-1, -1, 1], [0, 0, 7], {0: 1, 1: 40, 2: patience}
        )
        assert submit == [0, 1, 48] and start == [0, -1, started] and counts == {"never started": 0}


def test_no_pass_is_made_for_a_job_that_is_given_up() -> None:
    """One node is free. The second job needs all, and the third one would run for longer than the first. It starts with the next pass,
    which is that of the fourth job."""
    asked = [asking(0, 3, 1_000), asking(1, 4, 10), asking(2, 1, 3_000), asking(500, 4, 10)]
    asked.append(asking(600, 1, 10))
    _, start, _ = closed_replay(pbs_site(), asked, [1_000, 10, 5, 10, 10], [-1] * 4 + [0], [0] * 5, {1: 300})
    assert start[:3] == [0, -1, 500]


def test_a_job_that_is_kept_and_one_that_has_run_and_what_depends_on_them() -> None:
    """The second job waits for another one, and its user gives up. The last two depend on it, of which one may start. The first one is
    preempted at 10, and is not given up when it waits again."""
    asked = [
        asking(0, 4, 100),
        asking(1, 1, 10),
        asking(10, 4, 20, queue="express"),
        asking(3, 1, 10),
        asking(4, 1, 10),
    ]
    asked = [asked[k] for k in (0, 1, 3, 4, 2)]
    asked[1] = replace(asked[1], dependencies=(("afterany", 0),))
    asked[2] = replace(asked[2], dependencies=(("afterany", 1),))
    asked[3] = replace(asked[3], dependencies=(("afterok", 1),))
    asked.append(asking(11, 4, 10))
    site = pbs_site(preempt_order="R")
    submit, start, counts = closed_replay(
        site, asked, [100, 10, 10, 10, 20, 10], [-1] * 5 + [0], [0] * 6, {0: 15, 1: 20}
    )
    assert start[1] == -1 and start[3] == -1 and start[2] > 0 and start[0] == 0 and submit[5] == 130
    assert counts["never started"] == 1 and counts["preempted"] == 1


def test_who_waits_for_a_reservation_that_is_over_has_left() -> None:
    """The first job of the reservation ends with it at 2900, and the second one never starts."""
    asked = [asking(second, 2, 5_000, reservation="R0") for second in (0, 1)]
    asked += [asking(2, 1, 10), asking(3, 1, 10)]
    runtime = [5_000, 5_000, 10, 10]
    submit, start, _ = closed_replay(pbs_site((), RESERVED[:1]), asked, runtime, [-1, -1, 0, 1], [0, 0, 4, 5])
    assert start[:2] == [2_000, -1] and submit[2:] == [2_904, 2_905]


def test_who_follows_an_array_comes_after_all_its_tasks() -> None:
    """The first job is no task. The second array has a task that never starts."""
    asked = [
        asking(0, 1, 90),
        asking(1, 1, 90),
        asking(1, 1, 90),
        asking(2, 1, 10),
        asking(2, 5, 10),
        *[asking(9, 1, 10)] * 3,
    ]
    jobs = jobs_of(
        asked,
        np.array([80, 40, 20, 10, 10, 10, 10, 10]),
        np.array([NO_JOB] * 5 + [2, 0, 3]),
        np.array([0] * 5 + [3, 3, 3]),
        array=np.array([NO_JOB, 1, 1, 2, 2] + [NO_JOB] * 3),
    )
    outcome = replayed(pbs_site(), asked, jobs)
    start = outcome.schedule.start
    assert outcome.submit is not None and (start[:4] >= 0).all()
    ends = start + jobs.runtime
    assert outcome.submit.tolist()[5:] == [max(ends[1:3]) + 3, ends[0] + 3, NEVER_SUBMITTED]


def test_who_follows_a_job_that_never_leaves_never_comes() -> None:
    """The second job is wider than the cluster, and the last one has no job to wait for."""
    asked = [asking(0, 1, 10), asking(1, 5, 10), asking(2, 1, 10), asking(3, 1, 10), asking(4, 1, 10)]
    asked[4] = replace(asked[4], dependencies=(("afterany", 3),))
    outcome = replayed(pbs_site(), asked, jobs_of(asked, np.full(5, 10), np.array([-1, -1, 1, 2, 0])))
    assert outcome.submit is not None and outcome.submit.tolist() == [0, 1, NEVER_SUBMITTED, NEVER_SUBMITTED, 10]
    assert outcome.schedule.start.tolist() == [0, -1, -1, -1, -1]
    assert outcome.counts == {"never started": 4, "never submitted": 2}


def test_hours_that_a_job_comes_too_late_for_are_known_when_it_comes() -> None:
    """By its second in the log the second job would have had time, and the third one could not have passed it."""
    dedicated = AdvanceReservation("D", 1_000, 2_000, flags=("dedicated",), partitions=("high",))
    asked = [asking(1_000, 4, 900, queue="high"), asking(1_001, 4, 500, queue="high")]
    asked.append(asking(1_650, 4, 100, queue="high"))
    for ran, started in ((600, 1_650), (100, 1_650)):
        site = pbs_site((), (dedicated,), backfill_depth=0)
        submit, start, _ = closed_replay(site, asked, [ran, 50, 50], [-1, 0, -1], [0, 3, 0])
        assert submit[1] == 1_003 + ran and start == [1_000, 1_103 if ran == 100 else -1, started]


def test_what_a_closed_replay_refuses() -> None:
    asked = [asking(0, 1, 10), asking(1, 1, 10)]
    jobs = jobs_of(asked, np.array([10, 10]), np.array([NO_JOB, 0]))
    replayer = PbsReplayer(pbs_site(), asked, warm=PbsWarmStart((), no_nodes(0)))
    with pytest.raises(ValueError, match="has been submitted, and so follows no other job"):
        replayer.replay(jobs, Cluster(16, waiting=2, begin=5))
    assert replayer.replay(jobs, Cluster(16, waiting=1, begin=5)).schedule.start.tolist() == [5, 15]
