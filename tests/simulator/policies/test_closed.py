"""Policies in closed replays: scores that look at submissions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simulator.engine.replay import OrderReplayer
from simulator.jobs.followers import NO_JOB
from simulator.policies.closed import closed_policy
from simulator.policies.registry import AT_SUBMISSION, Policy, parse_policy
from simulator.policies.scoring import FIXED
from tests.simulator.busy import PROCS, busy_jobs
from tests.simulator.engine.test_replay_closed import closed_as, jobs_of, replayed


@pytest.mark.parametrize("name", AT_SUBMISSION)
def test_formulas_of_policies_are_the_policies_to_the_last_digit(name: str) -> None:
    jobs = busy_jobs(500)
    policy, formula = parse_policy(name), parse_policy(f"formula:{AT_SUBMISSION[name]}")
    assert policy.fixed is not None and formula.fixed is not None
    shift = jobs.origin if name == "LCFS" else 0
    assert np.array_equal(policy.fixed(jobs, PROCS) + shift, formula.fixed(jobs, PROCS))


def test_plug_ins_that_look_at_submissions_look_at_those_of_the_replay(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(
        "import numba\n\ndef late(submit, procs):\n    return procs * 1.0 - submit\n\n"
        "@numba.njit\ndef compiled(submit, procs):\n    return procs - submit\n\ndef wide(procs):\n    return -procs\n"
    )
    jobs = busy_jobs(200, users=20)
    closed, _ = closed_as(jobs, PROCS, OrderReplayer("FCFS"))
    expected = replayed(closed, "formula:submit - procs", PROCS)
    assert replayed(closed, f"{file}:late", PROCS) == expected == replayed(closed, f"{file}:compiled", PROCS)
    wide = parse_policy(f"{file}:wide")
    assert closed_policy(wide, closed, PROCS) is wide
    assert replayed(closed, wide, PROCS) == replayed(closed, "largest", PROCS)


def test_scores_that_cannot_be_computed_in_the_replay_are_refused() -> None:
    jobs = jobs_of([0, 1], [10, 10], [NO_JOB, 0], [0, 5])
    own = Policy("own", FIXED, lambda jobs, cluster_procs: -jobs.submit)
    with pytest.raises(ValueError, match="own: its scores are known before the replay and look at submissions"):
        replayed(jobs, own)
    assert closed_policy(own, jobs.without_followers(), 4) is own


def test_a_formula_that_fails_in_the_replay_says_so() -> None:
    with pytest.raises(ValueError, match="submit = 15"):
        replayed(jobs_of([0, 1], [10, 10], [NO_JOB, 0], [0, 5]), "formula:1 / (submit - 15)")
