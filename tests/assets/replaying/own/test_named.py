"""Which rules a described cluster names itself as left out."""

from __future__ import annotations

from dataclasses import replace

from assets.replaying.own.named import is_left_out
from tests.simulator.busy import SITE


def test_keys_that_a_description_names() -> None:
    cluster = replace(SITE, left_out=("maxnodes=4: jobs of more nodes are refused",))
    assert is_left_out(cluster, "MaxNodes") and is_left_out(cluster, "minnodes", "maxnodes")
    assert not is_left_out(cluster, "nodes") and not is_left_out(cluster, "") and not is_left_out(SITE, "maxnodes")
