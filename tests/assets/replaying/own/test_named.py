"""Which rules a described cluster names itself as left out."""

from __future__ import annotations

from dataclasses import replace

from assets.replaying.own.named import is_left_out, left_out_rules
from tests.simulator.busy import SITE


def test_keys_that_a_description_names() -> None:
    cluster = replace(SITE, left_out=("maxnodes=4: jobs of more nodes are refused",))
    assert is_left_out(cluster, "MaxNodes") and is_left_out(cluster, "minnodes", "maxnodes")
    assert not is_left_out(cluster, "nodes") and not is_left_out(cluster, "") and not is_left_out(SITE, "maxnodes")


def test_a_key_is_named_once_with_its_values() -> None:
    times = tuple(f"walltime=0{hour}:00:00: longer jobs are refused" for hour in range(1, 6))
    cluster = replace(SITE, left_out=(times[0], "hook=a", *times[1:], "walltime=x: no duration"))
    assert left_out_rules(cluster) == [
        "walltime=01:00:00, 02:00:00, 03:00:00 and 2 more: longer jobs are refused",
        "hook=a",
        "walltime=x: no duration",
    ]
    assert left_out_rules(SITE) == []
