"""Tests of traces/cluster/resizing.py."""

from __future__ import annotations

from dataclasses import replace

import pytest

from traces.cluster.description import AdvanceReservation, ClusterDescription, Node, Partition, Switch
from traces.cluster.resizing import ClusterSizes

THIN = [Node(f"n{k:02d}", 4) for k in range(1, 11)]
FAT = [Node(f"g{k}", 16, gpus={"a100": 4}) for k in range(1, 4)]
MIXED = ClusterDescription(
    "mixed",
    (*THIN, *FAT),
    (
        Partition("all"),
        Partition("thin", tuple(node.name for node in THIN)),
        Partition("gpu", tuple(node.name for node in FAT)),
    ),
    reservations=(
        AdvanceReservation("maint", 0, 10, nodes=("n10",)),
        AdvanceReservation("class", 0, 9, nodes=("g1", "g3")),
    ),
    switches=(Switch("s1", tuple(node.name for node in THIN)), Switch("s2", ("g1", "g2", "g3"))),
)


def test_a_percentage_adds_to_each_kind_in_proportion() -> None:
    sizes = ClusterSizes(MIXED)
    more = sizes.nearest(round(MIXED.num_cpus * 1.32))
    grown = sizes.resized(more)
    assert (more, grown.num_cpus) == (4, 88 + 3 * 4 + 16)
    assert sizes.words(more) == "+ 4 nodes, +31.8 % of the CPUs: n[11-13] as n10, g4 as g3"
    assert [node.name for node in grown.nodes] == [
        *(f"n{k:02d}" for k in range(1, 14)),
        *(f"g{k}" for k in range(1, 5)),
    ]
    assert grown.nodes[-1] == replace(FAT[0], name="g4")
    assert grown.partition_named("thin").nodes[-3:] == ("n11", "n12", "n13")
    assert grown.partition_named("gpu").nodes == ("g1", "g2", "g3", "g4") == grown.switches[1].nodes
    assert grown.partition_named("all").nodes == ()


def test_the_last_ones_of_each_kind_go_but_for_one() -> None:
    sizes = ClusterSizes(MIXED)
    shrunk = sizes.resized(-4)
    assert sizes.words(-4) == "- 4 nodes, -31.8 % of the CPUs: g3,n[08-10]"
    assert shrunk.num_cpus == sizes.procs(-4) == 88 - 16 - 3 * 4
    assert [each.nodes for each in shrunk.reservations] == [("g1",)]  # without nodes it would be of all
    assert sizes.nearest(1) == -11 and sizes.procs(-11) == 20
    with pytest.raises(ValueError, match=r"1 node would be left of the 13 .* 2 nodes with 20 CPUs are the fewest"):
        sizes.resized(-12)


@pytest.mark.parametrize("more", range(-11, 30))
def test_a_size_is_one_cluster_however_it_was_asked_for(more: int) -> None:
    sizes = ClusterSizes(MIXED)
    assert sizes.nearest(sizes.procs(more)) == more
    assert sizes.resized(more).num_cpus == sizes.procs(more)


def test_vnodes_of_a_host_come_together_and_names_are_new() -> None:
    vnodes = [Node(f"h{k}[{j}]", 8, host=f"h{k}", features=(f"host=h{k}", "ib")) for k in (1, 2) for j in (0, 1)]
    cluster = ClusterDescription("v", (*vnodes, Node("fat", 8)), (Partition("q", ("h2[1]",)),))
    grown = ClusterSizes(cluster).resized(3)
    assert ClusterSizes(cluster).machines == 3
    assert [node.name for node in grown.nodes] == [
        *("h1[0]", "h1[1]", "h3[0]", "h3[1]", "h2[0]", "h2[1]", "h4[0]", "h4[1]", "fat", "fat-2")
    ]
    assert grown.nodes[6].features == ("host=h4", "ib") and grown.nodes[6].host == "h4"
    assert grown.partition_named("q").nodes == ("h2[1]", "h4[1]")
