"""Tests of simulator/slurm/variants/submitted: orders that look at submissions which are not known before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request
from simulator.jobs.cluster import Cluster
from simulator.jobs.followers import NO_JOB
from simulator.jobs.jobs import Jobs
from simulator.policies.closed import looks_at_submissions
from simulator.policies.registry import FIXED_SCORES, parse_policy, register_policy
from simulator.slurm.replaying import Phases, SlurmReplayer
from simulator.slurm.variants.submitted import priorities
from tests.simulator.busy import SITE, columns_of


def whole_jobs() -> tuple[SlurmReplayer, Jobs]:
    """Jobs of all nodes, 100 s each. The second one follows the first, and comes after the others."""
    asked = [Request(second, limit_s=300, min_nodes=4, max_nodes=4, exclusive=True) for second in range(5)]
    hundred, limit = np.full(5, 100), np.array([300, 310, 320, 330, 340])
    after = np.array([NO_JOB, 0, NO_JOB, NO_JOB, NO_JOB])
    jobs = Jobs(np.arange(5), hundred, np.full(5, 16), limit, limit, after=after, think=np.array([0, 5, 0, 0, 0]))
    return SlurmReplayer(SITE, cluster_arrays(SITE), columns_of(asked), Phases(20, 59)), jobs


def order(policy: str) -> list[int]:
    replayer, jobs = whole_jobs()
    outcome = replace(replayer, policy=parse_policy(policy)).replay(jobs, Cluster(16))
    assert outcome.submit is not None and outcome.submit.tolist() == [0, 105, 2, 3, 4]
    return np.argsort(outcome.schedule.start).tolist()


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("FCFS", [0, 2, 3, 4, 1]),
        ("LCFS", [0, 4, 1, 3, 2]),  # the last of them starts before the second one comes
        ("formula:-submit", [0, 2, 3, 4, 1]),
        ("F1", [0, 2, 3, 4, 1]),
        ("SJF", [0, 2, 1, 3, 4]),
        ("formula:wait", [0, 2, 3, 4, 1]),
    ],
)
def test_a_job_has_its_place_by_its_submission_in_the_replay(policy: str, expected: list[int]) -> None:
    assert order(policy) == expected


def test_which_orders_look_at_submissions() -> None:
    _, jobs = whole_jobs()
    names = {*FIXED_SCORES, "bounded-key", "random", "formula:estimate*procs", "formula:-min(submit, 1)"}
    looking = {name for name in names if looks_at_submissions(parse_policy(name), jobs, 16)}
    assert looking == {"FCFS", "LCFS", "F1", "F2", "F3", "F4", "bounded-key", "formula:-min(submit, 1)"}


def test_priorities_are_in_the_order_of_scores_and_none_is_below_zero() -> None:
    score = np.array([-1e300, -5.0, -1e-9, 0.0, 1e-9, 3.0, 4.0, 1e9, 1e300])
    assert (np.diff(priorities(score)) < 0).all() and (priorities(score) > 0).all()
    assert (priorities(np.arange(9) - 4) == priorities(np.arange(9) - 4.0)).all()
    assert priorities(np.array([-0.0])) == priorities(np.array([0.0]))


def test_what_scores_all_jobs_at_once_is_refused() -> None:
    def earliest(submit: np.ndarray) -> np.ndarray:
        return submit - submit.min()

    register_policy("earliest", earliest)
    with pytest.raises(ValueError, match=r"policy earliest scores all jobs at once.*formula:TEXT"):
        order("earliest")


def test_a_formula_that_fails_for_a_submission_says_so() -> None:
    with pytest.raises(ValueError, match="division"):
        order("formula:1 / (105 - submit)")
