"""RLSchert's networks: shapes, weights, and who may see the future."""

from __future__ import annotations

import pytest
import torch

from papers.rlschert.networks import new_rlschert_network
from papers.rlschert.options import RLSCHERT_NETWORKS
from papers.rlschert.rules import ACTIONS, HORIZON, KILLABLE, SLOTS
from papers.rlschert.view import (
    FUTURE,
    IMAGE_COLUMNS_BESIDE,
    KILL_FACTS,
    SIGHT_FACTS,
    SLOT_FACTS,
)


@pytest.mark.parametrize("name", RLSCHERT_NETWORKS)
def test_networks_give_logits_and_values(name: str) -> None:
    torch.manual_seed(1)
    seen = torch.rand(3, HORIZON, 16 + IMAGE_COLUMNS_BESIDE) if name.startswith("image") else torch.rand(3, SIGHT_FACTS)
    logits, value = new_rlschert_network(name, 16, kills=True)(seen, torch.rand(3, FUTURE))
    assert logits.shape == (3, ACTIONS) and value.shape == (3,)
    assert logits.std() < 0.2  # nearly equal chances at first


def test_what_is_learned_of_one_slot_holds_for_the_others() -> None:
    torch.manual_seed(1)
    network, seen = new_rlschert_network("facts", 16, kills=True), torch.rand(4, SIGHT_FACTS)
    of_slots, of_places, rest = seen.split(
        [SLOTS * SLOT_FACTS, KILLABLE * KILL_FACTS, SIGHT_FACTS - SLOTS * SLOT_FACTS - KILLABLE * KILL_FACTS], 1
    )
    turned_slots = of_slots.unflatten(1, (SLOTS, SLOT_FACTS)).roll(2, 1).flatten(1)
    turned_places = of_places.unflatten(1, (KILLABLE, KILL_FACTS)).flip(1).flatten(1)
    logits, turned = network.act(seen), network.act(torch.cat([turned_slots, turned_places, rest], 1))
    assert torch.allclose(turned[:, :SLOTS], logits[:, :SLOTS].roll(2, 1), atol=1e-6)
    assert torch.allclose(turned[:, SLOTS:-1], logits[:, SLOTS:-1].flip(1), atol=1e-6)
    assert torch.allclose(turned[:, -1], logits[:, -1], atol=1e-6)
    assert (logits[:, :SLOTS].std(1) > 0).all()


@pytest.mark.parametrize("name", RLSCHERT_NETWORKS)
def test_only_the_value_is_told_of_the_future(name: str) -> None:
    torch.manual_seed(1)
    network = new_rlschert_network(name, 16, kills=True)
    seen = torch.rand(3, HORIZON, 16 + IMAGE_COLUMNS_BESIDE) if name.startswith("image") else torch.rand(3, SIGHT_FACTS)
    logits, value = network(seen, torch.zeros(3, FUTURE))
    same, other = network(seen, torch.ones(3, FUTURE))
    assert torch.equal(logits, same) and torch.equal(logits, network.act(seen))
    assert (value != other).all()


def test_the_papers_network_has_as_many_weights_as_the_paper_says() -> None:
    """557,952: 8,640 x 64 + 64 x 64 + 64 x 14, of a state of 120 x 72."""
    network = new_rlschert_network("image_mlp", 16, kills=True)
    policy = sum(p.numel() for p in network.policy.parameters()) + sum(p.numel() for p in network.head.parameters())
    assert policy == 120 * (16 + IMAGE_COLUMNS_BESIDE) * 64 + 64 * 64 + 64 * ACTIONS == 557_952


def test_an_unknown_network() -> None:
    with pytest.raises(ValueError, match="unknown network 'gpt'"):
        new_rlschert_network("gpt", 16, kills=True)
