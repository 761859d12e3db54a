"""A described cluster as arrays."""

from __future__ import annotations

import pytest

from simulator.cluster.arrays import NO_PARENT, UNBOUNDED, cluster_arrays, has_features
from traces.cluster.accounts import Account, AccountUser
from traces.cluster.description import ClusterDescription
from traces.cluster.nodes import Node, Partition
from traces.cluster.reservations import AdvanceReservation


def test_a_cluster_becomes_arrays() -> None:
    cluster = ClusterDescription(
        "c",
        (Node("a", 4, 1000, weight=5), Node("b", 8, 2000, {"a100": 2, "": 1}, ("ib",))),
        partitions=(Partition("all"), Partition("gpu", ("b",), max_time_s=60, tier=2, oversubscribe="exclusive")),
        accounts=(Account("x", shares=3), Account("y", parent="x")),
        members=(AccountUser("u", "y"),),
        reservations=(AdvanceReservation("r", 10, 20, nodes=("a",)),),
    )
    arrays = cluster_arrays(cluster, ["ib"])
    assert arrays.cpus.tolist() == [4, 8] and arrays.gpu_types == ("a100", "")
    assert arrays.gpus.tolist() == [[0, 0], [2, 3]]
    assert arrays.feature_nodes.tolist() == [[True, True], [False, True]]
    assert arrays.partition_nodes.tolist() == [[True, True], [False, True]]
    assert arrays.max_time.tolist() == [UNBOUNDED, 60] and arrays.exclusive.tolist() == [0, 1]
    assert arrays.parent.tolist() == [NO_PARENT, 0] and arrays.member_account.tolist() == [1]
    assert arrays.reservation_nodes.tolist() == [[True, False]]
    assert arrays.reservation_times[0, :2].tolist() == [10, 20]


@pytest.mark.parametrize(
    ("expression", "has"),
    [
        ("", True),
        ("ib", True),
        ("ib&x", False),
        ("x|ib", True),
        ("x|ib&y", False),
        ("(x|ib)&z", True),
        ("CPU-N&ib", False),
    ],
)
def test_features_of_a_node(expression: str, has: bool) -> None:
    assert has_features(expression, ("ib", "z")) is has


@pytest.mark.parametrize("expression", ["ib&", "(ib", "ib)", "[ib*2&x*1]", "a b"])
def test_a_wrong_expression_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match="features"):
        has_features(expression, ("ib",))
