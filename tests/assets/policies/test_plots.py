"""Figures of training are drawn from what the tables hold."""

from __future__ import annotations

from assets.policies import plots
from warehouse import Warehouse


def test_training_curves_have_a_line_per_seed(warehouse: Warehouse) -> None:
    with warehouse.read() as connection:
        curve = connection.sql("SELECT * EXCLUDE (source) FROM policies.training_curve").pl()
    top, bottom = plots.training_curve(curve).axes
    assert [line.get_label() for line in top.lines] == ["seed 1", "seed 2"]
    assert len(bottom.lines) == 2 and top.get_ylabel().startswith("bsld")


def test_the_filter_s_range_is_marked(warehouse: Warehouse) -> None:
    with warehouse.read() as connection:
        score = connection.sql("SELECT sjf_cost FROM policies.trajectory_windows").pl()["sjf_cost"].to_numpy()
    (ax,) = plots.trajectory_distribution(score, 2.0, 9.0, "bsld").axes
    assert sum(patch.get_height() for patch in ax.patches[:60]) == len(score)
    assert "kept: (2.00, 9.00)" in [text.get_text() for text in ax.get_legend().get_texts()]
