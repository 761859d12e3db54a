"""Users and programs of a large cluster: who is there when, and which sizes programs have."""

from __future__ import annotations

import numpy as np
import pytest

from traces.synthetic.centre import CENTRES
from traces.synthetic.community import (
    CLASS_SHARES,
    ONE_NODE,
    PART_OF_NODE,
    PROGRAMS_A_USER,
    SERIAL,
    SEVERAL_NODES,
    Community,
    new_community,
)


@pytest.fixture(scope="module")
def community() -> Community:
    return new_community(np.random.default_rng(1), CENTRES["falcon"])


def test_sizes_are_one_core_a_part_of_a_node_or_whole_nodes(community: Community) -> None:
    node, procs = CENTRES["falcon"].cores_per_node, community.procs
    assert (procs[community.size_class == SERIAL] == 1).all()
    part = procs[community.size_class == PART_OF_NODE]
    assert part.min() > 1 and part.max() < node
    assert (procs[community.size_class == ONE_NODE] == node).all()
    several = procs[community.size_class == SEVERAL_NODES]
    assert (several % node == 0).all() and several.min() == 2 * node and several.max() > 100 * node
    assert several.max() <= CENTRES["falcon"].procs // 2


def test_each_class_has_its_share_of_what_is_used(community: Community) -> None:
    used = np.bincount(community.size_class, community.weight, minlength=4) / community.weight.sum()
    np.testing.assert_allclose(used, CLASS_SHARES, atol=0.1)


def test_users_come_and_go_and_own_their_programs(community: Community) -> None:
    assert (np.bincount(community.user) == PROGRAMS_A_USER).all()
    weeks = [community.active(week) for week in (0, 150, 305)]
    for share in weeks:
        assert share.sum() == pytest.approx(1.0) and 50 < len(set(community.user[share > 0])) < 400
    assert not set(community.user[weeks[0] > 0]) <= set(community.user[weeks[2] > 0])


def test_nobody_there_means_everybody(community: Community) -> None:
    share = community._replace(last_week=community.first_week).active(3)
    assert share.sum() == pytest.approx(1.0) and (share > 0).all()


def test_menus_ascend_to_the_limit_and_have_values_of_days(community: Community) -> None:
    menus, limit = community.menus, CENTRES["falcon"].max_walltime_s
    assert (np.diff(menus, axis=1) >= 0).all() and (menus[:, -1] == limit).all() and menus.min() >= 300
    assert ((menus > 36 * 3600) & (menus < limit)).any()
    assert len(menus) == len(community.group) == CENTRES["falcon"].users
