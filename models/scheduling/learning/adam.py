"""Adam (Kingma and Ba 2015) by torch's own steps, without torch's class: that imports torch's compiler, which takes about a second
of every process that trains."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.optim.adam import adam


class Adam:
    """Steps and state are those of torch.optim.Adam, bit for bit. A parameter without a gradient stays as it is."""

    def __init__(self, parameters: Iterable[Any], lr: float = 1e-3, fused: bool = True) -> None:
        """parameters: of networks, or groups of them as torch.optim.Adam takes them. lr: the rate of those that have none. fused:
        as torch has it, all parts of a step in one."""
        given = list(parameters)
        groups = given if given and isinstance(given[0], dict) else [{"params": given}]
        self.param_groups: list[dict[str, Any]] = [{"lr": lr, **group} for group in groups]
        self._fused = fused
        self._state: dict[torch.nn.Parameter, dict[str, torch.Tensor]] = {}

    def zero_grad(self) -> None:
        """Forgets the gradients."""
        for parameter in self._parameters():
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Moves the parameters against their gradients."""
        for group in self.param_groups:
            moved = [parameter for parameter in group["params"] if parameter.grad is not None]
            states = [self._state.setdefault(parameter, _state_at_first(parameter)) for parameter in moved]
            steps, means, squares = ([state[name] for state in states] for name in ("step", "exp_avg", "exp_avg_sq"))
            gradients = [parameter.grad for parameter in moved]
            if moved:
                adam(
                    moved, gradients, means, squares, [], steps,
                    fused=self._fused, amsgrad=False, maximize=False,
                    lr=group["lr"], beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.0,
                )  # fmt: skip

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps, as torch has it: parameters are numbered."""
        number = {parameter: k for k, parameter in enumerate(self._parameters())}
        groups = [{"lr": group["lr"], "params": [number[p] for p in group["params"]]} for group in self.param_groups]
        return {"state": {number[parameter]: state for parameter, state in self._state.items()}, "param_groups": groups}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`. It also takes what torch.optim.Adam has kept."""
        parameters = self._parameters()
        self._state = {
            parameters[k]: {name: value.clone() for name, value in kept.items()} for k, kept in state["state"].items()
        }
        for group, kept in zip(self.param_groups, state["param_groups"], strict=True):
            group["lr"] = kept["lr"]

    def _parameters(self) -> list[torch.nn.Parameter]:
        return [parameter for group in self.param_groups for parameter in group["params"]]


def _state_at_first(parameter: torch.nn.Parameter) -> dict[str, torch.Tensor]:
    """Steps so far, and running means of the gradient and of its square."""
    return {
        "step": torch.zeros(()),
        "exp_avg": torch.zeros_like(parameter),
        "exp_avg_sq": torch.zeros_like(parameter),
    }
