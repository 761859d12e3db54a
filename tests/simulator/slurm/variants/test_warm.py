"""Warm starts under Slurm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request
from simulator.jobs.cluster import Cluster, RunningJobs
from simulator.jobs.jobs import Jobs
from simulator.slurm.replaying import Phases, SlurmReplayer
from simulator.slurm.variants.warm import HeldNodes, RanBefore, WarmStart, decayed_seconds, decayed_share, no_nodes
from studies.slurm.golden_runs import read_golden_run
from tests.shared import shared_file
from tests.simulator.slurm.variants.golden_halves import SecondHalf
from tests.simulator.slurm_site import SITE, columns_of
from traces.cluster.accounts import Limit
from traces.cluster.description import ClusterDescription

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
