"""A policy that is trained on the nodes of a Slurm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tracehouse
from assets.policies.settings import TrainingSettings
from assets.replaying.own.slurm.training import OTHER_PHASE
from tests.assets.replaying.own.homes import LARGE, SMALL, own_home
from tracehouse.learning.policy_training import cluster_to_train_on


def test_an_order_is_trained_and_judged_beside_slurms_priority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory, of which processors alone know nothing, makes jobs wait. Short ones first is better than Slurm's priority by submission."""
    rng = np.random.default_rng(3)
    submit = np.sort(rng.integers(0, 40_000, 320))
    runtime = np.where(rng.random(320) < 0.5, 60, 500)
    log = [
        (int(s), int(s) + 5, int(s) + 5 + int(r), LARGE if r == 60 else int(m))
        for s, r, m in zip(submit, runtime, rng.choice([SMALL, LARGE], 320), strict=True)
    ]
    own_home(tmp_path / "home", log, monkeypatch)
    assert cluster_to_train_on("mine", TrainingSettings()) == "two"
    for on_a_row in (
        TrainingSettings(cluster=""),
        TrainingSettings(learn="backfilling"),
        TrainingSettings(method="imitation"),
    ):
        assert cluster_to_train_on("mine", on_a_row) is None
    out = tmp_path / "mine.json"

    trained = tracehouse.train("mine", out, seeds=[1], goal="wait", epochs=1, window_jobs=24, trajectories=4)

    card = trained.card
    assert card["cluster"] == "two" and card["source"] == "mine"
    assert {"slurm", "SJF", "key", "this policy"} <= set(card["unseen_costs"])
    assert {OTHER_PHASE, "SJF", "WFP3", "key", "this policy"} == set(card["verdicts"]) - {"SAF", "F1"}
    assert card["unseen_costs"]["slurm"] > 60  # a row of processors has no wait at all
    replayed = tracehouse.replay("mine", f"slurm:{out}", cluster="two")
    waits = (replayed.replayed.schedule.start - replayed.replayed.jobs.submit)[card["trained_jobs"] :]
    assert waits.mean() == pytest.approx(card["unseen_costs"]["this policy"], rel=0.02)


@pytest.mark.parametrize(
    ("settings", "word"),
    [({"backfill": "none"}, "--backfill"), ({"workers": 2}, "--workers"), ({"method": "imitation"}, "imitation")],
)
def test_what_slurms_nodes_have_no_rule_for_is_refused(settings: dict, word: str) -> None:
    with pytest.raises(ValueError, match=f"with --cluster .* {word}"):
        cluster_to_train_on("mine", TrainingSettings(cluster="two", **settings))
