"""A formula out of a network: it makes most of the choices of one that is such a formula."""

from __future__ import annotations

import numpy as np
import pytest

from models.scheduling.arena import Arena, Windows
from models.scheduling.distil import fit_formula
from models.scheduling.learning.imitation import imitate
from models.scheduling.options import ImitationOptions
from simulator.jobs.jobs import Jobs
from simulator.policies.observation import LAYOUTS, Layout, blank_network
from simulator.policies.registry import FIXED_SCORES
from tests.simulator.busy import random_weights


def test_a_copied_heuristic_comes_back_as_a_formula(arena: Arena, jobs: Jobs) -> None:
    shown = Windows(np.arange(0, 400, 20), 100)
    sjf = np.asarray(FIXED_SCORES["SJF"](jobs), dtype=np.float64)
    weights = imitate(arena, [shown], [sjf], LAYOUTS["plain"], ImitationOptions(), 1)
    found, again = (fit_formula(arena, weights, shown, 1) for _ in range(2))
    assert found == again and found.agreement > 0.75 and found.decisions > 300
    later = Windows(np.array([450, 600]), 150)
    costs = arena.costs(found.formula, later).mean()
    assert costs == pytest.approx(arena.costs(weights, later).mean(), rel=0.5)
    assert costs < 0.6 * arena.costs("LJF", later).mean()


def test_what_cannot_be_a_formula(arena: Arena) -> None:
    with pytest.raises(ValueError, match="does not read procs"):
        fit_formula(arena, blank_network(Layout(("estimate",), ("wait",))), Windows(np.array([0]), 40), 1)
    with pytest.raises(ValueError, match="met no choice"):
        fit_formula(arena, random_weights(), Windows(np.array([0]), 1), 1)
