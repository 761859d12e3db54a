"""Environments by their ids, as other libraries ask for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import tracehouse  # noqa: F401 - registers the ids
from tracehouse.gym_ids import ENVIRONMENTS

PROJECT = Path(__file__).resolve().parents[2]
OWN: dict[str, dict[str, Any]] = {
    "Queue": {"window_jobs": 32},
    "Backfilling": {"window_jobs": 32},
    "Inspector": {"window_jobs": 32},
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_an_id_makes_one_environment_and_several(name: str, bundled: Path) -> None:
    env = gymnasium.make(f"tracehouse/{name}-v0", **OWN.get(name, {}))
    observation, info = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    masks = env.get_wrapper_attr("action_masks")()
    assert np.array_equal(masks, info["action_mask"])
    if not masks.all():
        with pytest.raises(ValueError, match="is masked"):
            env.step(int(np.argmin(masks)))
    env.step(env.action_space.sample())
    several = gymnasium.make_vec(f"tracehouse/{name}-v0", num_envs=3, **OWN.get(name, {}))
    assert several.reset(seed=1)[0].shape == (3, *observation.shape)
    several.step(several.action_space.sample())


@pytest.mark.parametrize("first", ["tracehouse, gymnasium", "gymnasium, tracehouse"])
def test_ids_are_known_in_any_order_of_imports(first: str) -> None:
    code = (
        f"import sys, {first}; print(gymnasium.spec('tracehouse/Queue-v0').kwargs); "
        "print([m for m in ('numba', 'polars', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert (done.stdout.splitlines(), done.stderr) == (["{'log': 'lublin-256'}", "[]"], "")
