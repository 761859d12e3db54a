"""The closed loop with few jobs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from papers.neural_annealing.closed_loop import (
    CLASSES,
    FREE,
    LOOPS,
    Watched,
    ideal_cost,
    joint_table,
    jointly,
    panel_table,
    reproduction_table,
)
from papers.neural_annealing.protocol import live, solving
from simulator.topology.hops import hop_cost
from simulator.topology.tree import regular_tree


@pytest.mark.parametrize("name", LOOPS)
def test_ideals_are_those_of_the_reference(name: str) -> None:
    loop = LOOPS[name]
    assert ideal_cost(loop) == pytest.approx(loop.ideal, rel=1e-3)
    assert ideal_cost(loop, 2, 10) < ideal_cost(loop) < ideal_cost(loop, by_node=True)


def test_the_ideal_is_the_cost_of_first_nodes() -> None:
    tree = regular_tree((10, 10, 10))
    costs = [1000 * hop_cost(tree, np.arange(size)) for size in (2, 3)]
    assert ideal_cost(LOOPS["paper's"], 2, 3) == np.mean(costs)
    assert ideal_cost(LOOPS["paper's"], 2, 3, by_node=True) == (2 * costs[0] + 3 * costs[1]) / 5


def test_jobs_and_nodes_together_cost_less_and_do_not_make_jobs_wait() -> None:
    loop = LOOPS["public code's"]
    lived = {FREE: live(loop, solving(loop.tree, "free", None, 300), range(100, 102), 200)}
    watches = {name: Watched(loop.tree, replace(values, tries=60)) for name, values in jointly(loop).items()}
    lived |= {name: live(loop, watched.of_epoch, range(100, 102), 200) for name, watched in watches.items()}
    own = lived["looking ahead"]
    assert own.cost.mean() < lived[FREE].cost.mean() and own.wait.mean() < lived[FREE].wait.mean()
    alone = loop.pair_cost / 2 * np.array(watches["looking ahead"].alone)
    assert len(alone) == len(own.cost) and ideal_cost(loop, 2, 2) < alone.mean() <= own.cost.mean()
    lines = joint_table(loop, lived, watches).splitlines()
    assert (
        len(lines) == 2 + 4 and f"| {own.cost.mean():,.0f} |" in lines[3] and lines[3].startswith("| looking ahead |")
    )


def test_tables_have_all_methods_and_sizes() -> None:
    loop = LOOPS["paper's"]
    lived = {name: live(loop, solving(loop.tree, name, 5, 60), range(1), 60) for name in ("sequential", "free")}
    lines = reproduction_table(loop, lived, lived).splitlines()
    assert len(lines) == 2 + 3 and lines[2].startswith("| sequential |") and "| 84,657 | 1.000 |" in lines[2]
    panel = panel_table(loop, lived).splitlines()
    assert len(panel) == 2 + 3 * (1 + len(CLASSES))
    assert panel[4].startswith("| 2 to 40 | ideal | 65,00")
