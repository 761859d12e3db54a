"""Tests of simulator/cluster: arrays, requests."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.cluster.arrays import NO_PARENT, UNBOUNDED, cluster_arrays, has_features
from simulator.cluster.requests import NOT_GIVEN, UNLIMITED, Request, joined_requests, request_arrays, some_requests
from traces.cluster.accounts import Account, AccountUser, ServiceQuality
from traces.cluster.description import AdvanceReservation, ClusterDescription, Node, Partition

# arrays: A described cluster as arrays.


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


def test_a_cluster_without_partitions_has_one_that_any_job_is_in() -> None:
    cluster = ClusterDescription("c", (Node("a", 4), Node("b", 8)))
    arrays = cluster_arrays(cluster)
    assert arrays.partition_nodes.tolist() == [[True, True]] and arrays.billing.tolist() == [[1.0, 0.0, 0.0, 0.0]]
    columns = request_arrays([Request(0, partitions=("batch",)), Request(1)], cluster, arrays)
    assert columns.partitions.tolist() == [[0], [0]] and columns.limit.tolist() == [UNLIMITED, UNLIMITED]


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


# requests: Requests of jobs as columns.

CLUSTER = ClusterDescription(
    "c",
    (Node("a", 4, 1000, {"a100": 2}, ("ib",)), Node("b", 8, 2000)),
    partitions=(Partition("all", is_default=True, max_time_s=600), Partition("long")),
    accounts=(Account("x"), Account("y")),
    members=(AccountUser("u", "x"), AccountUser("u", "y", is_default=True)),
    qualities=(ServiceQuality("normal"), ServiceQuality("high")),
)
ARRAYS = cluster_arrays(CLUSTER, ["ib"])


def test_words_become_places() -> None:
    asked = [
        Request(5, limit_s=60, min_nodes=2, tasks_per_node=3, user="u", qos="high"),
        Request(6, tasks=5, cpus_per_task=2, gpus={"a100": 1, "": 1}, features="ib", account="x", user="u"),
        Request(7, partitions=("long", "all"), dependencies=(("afterok", 0), ("after", 1)), user="v", priority=9),
    ]
    columns = request_arrays(asked, CLUSTER, ARRAYS)
    assert columns.tasks.tolist() == [6, 5, 1] and columns.limit.tolist() == [60, 600, UNLIMITED]
    assert columns.min_nodes.tolist() == [2, 1, 1] and columns.max_nodes.tolist() == [2, UNLIMITED, UNLIMITED]
    assert columns.account.tolist() == [1, 0, NOT_GIVEN] and columns.member.tolist() == [1, 0, NOT_GIVEN]
    assert columns.qos.tolist() == [1, 0, 0] and columns.gpus.tolist() == [[0, 0], [1, 2], [0, 0]]
    assert columns.partitions.tolist() == [[0, NOT_GIVEN], [0, NOT_GIVEN], [1, 0]] and columns.features.tolist() == [
        0,
        1,
        0,
    ]
    assert columns.first_dependency.tolist() == [0, 0, 0, 2] and columns.dependency.tolist() == [[2, 0], [0, 1]]
    assert columns.priority.tolist() == [NOT_GIVEN, NOT_GIVEN, 9] and columns.user.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    "wrong",
    [{"partitions": ("none",)}, {"qos": "none"}, {"gpus": {"k80": 1}}, {"reservation": "r"}, {"features": "opa"}],
)
def test_a_name_that_the_cluster_lacks_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"none|k80|opa"):
        request_arrays([Request(1, **wrong)], CLUSTER, ARRAYS)  # type: ignore[arg-type]


def test_requests_are_joined_and_cut() -> None:
    """Users keep their numbers, dependencies name the same jobs, and partitions are as many as the job with the most has."""
    first = [Request(1, user="u"), Request(2, user="v", dependencies=(("after", 0),))]
    second = [Request(3, user="u", partitions=("long", "all")), Request(4, user="w", dependencies=(("afterok", 0),))]
    parts = [request_arrays(asked, CLUSTER, ARRAYS) for asked in (first, second)]
    joined = joined_requests(*parts)
    assert joined.submit.tolist() == [1, 2, 3, 4] and joined.partitions.tolist()[0] == [0, NOT_GIVEN]
    assert joined.first_dependency.tolist() == [0, 0, 1, 1, 2] and joined.dependency.tolist() == [[0, 0], [2, 2]]
    some = some_requests(joined, np.array([1, 3]))
    assert some.submit.tolist() == [2, 4] and some.first_dependency.tolist() == [0, 0, 0] and not len(some.dependency)
    turned = some_requests(joined, np.array([3, 2, 0]))
    assert turned.first_dependency.tolist() == [0, 1, 1, 1] and turned.dependency.tolist() == [[2, 1]]
