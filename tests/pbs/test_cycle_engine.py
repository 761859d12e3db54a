"""The engine of PBS's cycle starts every job in the second and on the nodes that the oracle of the cycle gives it."""

from __future__ import annotations

import pytest

from tests.pbs.cycle import cycle_starts
from tests.pbs.cycle_engine import engine_starts
from tests.pbs.cycle_workloads import cycle_workload

SITES = 100
"""Of each part."""


def assert_same_starts(seed: int) -> None:
    jobs, site = cycle_workload(seed)
    starts = {start.name: (start.start_s, tuple(sorted(start.nodes))) for start in cycle_starts(jobs, site)}
    assert engine_starts(jobs, site) == starts, (seed, site)


def test_a_hundred_random_sites_come_out_as_in_the_oracle() -> None:
    for seed in range(SITES):
        assert_same_starts(seed)


@pytest.mark.parametrize("part", range(1, 20))
def test_two_thousand_random_sites_come_out_as_in_the_oracle(part: int) -> None:
    for seed in range(part * SITES, (part + 1) * SITES):
        assert_same_starts(seed)
