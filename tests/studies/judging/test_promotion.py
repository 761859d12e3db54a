"""The study of promotions, with few runs."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from models.judging.judge import takes_over
from studies.judging import promotion
from studies.judging.promotion import Counts, counted, larger_cluster, nothing_learned, shorter_waits


def test_rewards_are_shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.ndarray] = []
    monkeypatch.setattr(promotion.Learner, "update", lambda self, recorded, rewards, rng: seen.append(rewards))
    learner = object.__new__(promotion.ShuffledLearner)
    rewards = np.arange(40.0)
    learner.update(None, rewards, np.random.default_rng(1))
    assert sorted(seen[0]) == rewards.tolist() and not np.array_equal(seen[0], rewards)


def test_a_training_of_nothing_is_judged_on_the_jobs_that_confirm() -> None:
    judgement = nothing_learned(3).judgement
    assert judgement.panels[0] != judgement.incumbents[0], "the chosen epoch is another policy"
    assert not takes_over(judgement)


def test_shorter_waits_are_promoted_and_a_larger_cluster_is_better() -> None:
    counts = counted(range(5), partial(shorter_waits, jobs=10_000))
    assert counts.promoted >= 4 and counts.dominated >= counts.promoted >= counts.certain
    assert larger_cluster(1, 4000, 16).judgement.verdict.ratios[0].wait < 0.8


def test_a_line_tells_the_share_and_its_error() -> None:
    assert str(Counts(200, 46, 5, 2)) == "200 | 23.0% | 2.5% +- 2.2% | 1.0%"
