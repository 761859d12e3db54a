"""Layouts: what a network reads by name, and the facts of jobs."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.jobs.jobs import Jobs
from simulator.policies.observation import FACTS, LAYOUTS, Layout, blank_network, facts_of, layout_of, log_seconds

n = np.array
JOBS = Jobs(n([0, 0]), n([10, 20]), n([1, 4]), n([15, 1023]), n([15, 1023]), facts={"memory": n([0.5, 0.25])})


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_network_remembers_its_layout(name: str) -> None:
    weights = blank_network(LAYOUTS[name])
    assert layout_of(weights) == LAYOUTS[name]
    assert weights.w1.shape[0] == len(LAYOUTS[name].inputs)


def test_facts_by_hand() -> None:
    indices = n([FACTS.index(name) for name in ("procs_share", "estimate", "memory")])
    assert facts_of(JOBS, 8, indices).tolist() == pytest.approx(n([[0.125, 0.2, 0.5], [0.5, 0.5, 0.25]]))
    assert log_seconds(n([0, 1023])).tolist() == [0.0, 0.5]


def test_unknown_inputs_are_named() -> None:
    with pytest.raises(ValueError, match="unknown input 'colour'"):
        blank_network(Layout(("colour",), ()))
    with pytest.raises(ValueError, match="reads user, executable of each job, which these jobs do not have"):
        facts_of(JOBS, 8, n([FACTS.index("user"), FACTS.index("executable")]))
