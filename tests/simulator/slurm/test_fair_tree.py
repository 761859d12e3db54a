"""Fair share as a tree."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.slurm.fair_tree import add_usage, classic_factors, decay_of, fair_tree_factors


def test_users_are_ranked_by_the_tree_and_equal_ones_share_a_rank() -> None:
    # accounts 0 and 1, users 2 and 3 of account 0, user 4 of account 1, user 5 at the top
    parent = np.array([-1, -1, 0, 0, 1, -1])
    shares = np.array([3, 1, 1, 1, 1, 1])
    usage = np.zeros(6)
    assert fair_tree_factors(parent, shares, usage, 2).tolist() == [1.0, 1.0, 1.0, 1.0]
    add_usage(usage, parent, 2, 100.0)
    add_usage(usage, parent, 4, 10.0)
    assert usage.tolist() == [100.0, 10.0, 100.0, 0.0, 10.0, 0.0]
    assert fair_tree_factors(parent, shares, usage, 2).tolist() == [0.25, 0.5, 0.75, 1.0]


def test_usage_decays() -> None:
    assert decay_of(3600, 3600) == pytest.approx(0.5, abs=1e-3)
    assert decay_of(3600, 0) == 1.0


def test_classic_fair_share_takes_usage_of_the_account_in_part() -> None:
    # one account of two with two users each, as on the documentation's page: half of the shares, all of the usage
    parent, shares = np.array([-1, -1, 0, 0, 1]), np.array([1, 1, 1, 1, 1])
    usage = np.array([100.0, 0.0, 100.0, 0.0, 0.0])
    factors = classic_factors(parent, shares, usage, 2, 1)
    # effective usage 1 and 0.5, shares 0.25 each
    assert factors.tolist() == [2.0**-4, 2.0**-2, 1.0]
    assert classic_factors(parent, shares, usage, 2, 2).tolist() == [0.25, 0.5, 1.0]
