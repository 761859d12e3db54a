"""Tests of simulator: compiled, partitions, published, replayer."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import compilation
import simulator
import traces.cluster
from assets.common.code.reach import Symbol, reached_from
from compilation import source_hash
from models.allocation.looking_ahead import LookingAheadReplayer
from models.judging.machine import Machine
from papers.rlscheduler.rules import RLSchedulerReplayer, replay_rlscheduler
from simulator import published
from simulator.agents.batch import replay_windows
from simulator.compiled import SOURCE_HASH
from simulator.engine.replay import NeverStarts, OrderReplayer, replay
from simulator.jobs.cluster import Cluster, Outages
from simulator.jobs.followers import NO_JOB
from simulator.jobs.jobs import Jobs, jobs_from_log
from simulator.jobs.tasks import tasks_of
from simulator.partitions import PartitionReplayer, shares_of
from simulator.published import paper_part
from simulator.replayer import BY_ORDER, Outcome, Replayer
from simulator.topology.choosing import node_units
from simulator.topology.switches import Switches, SwitchReplayer
from simulator.topology.tree import regular_tree
from tests.simulator.busy import PROCS, busy_jobs

# compiled: The room's compiler: its key is what saved runs store.


def test_saved_runs_store_a_hash_over_all_files_of_the_room_and_how_they_are_compiled() -> None:
    """And over what a cluster is, which compiled code of a scheduler reads."""
    folders = [Path(room.__file__).parent for room in (compilation, simulator, traces.cluster)]
    assert source_hash(*folders) == SOURCE_HASH


# partitions: Partitions are replayed alone, and put together again.


def random_jobs(seed: int, count: int, widest: int) -> Jobs:
    rng = np.random.default_rng(seed)
    runtime = rng.integers(1, 200, count)
    submit = np.sort(rng.integers(0, 60 * count, count))
    procs = rng.integers(1, widest + 1, count)
    return jobs_from_log(submit, runtime, procs, runtime * rng.integers(1, 4, count), user=rng.integers(0, 3, count))


def test_the_rest_is_the_last_share() -> None:
    assert shares_of({"gpu": 4, "debug": 2}, 16) == [4, 2, 10]
    assert shares_of({}, 16) == [16]
    with pytest.raises(ValueError, match="the queues own 20 processors, the cluster has 16: correct their sizes"):
        shares_of({"gpu": 20}, 16)


@pytest.mark.parametrize("backfill", ["none", "easy", "conservative"])
@pytest.mark.parametrize("policy", ["FCFS", "SAF", "fairshare"])
def test_each_partition_is_a_cluster_of_its_own(policy: str, backfill: str) -> None:
    jobs, shares = random_jobs(4, 300, 5), [6, 5, 9]
    partition = np.random.default_rng(5).integers(0, 3, len(jobs))
    replayer = PartitionReplayer(OrderReplayer(policy, backfill), partition, shares)
    whole = replayer.replay(jobs, Cluster(sum(shares))).schedule
    for number, procs in enumerate(shares):
        of = partition == number
        alone = jobs_from_log(jobs.submit[of], jobs.runtime[of], jobs.procs[of], jobs.limit[of], user=jobs.user[of])
        expected = replay(alone, procs, policy, backfill)
        assert (whole.start[of] == expected.start).all() and (whole.backfilled[of] == expected.backfilled).all()
    assert whole.backfilled.any() == (backfill != "none")


def test_one_partition_is_the_cluster() -> None:
    jobs = random_jobs(6, 200, 8)
    replayer = PartitionReplayer(OrderReplayer("SJF"), np.zeros(len(jobs), dtype=np.int64), [8])
    alone = replayer.replay(jobs, Cluster(8)).schedule
    assert (alone.start == replay(jobs, 8, "SJF", "easy").start).all()


def test_a_job_that_is_wider_than_its_partition_never_starts() -> None:
    jobs = random_jobs(7, 50, 8)
    with pytest.raises(NeverStarts, match=r"\(8 processors\) can never start") as fault:
        PartitionReplayer(OrderReplayer(), np.arange(50) % 2, [8, 3]).replay(jobs, Cluster(11))
    assert fault.value.index % 2 == 1 and jobs.procs[fault.value.index] == 8


# published: Parts of papers by name: each is there, and code versions follow the name.

NAMES = {name: value for name, value in vars(published).items() if name.isupper()}


@pytest.mark.parametrize("name", NAMES)
def test_a_part_is_there_and_its_code_is_reached(name: str) -> None:
    module = paper_part(NAMES[name])
    defined = next(
        node.name
        for node in ast.parse(Path(module.__file__).read_text()).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    )
    assert Symbol(NAMES[name], defined) in reached_from(Symbol("simulator.published", name))


def test_what_replays_windows_reaches_the_rules_that_it_names() -> None:
    reached = reached_from(Symbol("simulator.agents.batch", "replay_windows"))
    assert Symbol("papers.rlscheduler.loop", "replay_jobs") in reached
    assert not any(symbol.module.startswith("papers.deep_back_filling") for symbol in reached)


# replayer: Every replayer of the simulator gives the schedule of what it stands for, and nothing that it was not
# asked for.

JOBS = busy_jobs(300)
ORDER = OrderReplayer("SAF", "easy-sjbf", "doubling")
AS_ORDER = replay(JOBS, PROCS, "SAF", "easy-sjbf", correction="doubling")


@pytest.mark.parametrize(
    ("replayer", "expected"),
    [
        (ORDER, AS_ORDER),
        (PartitionReplayer(ORDER, np.zeros(len(JOBS), dtype=np.int64), [PROCS, 0]), AS_ORDER),
        (SwitchReplayer(ORDER, node_units(regular_tree((PROCS,))), Switches(1, 600)), AS_ORDER),
        (RLSchedulerReplayer("WFP3", True, False), replay_rlscheduler(JOBS, PROCS, "WFP3", True, False)),
    ],
    ids=lambda each: type(each).__name__,
)
def test_the_schedule_is_that_of_its_rules(replayer: Replayer, expected: object) -> None:
    outcome = replayer.replay(JOBS, Cluster(PROCS))
    assert isinstance(outcome, Outcome) and outcome.counts == {}
    assert outcome.schedule.start.tolist() == expected.start.tolist()  # type: ignore[attr-defined]
    assert outcome.schedule.backfilled.tolist() == expected.backfilled.tolist()  # type: ignore[attr-defined]
    assert (outcome.placement is not None) == isinstance(replayer, SwitchReplayer)


@pytest.mark.parametrize(
    ("replayer", "who"),
    [
        (PartitionReplayer(ORDER, np.zeros(2, dtype=np.int64), [PROCS, 0]), "a replay of partitions"),
        (SwitchReplayer(ORDER, node_units(regular_tree((PROCS,))), Switches(1, 600)), "this way to replay"),
        (RLSchedulerReplayer("WFP3", True, False), "the RLScheduler code"),
        (LookingAheadReplayer(node_units(regular_tree((4, 8))), 60), "this rule"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_jobs_that_follow_others_are_refused_where_no_rule_says_when_they_come(replayer: Replayer, who: str) -> None:
    follows = replace(JOBS.window(0, 2), after=np.array([NO_JOB, 0]), think=np.array([0, 5]))
    with pytest.raises(ValueError, match=f"{who} has no rule for jobs that follow others"):
        replayer.replay(follows, Cluster(PROCS))
    outcome = ORDER.replay(follows, Cluster(PROCS))
    assert outcome.submit is not None and outcome.submit[1] == outcome.schedule.start[0] + follows.runtime[0] + 5


def test_whoever_makes_tasks_of_jobs_refuses_those_that_follow() -> None:
    """Agents, live estimates, hindsight and placing make them so."""
    follows = replace(JOBS.window(0, 2), after=np.array([NO_JOB, 0]), think=np.array([0, 5]))
    for refusing in (
        lambda: tasks_of(follows, Cluster(PROCS)),
        lambda: replay_windows(follows, PROCS, np.array([0]), 2, "FCFS"),
        lambda: Machine(PROCS).replay(follows, "FCFS", "easy"),
    ):
        with pytest.raises(ValueError, match="has no rule for jobs that follow others"):
            refusing()


def test_an_order_honours_the_outages_that_it_names() -> None:
    assert OrderReplayer.honours > BY_ORDER and "outages" in OrderReplayer.honours - PartitionReplayer.honours
    begin = int(JOBS.submit[0])
    half = Cluster(PROCS, outages=Outages(*np.array([[begin], [begin + 100_000], [PROCS // 2], [begin]])))
    outcome = ORDER.replay(JOBS, half)
    expected = replay(JOBS, half, "SAF", "easy-sjbf", correction="doubling")
    assert outcome.schedule.start.tolist() == expected.start.tolist() != AS_ORDER.start.tolist()
