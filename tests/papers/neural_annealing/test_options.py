"""Options of the repair operator's training: the paper's numbers, and what each variant means."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from papers.neural_annealing.options import RepairOptions
from simulator.topology.tree import fat_tree


def test_the_defaults_are_those_of_the_paper() -> None:
    options = RepairOptions()
    assert (options.actor_rate, options.critic_rate, options.gamma, options.passes, options.clip) == (
        3e-4,
        1e-3,
        0.99,
        80,
        0.2,
    )
    assert (options.seen_nodes, options.most_removed, options.network) == (100, 2, "CNN-3")


def test_a_variant_decides_what_is_seen_and_what_a_window_is() -> None:
    tree = fat_tree(4)
    paper, code = RepairOptions(), RepairOptions(variant="code", integer=True, largest=20)
    assert not paper.problem(tree).code_view and code.problem(tree).code_view
    assert not paper.problem(tree).integer and code.problem(tree).integer
    assert (paper.problem(tree).largest, code.problem(tree).largest) == (40, 20)
    assert paper.most_jobs is None and code.most_jobs == 2
    assert RepairOptions(variant="code", window_jobs=4).most_jobs == 4


@pytest.mark.parametrize("wrong", [{"variant": "both"}, {"network": "CNN-4"}, {"seen_nodes": 13}, {"siblings": 0}])
def test_wrong_options_are_refused(wrong: dict) -> None:
    with pytest.raises(ValidationError):
        RepairOptions(**wrong)
