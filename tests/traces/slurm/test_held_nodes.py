"""Host lists of Slurm as rows of nodes."""

import polars as pl

from traces.slurm.held_nodes import MOST_NODES_HELD, slurm_nodes_held


def test_each_job_has_a_row_for_every_node_of_its_list() -> None:
    texts = pl.Series(["n[01-03],g1", None, "g1", "n[03-01", f"n[0-{MOST_NODES_HELD}]", "g1,g1"])
    rows = slurm_nodes_held(texts)
    assert rows.select("place", "node_name").rows() == [
        (0, "n01"), (0, "n02"), (0, "n03"), (0, "g1"), (2, "g1"), (5, "g1"),
    ]  # fmt: skip
    assert rows["procs"].null_count() == rows.height


def test_no_lists_are_no_rows() -> None:
    assert slurm_nodes_held(pl.Series([None], dtype=pl.Utf8)).is_empty()
