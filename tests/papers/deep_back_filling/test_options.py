"""Options of Deep Back-Filling: the paper's, and what cannot be."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from papers.deep_back_filling.options import DeepBackFillingOptions


def test_defaults_are_the_papers() -> None:
    options = DeepBackFillingOptions()
    assert (options.hidden, options.gamma, options.minibatch, options.rate, options.clip) == (
        (1024, 512, 256),
        0.99,
        128,
        3e-4,
        0.2,
    )
    assert (options.placed, options.update_episodes, options.checkpoint_every, options.test_episodes) == (
        1000,
        1,
        5000,
        100,
    )
    assert (options.gae_lambda, options.passes, options.entropy_weight, len(options.seeds)) == (0.95, 4, 0.0, 5)


def test_every_field_says_what_it_is() -> None:
    assert all(field.description for field in DeepBackFillingOptions.model_fields.values())


def test_all_readings_are_documented() -> None:
    text = DeepBackFillingOptions.__doc__ or ""
    assert all(f"\n    {k}. " in text for k in range(1, 10))


def test_rules_are_those_of_the_options() -> None:
    options = DeepBackFillingOptions(front=3, back=2, use_weight=0.5, placed=7, longest_s=60)
    rules = options.placing_rules(50)
    assert (rules.front, rules.back, rules.slots, options.slots, rules.placed, rules.later) == (3, 2, 5, 5, 7, 50)
    assert rules.weights == (0.5, 1 / 3, 1 / 3) and rules.longest_s == 60 and rules.threads == 1


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(ValidationError, match="front \\+ back"):
        DeepBackFillingOptions(front=0, back=0)
    with pytest.raises(ValidationError, match="placed \\(1000\\)"):
        DeepBackFillingOptions(training_later=999)
