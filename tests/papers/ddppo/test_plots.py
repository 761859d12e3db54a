"""Pictures of DD-PPO show what the tables hold."""

from __future__ import annotations

import polars as pl
import pytest

from papers.ddppo.plots import boxes, reward_curves


def test_rewards_are_drawn_over_decisions_of_all_epochs() -> None:
    rows = pl.DataFrame(
        [
            {
                "experiment": "ddppo, bsld",
                "variant": variant,
                "seed": seed,
                "epoch": epoch,
                "sampled_cost": 10.0 / epoch,
                "decisions": 500_000,
            }
            for variant in ("population", "ppo")
            for seed in (1, 2)
            for epoch in (1, 2, 3)
        ]
    )
    (ax,) = reward_curves(rows).axes
    assert [line.get_label() for line in ax.lines] == ["our population", "our PPO"]
    for line in ax.lines:
        assert list(line.get_xdata()) == [0.5, 1.0, 1.5]
        assert list(line.get_ydata()) == pytest.approx([10.0, 5.0, 10.0 / 3])


def test_boxes_show_each_window_once_and_utilisation_upwards() -> None:
    """Learned policies are those for the metric; their seeds are averaged before."""
    rows = [
        {"goal": metric, "policy": policy, "seed": seed, "window_number": k, "cost": cost * (k + 1)}
        | {"trained_on": None if seed is None else "large"}
        for metric, cost in (("bsld", 2.0), ("wait", 3.0), ("turnaround", 4.0), ("utilisation", -0.1))
        for policy, seed in (("SAF", None), ("ppo, for bsld", 1), ("ppo, for bsld", 2), ("ppo, for wait", 1))
        for k in range(5)
    ]
    figure = boxes(pl.DataFrame(rows, infer_schema_length=None))
    names = [[label.get_text() for label in ax.get_xticklabels()] for ax in figure.axes]
    assert names == [["SAF", "our\nPPO"], ["SAF", "our\nPPO"], ["SAF"], ["SAF"]]
    others = [row | {"trained_on": "larger"} for row in rows if row["seed"]]
    labels = boxes(pl.DataFrame(rows + others, infer_schema_length=None)).axes[0].get_xticklabels()
    assert [label.get_text() for label in labels] == ["SAF", "our\nPPO\nlarge", "our\nPPO\nlarger"]
    means = [line for line in figure.axes[3].lines if line.get_marker() == "o"]
    assert list(means[0].get_ydata()) == pytest.approx([0.3])
