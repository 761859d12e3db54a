"""Tests of simulator/pbs/variants: warm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from simulator.jobs.cluster import Cluster, HeldNodes, RunningJobs, no_nodes
from simulator.jobs.followers import NO_JOB, followers_of
from simulator.jobs.jobs import Jobs
from simulator.pbs.replaying import PbsReplayer
from simulator.pbs.requests import PbsJob
from simulator.pbs.settings import PbsPhases
from simulator.pbs.variants.warm import PbsPast, PbsWarmStart
from studies.pbs.free_replays import UNKNOWN_RUN_S
from studies.pbs.recorded_runs import read_recorded_run
from studies.pbs.timing import logged_run_times
from tests.shared import shared_file
from tests.simulator.busy import asking, pbs_site
from tests.simulator.pbs.variants.moments import CutReplay
from traces.cluster.accounts import Limit
from traces.cluster.description import AdvanceReservation, ClusterDescription, Gate, Setting

LIMITS = (
    Limit("cluster", "", "running", "user", "jobs", 3),
    Limit("partition", "high", "running", "all", "cpu", 8),
)
HOURS = (Gate(tuple(range(7)), 60, 120, partition="high"),)
RESERVED = tuple(
    AdvanceReservation(f"R{k}", begin, begin + 900, begin - 1000, ("n1", "n2"), queue=f"R{k}")
    for k, begin in enumerate((2_000, 9_000, 14_000))
)
SHARES: dict[str, Setting] = {
    "fair_share": True,
    "fairshare_usage_res": "ncpus*walltime",
    "fairshare_decay_time": "00:40:00",
}


def crowd(
    count: int = 150, seed: int = 1, reserved: Sequence[AdvanceReservation] = ()
) -> tuple[list[PbsJob], np.ndarray]:
    """Jobs of three users in two queues, some of arrays, of many nodes or of parts of nodes, and their run times."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, 120 * count, count))
    asked = []
    for k, second in enumerate(submit.tolist()):
        nodes, ncpus = int(rng.choice([1, 1, 2, 3, 4])), int(rng.choice([1, 2, 4]))
        one = asking(second, nodes, int(rng.choice([300, 600, 1800, 3600])), ncpus, user=str(rng.choice(list("abc"))))
        one = replace(one, queue=str(rng.choice(["work", "high"])), user={"a": "ann", "b": "bob", "c": "cid"}[one.user])
        if k % 10 == 7:
            one = replace(one, array=k // 10, array_limit=1, submit_s=asked[-1].submit_s, queue="work")
            asked[-1] = replace(asked[-1], array=k // 10, array_limit=1, queue="work")
        if k % 20 == 13:
            one = replace(one, dependencies=(("afterany", k - 1),))
        if reserved and k % 9 == 0:
            one = replace(one, reservation=reserved[k % len(reserved)].name, pieces=one.pieces[:1], array=-1)
        asked.append(one)
    limit = np.array([one.time_s for one in asked])
    return asked, np.maximum((limit * rng.uniform(0.1, 1, count)).astype(np.int64), 1)


def assert_same_from(replay: CutReplay, seconds: Sequence[int]) -> None:
    for second in seconds:
        *_, later = replay.rows_from(second)
        outcome = replay.from_moment(second)
        assert (replay.submit[later] < second).sum() > 2
        assert "running without room" not in outcome.counts
        assert outcome.schedule.start.tolist() == replay.start[later].tolist(), second


@pytest.mark.parametrize(
    ("site", "phases"),
    [
        (pbs_site(), PbsPhases()),
        (pbs_site(LIMITS, backfill_depth=3), PbsPhases()),
        (pbs_site(strict_ordering=False, by_queue=True), PbsPhases()),
        (pbs_site(job_sort_formula="eligible_time - walltime"), PbsPhases()),
        (pbs_site((), RESERVED, HOURS), PbsPhases()),
        (pbs_site(**SHARES), PbsPhases(poll_s=4, decay_s=1_000)),
    ],
    ids=["top job", "limits", "not strict", "formula", "reservations and hours", "fair share"],
)
def test_a_replay_that_begins_on_the_way_goes_on_as_the_whole_one(site: ClusterDescription, phases: PbsPhases) -> None:
    replay = CutReplay(site, *crowd(reserved=site.reservations), phases)
    assert_same_from(replay, replay.moments(6))


@pytest.mark.parametrize("scenario", ["P1", "P3", "P4", "P5"])
def test_a_recorded_run_goes_on_as_the_whole_one(scenario: str) -> None:
    """P3 has a formula, P4 fair share, P5 queues and limits."""
    run = read_recorded_run(shared_file("golden", "pbs", scenario, "run1"))
    turns = (np.array([each.submit_turn for each in run.jobs]), np.array([each.end_turn for each in run.jobs]))
    phases = PbsPhases(poll_s=3, decay_s=25)
    runtime = logged_run_times(run, UNKNOWN_RUN_S)
    replay = CutReplay(run.cluster, [each.job for each in run.jobs], runtime, phases, turns)
    assert_same_from(replay, replay.moments(5))


@pytest.mark.parametrize("name", ["limits", "fair share"])
def test_users_who_keep_their_pace_go_on_as_in_the_whole_one(name: str) -> None:
    """Who waits at the moment follows none, and others follow jobs that waited then or came later."""
    site = pbs_site(LIMITS, backfill_depth=3) if name == "limits" else pbs_site(**SHARES)
    replay = CutReplay(site, *crowd(), PbsPhases(poll_s=4, decay_s=1_000))
    users = np.array(["abc".index(one.user[0]) for one in replay.asked])
    for second in replay.moments(6):
        *_, later = replay.rows_from(second)
        submit, waiting = replay.submit[later], int((replay.submit[later] < second).sum())
        after, think = followers_of(submit, replay.end[later], users[later])
        assert (after[:waiting] == NO_JOB).all() and (after != NO_JOB).sum() > (len(later) - waiting) // 2 - 3
        outcome = replay.from_moment(second, follows=(after, think))
        assert outcome.submit is not None and outcome.submit.tolist() == submit.tolist()
        assert outcome.schedule.start.tolist() == replay.start[later].tolist()


BEGIN = 1_000


def ones(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def warm_replay(
    site: ClusterDescription, warm: PbsWarmStart, asked: list[PbsJob], until: Sequence[int], waiting: int
) -> tuple[list[int], dict[str, int]]:
    """Starts of jobs of 100 s. until: when the running jobs end, each of which began when it was submitted."""
    began = ones(*(one.submit_s for one in warm.asked))
    ran, some = ones(*until) - began, np.ones(len(until), dtype=np.int64)
    limit = np.maximum(ones(*(one.time_s for one in warm.asked)), ran)
    hundred = np.full(len(asked), 100)
    jobs = Jobs(ones(*(one.submit_s for one in asked)), hundred, np.ones_like(hundred), hundred, hundred)
    running = RunningJobs(began, ran, some, limit, limit, 0 * some)
    cluster = Cluster(site.num_cpus, running, waiting=waiting, begin=BEGIN)
    outcome = PbsReplayer(site, asked, warm=warm).replay(jobs, cluster)
    return outcome.schedule.start.tolist(), dict(outcome.counts)


def test_running_jobs_hold_their_nodes_until_they_end() -> None:
    """Nodes n0, n1 and n3 are held, so that a job of one node starts at once on n2, and that of all waits for the last of them."""
    of_running = [asking(0, 2, 9_000), asking(500, 1, 9_000)]
    nodes = HeldNodes(ones(0, 2, 3), ones(0, 1, 3), ones(4, 4, 4))
    asked = [asking(900, 4, 100), asking(950, 1, 100)]
    start, counts = warm_replay(pbs_site(), PbsWarmStart(of_running, nodes), asked, [1_400, 1_200], 2)
    assert start == [1_400, BEGIN] and "running without room" not in counts

    # PBS's rule chooses the nodes of those that nobody knows, and of those that have no room where they are said to be
    twice = HeldNodes(ones(0, 2, 3), ones(0, 1, 1), ones(4, 4, 4))
    for held in (no_nodes(2), twice):
        assert warm_replay(pbs_site(), PbsWarmStart(of_running, held), asked, [1_400, 1_200], 2)[0] == start
    wide = [of_running[0], asking(500, 3, 9_000)]
    start, counts = warm_replay(pbs_site(), PbsWarmStart(wide, no_nodes(2)), asked, [1_400, 1_200], 2)
    assert counts["running without room"] == 1 and start == [1_400, BEGIN]


def test_running_jobs_count_for_limits_and_are_expected_to_end_by_their_walltimes() -> None:
    of_running = [asking(0, 1, 1_300)]
    site = pbs_site((Limit("cluster", "", "running", "user", "jobs", 1),))
    asked = [asking(900, 1, 100), asking(901, 1, 100, user="bob")]
    assert warm_replay(site, PbsWarmStart(of_running, no_nodes(1)), asked, [1_200], 2)[0] == [1_200, BEGIN]

    # a plan for all nodes at 1300 lets a job pass that is over by then, and no other
    asked = [asking(900, 4, 100), asking(901, 1, 301), asking(902, 1, 300)]
    start, _ = warm_replay(pbs_site(), PbsWarmStart(of_running, no_nodes(1)), asked, [1_200], 3)
    assert start == [1_200, 1_300, BEGIN]


def test_waiting_jobs_have_their_eligible_time_and_their_holds() -> None:
    """The second job of two came later, but could run for longer."""
    site = pbs_site(job_sort_formula="eligible_time")
    asked = [asking(600, 4, 100, begin_s=900), asking(700, 4, 100), asking(800, 4, 100, held=True)]
    asked.append(asking(810, 4, 100, begin_s=2_000))
    nobody = PbsWarmStart((), no_nodes(0))
    assert warm_replay(site, nobody, asked, [], 4)[0] == [1_100, BEGIN, -1, 2_000]
    of_limits = replace(nobody, eligible_s=ones(50, 40, 0, 0))
    assert warm_replay(site, of_limits, asked, [], 4)[0] == [BEGIN, 1_100, -1, 2_000]


def test_jobs_wait_for_running_ones() -> None:
    asked = [asking(900, 1, 100, dependencies=(("afterany", 0),)), asking(901, 1, 100, dependencies=(("after", 0),))]
    warm = PbsWarmStart([asking(0, 1, 9_000)], no_nodes(1))
    assert warm_replay(pbs_site(), warm, asked, [1_200], 2)[0] == [1_200, BEGIN]


def test_what_was_used_before_orders_the_queue() -> None:
    """Ann has used more than bob, unless that was long ago."""
    asked = [asking(900, 4, 100, user="ann"), asking(901, 4, 100, user="bob")]
    site = pbs_site(**SHARES)
    for of_ann, first in ((900, "bob"), (100, "bob"), (10, "ann")):
        past = PbsPast([asking(0, 1, 900, user="ann"), asking(0, 1, 900, user="bob")], ones(0, 0), ones(of_ann, 60))
        start, _ = warm_replay(site, PbsWarmStart((), no_nodes(0), past), asked, [], 2)
        assert ["ann", "bob"][int(np.argmin(start))] == first


def test_running_jobs_need_a_warm_start() -> None:
    running = RunningJobs(*(ones(value) for value in (0, 1_400, 8, 9_000, 9_000, 0)))
    jobs = Jobs(*(ones(value) for value in (9, 9, 1, 9, 9)))
    with pytest.raises(ValueError, match="of a warm start alone"):
        PbsReplayer(pbs_site(), [asking(9, 1, 9)]).replay(jobs, Cluster(16, running))
