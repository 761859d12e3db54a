"""Networks that decide as a rule does, before they have learned anything."""

from __future__ import annotations

from simulator.policies.agents import FIRST, NARROWEST, OLDEST, REJECT, SHORTEST, SMALLEST, UNFIT, Agent
from simulator.policies.network import KernelWeights
from simulator.policies.observation import Layout


def smallest_area_first(layout: Layout, sharpness: float, seed: int) -> KernelWeights:
    """A network that orders by area, smallest first.

    The first unit of every layer hands the area on. The others are as new, and count for nothing yet. Raises ValueError for a
    layout without the area.
    """
    import torch

    from models.scheduling.learning.networks import new_policy_network, to_weights

    if "area" not in layout.inputs:
        raise ValueError(
            "a network can start from saf only where it reads the area: choose --layout plain or informed, or another --start"
        )
    torch.manual_seed(seed)
    weights = to_weights(new_policy_network("kernel", len(layout.inputs)), layout)
    layers = ((weights.w1, weights.b1), (weights.w2, weights.b2), (weights.w3, weights.b3))
    for (matrix, bias), carries in zip(layers, (layout.inputs.index("area"), 0, 0), strict=True):
        matrix[:, 0], bias[0] = 0.0, 0.0
        matrix[carries, 0] = 1.0
    weights.w4[:] = 0.0
    weights.w4[0] = -sharpness
    return weights


READ_BY_RULE = {OLDEST: ("wait", -1.0), SHORTEST: ("estimate", 1.0), NARROWEST: ("procs", 1.0), SMALLEST: ("area", 1.0)}
"""The input by which each picking rule decides, and whether the least (1) or the most goes first."""
NEVER_NO = 2.0
"""By how much more than the largest of those inputs no counts against itself, in units of the input."""


def rule_network(agent: Agent, layout: Layout, sharpness: float, seed: int) -> KernelWeights:
    """A network that picks, or inspects, as the agent's rule does. It never picks none.

    `first` picks by the longest wait, which is the first by slot where the policy is FCFS and the window has a front alone. The first
    units of every layer hand the inputs on; the others are as new, and count for nothing yet. Raises ValueError for a layout
    that lacks what the rule reads, and for a rule that no network can start from.
    """
    import torch

    from models.scheduling.learning.networks import new_policy_network, to_weights

    if agent.picking.by:
        name, sign = READ_BY_RULE[OLDEST if agent.picking.by == FIRST else agent.picking.by]
        units = [({name: sign, "answers_no": NEVER_NO}, 1.0 if sign < 0.0 else 0.0)]
    elif agent.inspecting.by == UNFIT:  # to accept what does not fit, and to reject what does
        units = [({"fits": -1.0, "answers_no": -1.0}, 1.0), ({"fits": 1.0, "answers_no": 1.0}, -1.0)]
    else:
        units = [({"answers_no": -1.0}, 1.0)] if agent.inspecting.by == REJECT else [({"answers_no": 1.0}, 0.0)]
    missing = [name for reads, _ in units for name in reads if name not in layout.inputs]
    if missing:
        raise ValueError(
            f"a network can start from this rule only where it reads {', '.join(missing)}: choose another layout"
        )
    torch.manual_seed(seed)
    weights = to_weights(new_policy_network("kernel", len(layout.inputs)), layout)
    weights.w4[:] = 0.0
    for unit, (reads, bias) in enumerate(units):
        for matrix, biases in ((weights.w1, weights.b1), (weights.w2, weights.b2), (weights.w3, weights.b3)):
            matrix[:, unit], biases[unit] = 0.0, 0.0
            matrix[unit, unit] = 1.0
        weights.w1[unit, unit], weights.b1[unit] = 0.0, bias
        for name, weight in reads.items():
            weights.w1[layout.inputs.index(name), unit] = weight
        weights.w4[unit] = -sharpness
    return weights
