"""AssignedEstimates: what Tsafrir, Etsion and Feitelson found in logs must be found in ours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traces.synthetic.estimates import AssignedEstimates, assign_estimates, user_menus

DAY = 86_400


def make_jobs(seed: int, batches: int = 3000, median_s: float = 2000.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Run times, users and batches of jobs: lognormal batches of one to eight jobs by 40 users."""
    rng = np.random.default_rng(seed)
    batch = np.repeat(np.arange(batches), rng.integers(1, 9, batches))
    user = rng.integers(0, 40, batches)[batch]
    batch_run_time = rng.lognormal(np.log(median_s), 1.5, batches)
    run_times = np.maximum(batch_run_time[batch] * rng.lognormal(0.0, 0.3, len(batch)), 1).astype(np.int64)
    return np.minimum(run_times, 2 * DAY), user, batch


def make_estimates(seed: int, median_s: float = 2000.0) -> tuple[AssignedEstimates, np.ndarray, np.ndarray, np.ndarray]:
    run_times, user, batch = make_jobs(seed, median_s=median_s)
    return assign_estimates(np.random.default_rng(seed), run_times, user, batch, 2 * DAY), run_times, user, batch


@pytest.mark.parametrize("median_s", [20.0, 500.0, 5000.0])
@pytest.mark.parametrize("seed", range(3))
def test_estimates_are_modal_and_the_maximum_leads(seed: int, median_s: float) -> None:
    estimates, *_ = make_estimates(seed, median_s)
    values, counts = np.unique(estimates.requested_walltime_s, return_counts=True)
    assert np.sort(counts)[-20:].sum() / counts.sum() >= 0.85
    assert len(values) > 20  # some users type odd values
    assert counts[values == 2 * DAY][0] == counts.max()
    assert 0.15 <= counts.max() / counts.sum() <= 0.45


def test_requests_cover_run_times_and_the_killed_keep_their_request() -> None:
    estimates, run_times, _, _ = make_estimates(4)
    requested, resulting = estimates
    assert (resulting <= requested).all() and (resulting >= 1).all()
    np.testing.assert_array_equal(resulting, np.minimum(run_times, requested))
    assert 0.01 <= (resulting == requested).mean() <= 0.12


def test_used_share_is_spread_out_between_its_two_peaks() -> None:
    estimates, *_ = make_estimates(5, median_s=8000.0)
    thoughtful = estimates.requested_walltime_s < 2 * DAY
    used = (estimates.run_times_s / estimates.requested_walltime_s)[thoughtful]
    middle = np.histogram(used, np.arange(0.1, 0.91, 0.1))[0] / len(used)
    assert middle.max() / middle.min() < 3.0  # near uniform
    assert (used == 1.0).mean() > 0.03  # killed
    everyone = np.histogram(estimates.run_times_s / estimates.requested_walltime_s, np.linspace(0, 1, 11))[0]
    assert everyone[0] > everyone[1:9].max()  # short jobs under the maximum


def test_a_batch_has_one_estimate_and_users_repeat_theirs() -> None:
    estimates, _, user, batch = make_estimates(6)
    for number in range(0, 3000, 50):
        assert len(np.unique(estimates.requested_walltime_s[batch == number])) <= 1
    for number in range(40):
        mine = estimates.requested_walltime_s[user == number]
        assert len(np.unique(mine)) <= 10 < len(mine)


@settings(max_examples=40, deadline=None)
@given(st.integers(60, 500_000), st.integers(0, 2**32))
def test_any_maximum_gives_menus_below_it_that_end_with_it(max_walltime_s: int, seed: int) -> None:
    for menu in user_menus(np.random.default_rng(seed), 5, max_walltime_s):
        assert menu[-1] == max_walltime_s and menu[0] >= 60 and (np.diff(menu) > 0).all()


def test_bad_arguments_name_themselves() -> None:
    rng, one = np.random.default_rng(0), np.ones(1, dtype=np.int64)
    with pytest.raises(ValueError, match="max_walltime_s is 59"):
        assign_estimates(rng, one, one, one, 59)
    with pytest.raises(ValueError, match="2, 1 and 1 entries"):
        assign_estimates(rng, np.ones(2, dtype=np.int64), one, one, 3600)


def test_no_jobs_no_estimates() -> None:
    none = np.empty(0, dtype=np.int64)
    estimates = assign_estimates(np.random.default_rng(0), none, none, none, 3600)
    assert len(estimates.requested_walltime_s) == len(estimates.run_times_s) == 0
