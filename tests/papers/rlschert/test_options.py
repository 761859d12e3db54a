"""Settings of RLSchert's training."""

from __future__ import annotations

from papers.rlschert.options import PAPER_OPTIONS
from papers.rlschert.rules import ACTIONS, KILLABLE, SLOTS
from papers.rlschert.workload import Workload


def test_the_papers_settings() -> None:
    """Table 4."""
    paper = PAPER_OPTIONS
    assert (paper.minibatch, paper.passes, paper.gae_lambda, paper.kl_target) == (128, 5, 0.95, 0.01)
    assert (paper.gamma, paper.rate, paper.clip) == (0.99, 1e-4, 0.2)
    assert (paper.value_weight, paper.teacher_weight, paper.entropy_weight) == (0.25, 0.5, 0.02)
    assert (SLOTS, KILLABLE, ACTIONS) == (5, 8, 14)
    assert Workload().jobs == 200
