"""Actor and critic: shapes, and nothing shared."""

from __future__ import annotations

import torch

from papers.deep_back_filling.networks import ActorCritic, actor_of, layers_of


def test_shapes_and_first_chances() -> None:
    torch.manual_seed(1)
    network = ActorCritic(40, 5, (16, 8))
    logits, values = network(torch.rand(7, 40))
    assert logits.shape == (7, 5) and values.shape == (7,)
    assert [layer.out_features for layer in network.actor if isinstance(layer, torch.nn.Linear)] == [16, 8, 5]
    assert [layer.out_features for layer in network.critic if isinstance(layer, torch.nn.Linear)] == [16, 8, 1]
    assert (torch.softmax(logits, dim=1) - 0.2).abs().max() < 0.01


def test_actor_and_critic_share_nothing() -> None:
    network = ActorCritic(4, 3, (6,))
    network(torch.rand(2, 4))[1].sum().backward()
    assert all(parameter.grad is None for parameter in network.actor.parameters())
    assert all(parameter.grad is not None for parameter in network.critic.parameters())


def test_half_precision_is_close_and_its_gradients_are_float32() -> None:
    torch.manual_seed(1)
    network = ActorCritic(40, 5, (64, 32))
    seen = torch.rand(50, 40)
    with torch.no_grad():
        network.actor[-1].weight *= 100
        exact, close = network(seen), network(seen, half=True)
    for one, other in zip(exact, close, strict=True):
        assert other.dtype == torch.float32
        assert 0 < (one - other).abs().max() < 0.02 * one.std() + 0.02
    network(seen, half=True)[0].sum().backward()
    assert all(parameter.grad is None or parameter.grad.dtype == torch.float32 for parameter in network.parameters())


def test_an_actor_made_of_its_layers_is_the_same() -> None:
    actor, seen = ActorCritic(9, 4, (16, 8)).actor, torch.rand(6, 9)
    with torch.no_grad():
        assert torch.equal(actor_of(layers_of(actor))(seen), actor(seen))
