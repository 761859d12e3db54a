"""Files of repair networks: what is written is read, and what does not fit is refused with the way out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from models.allocation.neural.repair_networks import REPAIR_NETWORKS, RepairNetworkName, layer_arrays, repair_layers
from models.allocation.neural.repair_policy import RepairPolicy, load_repair_policy, repair_from_bytes, repair_to_bytes
from tests.models.allocation.neural.slow_repairing import small_policy


@pytest.mark.parametrize("network", REPAIR_NETWORKS)
def test_what_is_written_is_read(network: RepairNetworkName) -> None:
    policy = small_policy(network, "paper", 100)
    content = repair_to_bytes(policy, {"seed": 1})
    read, card = repair_from_bytes(content)
    assert card == {"seed": 1} and repair_to_bytes(read, card) == content
    assert replace(read, weights=()) == replace(policy, weights=())
    assert all(np.array_equal(one, other) for one, other in zip(read.weights, policy.weights, strict=True))


def test_the_layers_are_those_of_the_network() -> None:
    torch.manual_seed(1)
    actor = repair_layers("CNN-2", 5, 30, 30)
    policy = RepairPolicy.of_actor(actor, "CNN-2", "code", 30, 40)
    for array, expected in zip(policy.layers(), layer_arrays(actor, 5, 30), strict=True):
        assert np.array_equal(array, expected)
    with torch.no_grad():
        next(actor.parameters()).zero_()
    assert policy.weights[0].any()  # a copy


@pytest.mark.parametrize(
    "changes", [{"view": "code"}, {"seen_nodes": 90}, {"network": "FCN-2"}, {"network": "CNN-1"}, {"weights": ()}]
)
def test_another_view_or_network_is_refused(changes: dict) -> None:
    wrong = replace(small_policy("FCN-1", "paper", 100), **changes)
    with pytest.raises(ValueError, match="name the network, the view and the seen nodes that were trained"):
        wrong.layers()
    with pytest.raises(ValueError, match="name the network"):
        repair_from_bytes(repair_to_bytes(wrong, {}))


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    content = repair_to_bytes(small_policy("FCN-1", "paper", 20), {})
    document = json.loads(content)
    for broken, message in (
        (content[:-100], "cut short"),
        (b"[]", "not a repair network"),
        (b"\xff\xfe", "cut short"),
        (json.dumps(document | {"format": "tracehouse repair network 9"}).encode(), "another tracehouse"),
        (json.dumps(document | {"largest": 41}).encode(), "damaged .its hash differs"),
        (json.dumps({name: document[name] for name in document if name != "card"}).encode(), "damaged .'card'"),
    ):
        with pytest.raises(ValueError, match=message):
            repair_from_bytes(broken)
    infinite = small_policy("FCN-1", "paper", 20)
    infinite.weights[0][0, 0] = np.inf
    with pytest.raises(ValueError, match="weights that are no numbers"):
        repair_from_bytes(repair_to_bytes(infinite, {}))
    path = tmp_path / "repair.json"
    with pytest.raises(ValueError, match=r"repair\.json: no such file; train"):
        load_repair_policy(path)
    path.write_bytes(content[:50])
    with pytest.raises(ValueError, match=r"repair\.json: not a repair network"):
        load_repair_policy(path)
    with pytest.raises(ValueError, match="cannot be read"):
        load_repair_policy(tmp_path)
    path.write_bytes(content)
    assert load_repair_policy(path)[0].network == "FCN-1"
