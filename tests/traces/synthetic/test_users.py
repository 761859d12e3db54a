"""Users and their batches: everything adds up, and users differ as they should."""

from __future__ import annotations

import numpy as np
import pytest

from traces.synthetic.users import (
    MAX_BATCH_JOBS,
    assign_executables,
    assign_users,
    batch_lengths,
    cut_batches,
    submission_order,
    user_activity,
)


@pytest.mark.parametrize("jobs", [1, 2, 50, 5000])
def test_batches_add_up(jobs: int) -> None:
    rng = np.random.default_rng(jobs)
    lengths = batch_lengths(rng, jobs)
    assert lengths.sum() == jobs and lengths.min() >= 1 and lengths.max() <= MAX_BATCH_JOBS
    sizes, run_times = rng.integers(1, 64, jobs), rng.integers(1, 10**5, jobs)
    procs, means = cut_batches(rng, sizes, run_times, lengths)
    assert set(procs.tolist()) <= set(sizes.tolist())
    assert (means * lengths).sum() == pytest.approx(run_times.sum())
    users = assign_users(rng, means, user_activity(rng, 5))
    assert len(users) == len(lengths) and users.min() >= 0 and users.max() < 5
    order = submission_order(rng, np.sort(rng.random(jobs) * 1e6), users, lengths)
    assert np.bincount(order, minlength=len(lengths)).tolist() == lengths.tolist()


def test_shares_of_users_add_up_and_few_do_most() -> None:
    shares = np.sort(user_activity(np.random.default_rng(1), 100))[::-1]
    assert shares.sum() == pytest.approx(1) and shares[:10].sum() > 0.5


def test_no_two_users_share_a_program() -> None:
    rng = np.random.default_rng(2)
    lengths = batch_lengths(rng, 3000)
    means = rng.random(len(lengths)) * 1000
    users = assign_users(rng, means, user_activity(rng, 8))
    programs = assign_executables(means, users, lengths)
    owners = {(int(program), int(user)) for program, user in zip(programs, users, strict=True)}
    assert len(owners) == len({program for program, _ in owners}) == programs.max()
    assert len(owners) > len(set(users.tolist()))
