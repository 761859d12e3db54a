"""Layouts: what a network reads by name, and the facts of jobs."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.jobs.jobs import Jobs
from simulator.policies.network import SIGNALS
from simulator.policies.observation import (
    AGENT_LAYOUTS,
    FACTS,
    LAYOUTS,
    Layout,
    blank_network,
    facts_of,
    layout_named,
    layout_of,
    log_seconds,
)
from simulator.policies.registry import network_policy

n = np.array
JOBS = Jobs(n([0, 0]), n([10, 20]), n([1, 4]), n([15, 1023]), n([15, 1023]), facts={"memory": n([0.5, 0.25])})


@pytest.mark.parametrize("name", LAYOUTS | AGENT_LAYOUTS)
def test_a_network_remembers_its_layout(name: str) -> None:
    layout = layout_named(name)
    weights = blank_network(layout)
    assert layout_of(weights) == layout
    assert weights.w1.shape[0] == len(layout.inputs)


def test_layouts_of_agents_are_not_among_those_that_order_the_queue() -> None:
    assert all(set(layout.signals) <= set(SIGNALS) for layout in LAYOUTS.values())
    assert not set(LAYOUTS) & set(AGENT_LAYOUTS)
    for layout in AGENT_LAYOUTS.values():
        with pytest.raises(ValueError, match="this network is an agent's"):
            network_policy(blank_network(layout))


def test_facts_by_hand() -> None:
    indices = n([FACTS.index(name) for name in ("procs_share", "estimate", "memory")])
    assert facts_of(JOBS, 8, indices) is facts_of(JOBS, 8, indices)
    assert facts_of(JOBS, 8, indices).tolist() == pytest.approx(n([[0.125, 0.2, 0.5], [0.5, 0.5, 0.25]]))
    assert log_seconds(n([0, 1023])).tolist() == [0.0, 0.5]


def test_unknown_inputs_are_named() -> None:
    with pytest.raises(ValueError, match="unknown input 'colour'"):
        blank_network(Layout(("colour",), ()))
    with pytest.raises(ValueError, match="reads user, executable of each job, which these jobs do not have"):
        facts_of(JOBS, 8, n([FACTS.index("user"), FACTS.index("executable")]))
