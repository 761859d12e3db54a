"""What PBS and Torque list of the nodes that a job held."""

import polars as pl
import pytest

from traces.pbs.held_nodes import pbs_nodes_held


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        (
            "(n1:ncpus=4:mem=2gb:ngpus=1+n2:ncpus=4:mem=512kb)+(n1:ncpus=1)",
            {"n1": (5, 1, 2 << 20), "n2": (4, 0, 512)},
        ),
        ("(c-0.site:ncpus=16:host=n1)", {"c-0.site": (16, 0, None)}),
        ("n1/0*16+n2/0-3+n2/7", {"n1": (16, None, None), "n2": (5, None, None)}),
        ("n1/0+n1/1+n2/0", {"n1": (2, None, None), "n2": (1, None, None)}),
        ("n1", {"n1": (1, None, None)}),
        ("n1/0+ +n2", {}),
        ("", {}),
    ],
)
def test_lists_are_summed_by_node(text: str, nodes: dict[str, tuple[int | None, ...]]) -> None:
    rows = pbs_nodes_held(pl.Series([None, text], dtype=pl.Utf8))
    assert {row[1]: row[2:] for row in rows.rows()} == nodes
    assert set(rows["place"]) <= {1}
