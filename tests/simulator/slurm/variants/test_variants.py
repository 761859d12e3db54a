"""Tests of simulator/slurm/variants: ordering, orders, warm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from models.scheduling.learning.recipes import smallest_area_first
from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request
from simulator.jobs.cluster import Cluster, HeldNodes, RunningJobs, no_nodes
from simulator.jobs.jobs import Jobs
from simulator.policies.agents import parse_agent
from simulator.policies.observation import LAYOUTS
from simulator.policies.registry import Policy, assisted, network_policy, parse_policy, register_policy
from simulator.policies.sampling import no_recorder
from simulator.slurm.clockwork import NOW, PENDING, STOPS, STOPS_TO_LEARN, WANT_ORDER, Replay
from simulator.slurm.loop import run_replay
from simulator.slurm.replaying import Phases, SlurmReplayer
from simulator.slurm.variants.ordering import (
    AWAITED_FROM,
    AWAITED_TO,
    ORDER_ASKED,
    ORDERED,
    QUEUED,
    put_in_order,
    run_ordered,
    take_scores,
)
from simulator.slurm.variants.orders import by_order, ordered_queue
from simulator.slurm.variants.warm import RanBefore, WarmStart, decayed_seconds, decayed_share
from studies.slurm.golden_runs import read_golden_run
from tests.shared import shared_file
from tests.simulator.busy import SITE, columns_of
from tests.simulator.slurm.variants.golden_halves import SecondHalf
from traces.cluster.accounts import Limit
from traces.cluster.description import ClusterDescription

# ordering: The loop that stops for an order.


def begun(policy: str, jobs: int = 6):
    """A replay of jobs that take all nodes, one submitted a second, and its queue."""
    asked = [Request(k, limit_s=600, min_nodes=4, max_nodes=4, exclusive=True) for k in range(jobs)]
    submit, hundred = np.arange(jobs), np.full(jobs, 100)
    columns = Jobs(submit, hundred, np.full(jobs, 16), 6 * hundred, 6 * hundred)
    replayer = SlurmReplayer(SITE, cluster_arrays(SITE), columns_of(asked), Phases(0, 1))
    replay, _ = replayer.begun(columns, Cluster(16))
    return replay, ordered_queue(replay, parse_policy(policy), columns, Cluster(16))


def test_scores_of_any_sign_and_size_order_the_queue() -> None:
    replay, orders = begun("WFP3")
    replay.clock[PENDING] = 6
    replay.pending[:6, 0] = np.arange(6)
    orders.listed[:] = [True, True, True, True, True, False]
    orders.value[:] = [1e300, -0.0, -1e300, 0.0, 3.5, 1.0]
    put_in_order(replay, orders)
    assert replay.pending[:6, 0].tolist() == [2, 1, 3, 4, 0, 5]  # what something keeps comes last


def test_it_may_end_when_some_jobs_have_started() -> None:
    replay, orders = begun("formula:wait")
    orders.counts[AWAITED_FROM], orders.counts[AWAITED_TO] = 0, 2
    assert run_ordered(replay, orders, no_recorder()) == ORDERED
    assert (replay.engine.running.start[:2] >= 0).all() and (replay.engine.running.start[3:] < 0).all()


def test_scores_are_asked_for_of_the_jobs_that_wait() -> None:
    replay, orders = begun("WFP3")
    orders = orders._replace(scoring=orders.scoring._replace(kind=11))
    stops = 0
    while run_ordered(replay, orders, no_recorder()) == ORDER_ASKED:
        waiting = orders.queue[: orders.counts[QUEUED]]
        assert (np.diff(waiting) > 0).all()
        orders.score[: len(waiting)] = -waiting  # the last first
        take_scores(replay, orders)
        stops += 1
    assert stops > 6 and np.argsort(replay.engine.running.start).tolist()[1:] == [5, 4, 3, 2, 1]


# orders: Orders of ours in the place of Slurm's priority.

JOBS = 120


def crowded_jobs() -> tuple[SlurmReplayer, Jobs]:
    """Jobs of four users that wait for days, on 16 CPUs without limits."""
    rng = np.random.default_rng(1)
    submit = np.sort(rng.integers(0, 9000, JOBS))
    runtime, tasks = rng.integers(60, 3000, JOBS), rng.integers(1, 9, JOBS)
    asked = [Request(int(s), limit_s=2 * int(r), tasks=int(k)) for s, r, k in zip(submit, runtime, tasks, strict=True)]
    jobs = Jobs(submit, runtime, tasks, 2 * runtime, 2 * runtime, user=rng.integers(0, 4, JOBS))
    site = replace(SITE, limits=())
    return SlurmReplayer(site, cluster_arrays(site), columns_of(asked, site), Phases.drawn(1)), jobs


def starts(policy: str | Policy) -> np.ndarray:
    replayer, jobs = crowded_jobs()
    policy = parse_policy(policy) if isinstance(policy, str) else policy
    return replace(replayer, policy=policy).replay(jobs, Cluster(16)).schedule.start


@pytest.mark.parametrize(
    ("fixed", "changing"),
    [
        ("SAF", "formula:0*wait - estimate*procs"),
        ("LCFS", "formula:submit - 0*free"),
        ("FCFS", "formula:wait"),
    ],
)
def test_an_order_that_is_scored_again_and_again_is_the_one_known_at_submission(fixed: str, changing: str) -> None:
    assert parse_policy(fixed).fixed is not None and parse_policy(changing).fixed is None
    assert (starts(fixed) == starts(changing)).all()


def test_orders_that_change_and_networks_decide() -> None:
    """WFP3 favours what has waited long for its length, fair share those who have had little; a network that orders by area does
    nearly as SAF does, also where it looks at free processors."""
    _, jobs = crowded_jobs()
    by_area = starts("SAF") - jobs.submit
    wfp3, fair = starts("WFP3") - jobs.submit, starts("fairshare") - jobs.submit
    assert wfp3.mean() > by_area.mean() and wfp3.max() < by_area.max()
    of_users = [np.mean(fair[jobs.user == user]) for user in range(4)]
    assert (fair >= 0).all() and min(of_users) > 0
    learned = starts(network_policy(smallest_area_first(LAYOUTS["plain"], 40.0, 1))) - jobs.submit
    assert abs(learned.mean() / by_area.mean() - 1) < 0.1


def test_plug_ins_are_asked_whenever_a_scheduler_runs() -> None:
    calls = []

    def shortest_while_waiting(wait: np.ndarray, estimate: np.ndarray) -> np.ndarray:
        calls.append(len(wait))
        return estimate + 0 * wait

    register_policy("shortest while waiting", shortest_while_waiting)
    assert (starts("shortest while waiting") == starts("SJF")).all() and len(calls) > JOBS


def test_what_cannot_order_says_so() -> None:
    with pytest.raises(ValueError, match="division"):
        starts("formula:1 / (wait - wait)")
    with pytest.raises(ValueError, match="leave the agent out"):
        starts(assisted("WFP3", parse_agent("pick")))


def test_the_lowest_score_has_the_highest_priority() -> None:
    priority = by_order(columns_of([Request(0), Request(1), Request(2)]), np.array([5.0, 1.0, 5.0])).priority
    assert priority[1] > priority[0] > priority[2]


# warm: Warm starts under Slurm.

BEGIN = 1000


def ones(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def warm_replay(
    site: ClusterDescription, warm: WarmStart, running: RunningJobs, asked: list[Request], waiting: int
) -> tuple[list[int], dict[str, int]]:
    """Starts of jobs of 100 s."""
    submit = np.array([one.submit_s for one in asked])
    hundred = np.full(len(asked), 100)
    jobs = Jobs(submit, hundred, np.ones_like(hundred), hundred, hundred)
    replayer = SlurmReplayer(site, cluster_arrays(site), columns_of(asked, site), Phases(0, 1), warm=warm)
    outcome = replayer.replay(jobs, Cluster(16, running, waiting=waiting))
    return outcome.schedule.start.tolist(), dict(outcome.counts)


@pytest.mark.parametrize("scenario", ["S2", "S5", "S7"])
def test_the_second_half_of_a_recorded_run_is_nearer_than_from_an_idle_cluster(scenario: str) -> None:
    half = SecondHalf(read_golden_run(shared_file("golden", "slurm", scenario, "run1")))
    real = half.real_start
    far = {}
    for warm in (True, False):
        starts = [half.start(seed, warm) for seed in range(3)]
        far[warm] = np.mean([np.abs(start - real)[(real >= 0) & (start >= 0)].mean() for start in starts])
    assert far[True] < 0.6 * far[False]


def test_running_jobs_hold_their_nodes_until_they_end() -> None:
    """Nodes a, b and d are held, and the job on one of all nodes waits for the last of them."""
    running = RunningJobs(ones(0, 500), ones(1400, 700), ones(8, 4), ones(9000, 9000), ones(9000, 9000), ones(0, 0))
    of_running = columns_of([Request(0, limit_s=9000, tasks=8), Request(500, limit_s=9000, tasks=4)])
    nodes = HeldNodes(ones(0, 2, 3), ones(0, 1, 3), ones(4, 4, 4))
    asked = [Request(900, limit_s=100, tasks=16), Request(BEGIN, limit_s=100, tasks=4, features="")]
    start, counts = warm_replay(SITE, WarmStart(of_running, nodes), running, asked, 1)
    assert start == [1400, start[1]] and BEGIN <= start[1] <= BEGIN + 1 and "running without room" not in counts

    # the scheduler chooses the nodes of those that nobody knows, and says which found none
    wide = columns_of([Request(0, limit_s=9000, tasks=8), Request(500, limit_s=9000, tasks=12)])
    start, counts = warm_replay(SITE, WarmStart(wide, no_nodes(2)), running, asked, 1)
    assert counts["running without room"] == 1 and start[0] == 1400


def test_what_accounts_have_used_orders_the_queue() -> None:
    """User u has used four times the CPUs of v, whose shares are a third: fair share prefers u after a short use only."""
    values = {"prioritytype": "priority/multifactor", "priorityweightfairshare": 1000, "prioritydecayhalflife": 10_000}
    site = replace(SITE, limits=(), scheduler=replace(SITE.scheduler, values=SITE.scheduler.values | values))
    asked = [Request(900, limit_s=100, tasks=16), Request(901, limit_s=100, tasks=16, user="v", account="y")]
    asked.append(Request(BEGIN, limit_s=100, tasks=16))
    running = RunningJobs(ones(999), ones(51), ones(16), ones(60), ones(60), ones(0))
    of_running = columns_of([Request(999, limit_s=60, tasks=16)], site)
    for used_s, first in ((900, 1), (0, 0)):
        past = columns_of([Request(0, tasks=16), Request(0, tasks=1, user="v", account="y")], site)
        ran = RanBefore(past, ones(0, 0), ones(used_s, 900), ones(16, 1))
        start, _ = warm_replay(site, WarmStart(of_running, no_nodes(1), ran), running, asked, 2)
        assert np.argmin(start) == first


def test_used_time_of_ended_jobs_counts_for_limits() -> None:
    """Account x may use 1,500 CPU-seconds, and one job has used more."""
    site = replace(SITE, limits=(Limit("account", "x", "used", "all", "cpu", 1500),))
    past = RanBefore(columns_of([Request(0, tasks=16)], site), ones(0), ones(100), ones(16))
    asked = [Request(BEGIN, limit_s=100, tasks=1)]
    nobody = WarmStart(columns_of([], site), no_nodes(0))
    assert warm_replay(site, replace(nobody, past=past), RunningJobs(), asked, 0)[0] == [-1]
    assert warm_replay(site, nobody, RunningJobs(), asked, 0)[0][0] >= BEGIN


def test_use_decays() -> None:
    whole = decayed_seconds(ones(0), ones(1000), 1000, 0.0)
    assert whole.tolist() == [1000.0] and decayed_share(ones(500), 0.0).tolist() == [1.0]
    by_second = sum((1 - 0.693 / 200) ** age for age in range(1000))
    assert decayed_seconds(ones(0), ones(1000), 1000, 200.0)[0] == pytest.approx(by_second, rel=0.01)
    assert decayed_share(ones(200), 200.0)[0] == pytest.approx(0.5, abs=0.001)


def test_running_jobs_need_a_warm_start() -> None:
    running = RunningJobs(ones(0), ones(1400), ones(8), ones(9000), ones(9000), ones(0))
    with pytest.raises(ValueError, match="of a warm start alone"):
        SlurmReplayer(SITE, cluster_arrays(SITE), columns_of([Request(9)])).replay(
            Jobs(ones(9), ones(9), ones(1), ones(9), ones(9)), Cluster(16, running)
        )


def test_a_loop_that_stops_to_learn_is_the_same_loop() -> None:
    asked = [Request(10 * k, limit_s=600 + k, tasks=1 + k % 16) for k in range(60)]
    runtime = np.array([300 + 17 * (k % 9) for k in range(60)])
    limit = np.array([600 + k for k in range(60)])
    jobs = Jobs(10 * np.arange(60), runtime, 1 + np.arange(60) % 16, limit, limit)
    replayer = SlurmReplayer(SITE, cluster_arrays(SITE), columns_of(asked), Phases.drawn(1))
    stops = []

    def drive(replay: Replay) -> None:
        replay.clock[STOPS] = STOPS_TO_LEARN
        while run_replay(replay) == WANT_ORDER:
            stops.append(int(replay.clock[NOW]))

    learning = replace(replayer, drive=drive).replay(jobs, Cluster(16)).schedule.start
    assert len(stops) > 20 and (learning == replayer.replay(jobs, Cluster(16)).schedule.start).all()
