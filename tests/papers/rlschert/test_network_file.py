"""Networks of RLSchert's paper as files."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from papers.kept_files import kept_archive, members_of, short_floats
from papers.rlschert.network_file import network_from_bytes, network_to_bytes
from papers.rlschert.networks import new_rlschert_network
from papers.rlschert.rules import HORIZON
from papers.rlschert.training import RLSchertPolicy


@pytest.fixture
def policy() -> RLSchertPolicy:
    torch.manual_seed(1)
    return RLSchertPolicy(new_rlschert_network("image_mlp", 16, False), "image_mlp", False)


def test_a_network_comes_back_with_short_weights(policy: RLSchertPolicy) -> None:
    content = network_to_bytes(policy, 16, {"seed": 1})
    other, card = network_from_bytes(content)
    assert card == {"seed": 1} and network_to_bytes(other, 16, card) == content
    for name, part in policy.network.state_dict().items():
        assert np.array_equal(short_floats(part.numpy()), other.network.state_dict()[name].numpy())


@pytest.mark.parametrize("wrong", [b"[]", b"no JSON", b"{}"])
def test_what_is_no_network_is_refused(wrong: bytes, policy: RLSchertPolicy) -> None:
    content = network_to_bytes(policy, 16, {})
    for damaged in (wrong, content.replace(b'"procs": 16', b'"procs": 18'), content[:-900]):
        with pytest.raises(ValueError, match="no network of RLSchert, or a damaged one"):
            network_from_bytes(damaged)


def test_kept_networks_decide() -> None:
    kept = {name: content for name, content in members_of(kept_archive("rlschert")).items() if name.endswith(".json")}
    assert len(kept) >= 3
    for content in kept.values():
        policy, card = network_from_bytes(content)
        assert policy.network.act(torch.zeros(1, HORIZON, 72)).shape == (1, 14) and 0 < card["iterations"] <= card["of"]
