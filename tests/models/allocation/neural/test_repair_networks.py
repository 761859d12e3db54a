"""The networks of Table II: weights, shapes, masks, and that compiled arrays compute the same."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from models.allocation.neural.repair_networks import (
    PRINTED_WEIGHTS,
    REPAIR_NETWORKS,
    RepairActorCritic,
    RepairNetworkName,
    counted_weights,
    layer_arrays,
    repair_layers,
)

COUNTED = {
    "FCN-1": (36_324, 42_724),
    "FCN-2": (40_484, 46_884),
    "FCN-3": (51_204, 60_804),
    "CNN-1": (71_260, None),
    "CNN-2": (71_504, None),
    "CNN-3": (117_372, None),
}


@pytest.mark.parametrize("name", REPAIR_NETWORKS)
def test_weights_are_those_of_the_printed_layers(name: RepairNetworkName) -> None:
    with_four, with_five = COUNTED[name]
    assert counted_weights(name, 4) == with_four
    if with_five is None:  # the printed number fits neither
        assert PRINTED_WEIGHTS[name] not in (counted_weights(name, 4), counted_weights(name, 5))
    else:
        assert counted_weights(name, 5) == with_five == PRINTED_WEIGHTS[name]


@pytest.mark.parametrize("name", REPAIR_NETWORKS)
@pytest.mark.parametrize("features", [4, 5])
def test_an_actor_chooses_among_legal_nodes_only(name: RepairNetworkName, features: int) -> None:
    torch.manual_seed(1)
    network = RepairActorCritic(name, features)
    legal = torch.arange(100) < torch.tensor([[100], [1], [30]])
    seen = torch.rand(3, features, 100)
    log_probs, values = network(seen, legal), network.values(seen)
    assert log_probs.shape == (3, 100) and values.shape == (3,)
    assert torch.isfinite(values).all()
    probs = log_probs.exp()
    assert torch.allclose(probs.sum(1), torch.ones(3)) and (probs[~legal] == 0).all() and (probs[legal] > 0).all()
    assert sum(isinstance(layer, nn.Tanh) for layer in network.actor) == {"FCN-1": 2, "FCN-2": 3, "FCN-3": 2}.get(
        name, 1
    )
    critic_weights = sum(weights.numel() for weights in network.critic.parameters())
    last = 256 if name.startswith("CNN") else 64
    assert counted_weights(name, features) - critic_weights == 99 * (last + 1)


@pytest.mark.parametrize("name", REPAIR_NETWORKS)
def test_arrays_compute_what_the_layers_do(name: RepairNetworkName) -> None:
    torch.manual_seed(2)
    actor = repair_layers(name, 4, 60, 60)
    arrays = layer_arrays(actor, 4, 60)
    seen = np.random.default_rng(1).random((4, 60), dtype=np.float32)
    values = seen.astype(np.float64)
    for channels, length, outputs, out_length, kernel, stride, first, bends in arrays.shape.tolist():
        assert values.size == channels * length
        values = values.reshape(channels, length)
        matrix = arrays.weights[first : first + outputs * channels * kernel].reshape(outputs, -1)
        bias = arrays.weights[first + matrix.size : first + matrix.size + outputs]
        columns = [values[:, stride * k : stride * k + kernel].ravel() for k in range(out_length)]
        values = matrix @ np.array(columns).T + bias[:, None]
        values = np.tanh(values) if bends else values
    with torch.inference_mode():
        expected = actor(torch.from_numpy(seen)[None])[0].numpy()
    np.testing.assert_allclose(values.ravel(), expected, atol=1e-6)
    if name.startswith("CNN"):
        assert len(arrays.shape) == 3  # two dense layers became one


def test_too_few_nodes_for_the_convolutions_are_refused() -> None:
    assert repair_layers("CNN-1", 4, 14, 14)(torch.zeros(1, 4, 14)).shape == (1, 14)
    with pytest.raises(ValueError, match="at least 14 seen nodes"):
        repair_layers("CNN-1", 4, 13, 13)
