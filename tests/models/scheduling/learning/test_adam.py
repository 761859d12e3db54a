from __future__ import annotations

import sys
from typing import Any

import pytest
import torch

from models.scheduling.learning.adam import Adam


def networks(count: int) -> list[torch.nn.Linear]:
    torch.manual_seed(1)
    first = torch.nn.Linear(7, 5)
    others = [torch.nn.Linear(7, 5) for _ in range(count - 1)]
    for other in others:
        other.load_state_dict(first.state_dict())
    return [first, *others]


def take_steps(network: torch.nn.Linear, optimiser: Any, count: int, seed: int) -> None:
    """The third of every four steps has a gradient of the weights alone."""
    draws = torch.Generator().manual_seed(seed)
    for k in range(count):
        optimiser.zero_grad()
        network.weight.grad = torch.randn(5, 7, generator=draws)
        network.bias.grad = None if k % 4 == 2 else torch.randn(5, generator=draws)
        optimiser.step()


def same(one: torch.nn.Linear, other: torch.nn.Linear) -> bool:
    return torch.equal(one.weight, other.weight) and torch.equal(one.bias, other.bias)


def groups_of(network: torch.nn.Linear) -> list[dict[str, Any]]:
    return [{"params": [network.weight], "lr": 0.01}, {"params": [network.bias], "lr": 0.003}]


@pytest.mark.parametrize(("grouped", "fused"), [(False, True), (True, True), (False, False)])
def test_steps_are_those_of_torch(grouped: bool, fused: bool) -> None:
    ours, theirs, other = networks(3)
    take_steps(ours, Adam(groups_of(ours) if grouped else ours.parameters(), 0.01, fused), 30, 2)
    take_steps(
        theirs, torch.optim.Adam(groups_of(theirs) if grouped else theirs.parameters(), 0.01, fused=fused), 30, 2
    )
    assert same(ours, theirs) and not same(ours, other)


@pytest.mark.parametrize("kept_by_torch", [False, True])
def test_a_checkpoint_goes_on(kept_by_torch: bool) -> None:
    one, whole = networks(2)
    before: Any = torch.optim.Adam(groups_of(one), fused=True) if kept_by_torch else Adam(groups_of(one))
    take_steps(one, before, 7, 3)
    kept = before.state_dict()
    kept["param_groups"][1]["lr"] = 0.02
    after = Adam(groups_of(one))
    after.load_state_dict(kept)
    assert [group["lr"] for group in after.param_groups] == [0.01, 0.02]
    take_steps(one, after, 7, 4)
    undisturbed = torch.optim.Adam(groups_of(whole), fused=True)
    take_steps(whole, undisturbed, 7, 3)
    undisturbed.param_groups[1]["lr"] = 0.02
    take_steps(whole, undisturbed, 7, 4)
    assert same(one, whole)


def test_what_is_kept_before_the_first_step_is_a_beginning() -> None:
    one, other = networks(2)
    after = Adam(one.parameters(), lr=0.01)
    after.load_state_dict(Adam(other.parameters(), lr=0.01).state_dict())
    take_steps(one, after, 3, 5)
    take_steps(other, Adam(other.parameters(), lr=0.01), 3, 5)
    assert same(one, other)


def test_the_compiler_of_torch_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch._dynamo", None)
    (network,) = networks(1)
    optimiser = Adam(network.parameters())
    take_steps(network, optimiser, 2, 6)
    optimiser.load_state_dict(optimiser.state_dict())
    with pytest.raises(ImportError):
        torch.optim.Adam(network.parameters()).step()
