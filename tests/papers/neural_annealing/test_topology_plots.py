"""The picture of the protocol shows the rows, and what the paper prints."""

from __future__ import annotations

import polars as pl
import pytest

from papers.neural_annealing.topology import PRINTED_SHARES, allocation_costs

ROWS = pl.DataFrame(
    [
        {"tree": tree, "protocol": protocol, "method": method, "epoch": epoch, "of_sequential": share + epoch / 10}
        for tree, lower in (("paper", 0.0), ("code", 0.05))
        for protocol in ("window", "closed_loop")
        for method, share in (("sequential", 1.0), ("SCAS, exact", 0.85 - lower))
        for epoch in (0, 1)
    ]
)


def test_a_panel_has_epochs_means_and_printed_numbers() -> None:
    window, loop = allocation_costs(ROWS).axes
    epochs, means = window.collections[2], window.collections[3]  # the second tree, which is the code's
    assert sorted(epochs.get_offsets()[:, 0].tolist()) == pytest.approx([0.8, 0.9, 1.0, 1.1])
    assert dict(zip(means.get_offsets()[:, 1].round().tolist(), means.get_offsets()[:, 0].tolist(), strict=True)) == {
        1.0: pytest.approx(1.05), 0.0: pytest.approx(0.85),
    }  # fmt: skip
    assert [text.get_text() for text in window.get_yticklabels()] == ["SCAS, exact", "sequential"]
    assert window.collections[4].get_offsets()[:, 0].tolist() == [PRINTED_SHARES["SCAS, exact"]]
    assert len(loop.collections) == 4


def test_one_protocol_is_one_panel() -> None:
    (only,) = allocation_costs(ROWS.filter(protocol="closed_loop", tree="paper")).axes
    assert only.get_title() == "each method in a cluster of its own"
