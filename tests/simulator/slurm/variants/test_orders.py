"""Orders of ours in the place of Slurm's priority."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from models.scheduling.learning.recipes import smallest_area_first
from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.policies.agents import parse_agent
from simulator.policies.observation import LAYOUTS
from simulator.policies.registry import Policy, assisted, network_policy, parse_policy, register_policy
from simulator.slurm.replaying import Phases, SlurmReplayer
from simulator.slurm.variants.orders import by_order
from tests.simulator.slurm_site import SITE, columns_of

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
