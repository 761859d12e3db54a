"""What changed is listed value by value."""

from dataclasses import replace

from traces.cluster.accounts import Account, AccountUser, Limit, ServiceQuality
from traces.cluster.description import ClusterDescription, SchedulerSettings
from traces.cluster.differing import ChangedValue, changed_values
from traces.cluster.nodes import Node, Partition

CLUSTER = ClusterDescription(
    "one",
    tuple(Node(f"n{k}", 16, 64000) for k in range(1, 9)),
    (Partition("batch", is_default=True, max_time_s=3600), Partition("gpu", ("n1",))),
    (Account("physics"),),
    (AccountUser("fred", "physics"),),
    (ServiceQuality("normal"),),
    (Limit("cluster", "", "running", "user", "cpu", 256, source="qmgr.txt:1"),),
    licences={"matlab": 4},
    scheduler=SchedulerSettings("pbs", "23.06.06", {"backfill_depth": 1}),
)


def test_a_description_is_itself() -> None:
    moved = replace(CLUSTER, name="two", limits=(replace(CLUSTER.limits[0], source="other:7"),))
    assert changed_values(CLUSTER, moved) == ()


def test_every_change_is_one_line() -> None:
    after = replace(
        CLUSTER,
        nodes=(*(replace(node, memory_mib=128000) for node in CLUSTER.nodes[:7]), Node("new", 8, gpus={"a100": 2})),
        partitions=(
            replace(CLUSTER.partitions[0], max_time_s=None, nodes=("n1", "n2", "n3", "n4", "n5")),
            CLUSTER.partitions[1],
        ),
        members=(AccountUser("fred", "physics", shares=7), AccountUser("ada", "physics")),
        qualities=(),
        limits=(replace(CLUSTER.limits[0], bound=128), Limit("partition", "gpu", "job", "job", "gpu", 2)),
        licences={},
        scheduler=SchedulerSettings("pbs", "23.06.06", {"backfill_depth": 3, "by_queue": True}),
    )
    assert [str(row) for row in changed_values(CLUSTER, after)] == [
        "~ node n[1-7]: memory_mib: 64000 -> 128000",
        "- node n8: cores 16, memory_mib 64000, cpus 16",
        "+ node new: cores 8, gpus a100 2, cpus 8",
        "~ partition batch: nodes: none -> n[1-5]",
        "- partition batch: max_time_s: 3600",
        "- QOS normal: as usual",
        "~ user fred in physics: shares: 1 -> 7",
        "+ user ada in physics: account physics",
        "~ limit cluster running cpu of each user: 256 -> 128",
        "+ limit partition gpu job gpu of each job: 2",
        "- licence matlab: 4",
        "~ scheduler backfill_depth: 1 -> 3",
        "+ scheduler by_queue: True",
    ]


def test_names_that_no_hostlist_has_stay_as_they_are() -> None:
    parts = replace(CLUSTER, nodes=(Node("n1[0]", 8), Node("n1[1]", 8)), partitions=())
    more = replace(parts, nodes=tuple(replace(node, memory_mib=64) for node in parts.nodes))
    assert [str(row) for row in changed_values(parts, more)] == ["~ node n1[0], n1[1]: memory_mib: 0 -> 64"]


def test_the_order_of_nodes_counts() -> None:
    turned = replace(CLUSTER, nodes=CLUSTER.nodes[::-1])
    assert changed_values(CLUSTER, turned) == (ChangedValue("order of nodes", "as before", "another one"),)
