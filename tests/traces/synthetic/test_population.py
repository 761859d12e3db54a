"""Users and programs of a large cluster: who is there when, and which sizes programs have."""

from __future__ import annotations

import numpy as np
import pytest

from traces.synthetic.centre import CENTRES
from traces.synthetic.population import (
    CLASS_SHARES,
    ONE_NODE,
    PART_OF_NODE,
    PROGRAMS_A_USER,
    SERIAL,
    SEVERAL_NODES,
    Population,
    new_population,
)


@pytest.fixture(scope="module")
def population() -> Population:
    return new_population(np.random.default_rng(1), CENTRES["falcon"])


def test_sizes_are_one_core_a_part_of_a_node_or_whole_nodes(population: Population) -> None:
    node, procs = CENTRES["falcon"].cores_per_node, population.procs
    assert (procs[population.size_class == SERIAL] == 1).all()
    part = procs[population.size_class == PART_OF_NODE]
    assert part.min() > 1 and part.max() < node
    assert (procs[population.size_class == ONE_NODE] == node).all()
    several = procs[population.size_class == SEVERAL_NODES]
    assert (several % node == 0).all() and several.min() == 2 * node and several.max() > 100 * node
    assert several.max() <= CENTRES["falcon"].procs // 2


def test_each_class_has_its_share_of_what_is_used(population: Population) -> None:
    used = np.bincount(population.size_class, population.weight, minlength=4) / population.weight.sum()
    np.testing.assert_allclose(used, CLASS_SHARES, atol=0.1)


def test_users_come_and_go_and_own_their_programs(population: Population) -> None:
    assert (np.bincount(population.user) == PROGRAMS_A_USER).all()
    weeks = [population.active(week) for week in (0, 150, 305)]
    for share in weeks:
        assert share.sum() == pytest.approx(1.0) and 50 < len(set(population.user[share > 0])) < 400
    assert not set(population.user[weeks[0] > 0]) <= set(population.user[weeks[2] > 0])


def test_nobody_there_means_everybody(population: Population) -> None:
    share = population._replace(last_week=population.first_week).active(3)
    assert share.sum() == pytest.approx(1.0) and (share > 0).all()


def test_menus_ascend_to_the_limit_and_have_values_of_days(population: Population) -> None:
    menus, limit = population.menus, CENTRES["falcon"].max_walltime_s
    assert (np.diff(menus, axis=1) >= 0).all() and (menus[:, -1] == limit).all() and menus.min() >= 300
    assert ((menus > 36 * 3600) & (menus < limit)).any()
    assert len(menus) == len(population.group) == CENTRES["falcon"].users
