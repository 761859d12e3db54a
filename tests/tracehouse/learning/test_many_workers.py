"""What workers are given."""

from __future__ import annotations

from models.scheduling.options import Recipe
from tracehouse.learning.many_workers import reports_of, training_by_ppo, with_sizes
from tracehouse.learning.settings import TrainingSettings


def test_options_become_what_workers_are_given() -> None:
    by_ppo = training_by_ppo(TrainingSettings(workers=3, sync_fraction=0.6, population=9, interval=2))
    assert by_ppo.workers.model_dump(include={"workers", "sync_fraction"}) == {"workers": 3, "sync_fraction": 0.6}  # type: ignore[attr-defined]
    assert (by_ppo.population.members, by_ppo.population.replaced) == (9, 2)  # type: ignore[attr-defined]
    recipe = Recipe().with_epochs(5)
    assert reports_of(recipe, by_ppo) == 3
    assert with_sizes(recipe, 64).ppo.trajectories == 64 and with_sizes(recipe) is recipe
    larger = with_sizes(recipe, minibatch=65_536).ppo
    assert (larger.minibatch, larger.trajectories) == (65_536, recipe.ppo.trajectories)
