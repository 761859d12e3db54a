"""What a training leaves: a card, a file and a curve for every seed, and one champion."""

from __future__ import annotations

import json

from assets.common.storage import data_folder
from assets.policies.adoption import POLICY_CARD
from assets.policies.lessons import filtered_setup
from assets.policies.registry import learned_policies
from assets.policies.scheduling_policy import SchedulingPolicyConfig
from assets.policies.training import PolicyTask
from models.scheduling.policy_file import policy_from_bytes, policy_to_bytes
from tests.tiny import SOURCE
from warehouse import Warehouse


def test_cards_files_and_curves_belong_together(warehouse: Warehouse) -> None:
    with warehouse.read() as connection:
        rows = connection.sql("FROM policies.scheduling_policies ORDER BY seed").pl()
        curve = connection.sql("FROM policies.training_curve").pl()
    assert rows["seed"].to_list() == [1, 2] and rows["champion"].sum() == 1
    for row in rows.iter_rows(named=True):
        _, card = policy_from_bytes((data_folder() / row["file"]).read_bytes())
        assert tuple(card) == POLICY_CARD and all(card[name] == row[name] for name in POLICY_CARD if name in row)
        costs = curve.filter(seed=row["seed"], epoch=row["best_epoch"])["validation_cost"].to_list()
        assert costs == [row["validation_cost"]] or row["best_epoch"] == 0
    assert curve.height == 2 * 3 and not list((data_folder() / "models" / SOURCE).glob("*.checkpoint"))
    learned = learned_policies(warehouse, SOURCE)
    assert [policy.sha256 for policy in learned] == rows["sha256"].to_list()


def test_the_same_windows_and_seed_give_the_stored_file(warehouse: Warehouse) -> None:
    """Byte for byte, whoever trains."""
    with warehouse.read() as connection:
        row = connection.sql("FROM policies.scheduling_policies WHERE seed = 2").pl().row(0, named=True)
    setup = filtered_setup(warehouse, SOURCE, PolicyTask(estimates="predicted"))
    config = SchedulingPolicyConfig(ppo={"epochs": 3, "filtered_epochs": 1, "trajectories": 8})  # type: ignore[arg-type]
    (policy,) = setup.train(config.recipe(), [2])
    card = setup.card(policy, POLICY_CARD, parameters=json.dumps(policy.trained.parameters))
    assert policy_to_bytes(policy.trained.weights, card) == (data_folder() / row["file"]).read_bytes()
