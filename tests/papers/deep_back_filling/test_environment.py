"""Deep Back-Filling's episodes behind the Gymnasium face, by its own checker and beside the episodes that training plays."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="the extra `gym` is not installed")
from gymnasium.utils.env_checker import check_env

from papers.deep_back_filling.environment import PlacingEnv, PlacingVectorEnv
from papers.deep_back_filling.episodes import PlacingBatch, PlacingRules
from simulator.jobs.schedule import CANCELLED
from tests.papers.deep_back_filling.small import JOBS
from tests.simulator.busy import PROCS

RULES = PlacingRules(front=4, back=2, placed=40, later=150)


def test_the_standard_checker_passes() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bounds and render modes, which nothing here has
        check_env(PlacingEnv(JOBS, PROCS, RULES))


def test_episodes_are_those_of_the_batch_and_begin_again() -> None:
    """Placing the first job that fits, or letting time go on; every episode again by itself in a batch."""
    several, alike = (PlacingVectorEnv(JOBS, PROCS, 3, RULES) for _ in range(2))
    seen, info = several.reset(seed=3)
    alike.reset(seed=3)
    total, ended, firsts = np.zeros(3), 0, []
    while ended < 6:
        assert info["action_mask"][:, -1].tolist() == (~several._ended).tolist()
        action = info["action_mask"].argmax(axis=1)
        again = alike.step(action)
        seen, reward, over, cut, info = several.step(action)
        assert np.array_equal(seen, again[0]) and np.array_equal(reward, again[1]) and not cut.any()
        assert several.observation_space.contains(seen)
        total += reward
        for e in np.flatnonzero(over):
            batch = PlacingBatch(JOBS, PROCS, 1, RULES)
            sight, expected = batch.reset(several._first[e : e + 1]), 0.0
            while sight.asking[0]:
                sight = batch.step(np.append(sight.fits[0], True).argmax(keepdims=True))
                expected += sight.reward[0]
            assert total[e] == pytest.approx(expected)
            assert np.array_equal(several._batch.start[e], batch.start[0])
            firsts.append(int(several._first[e]))
            total[e], ended = 0.0, ended + 1
    assert len(set(firsts)) > 3


def test_slots_that_hold_no_fitting_job_are_refused_and_nobody_waits_for_ever() -> None:
    env = PlacingEnv(JOBS, PROCS, RULES)
    _, info = env.reset(seed=1)
    over = False
    while not over:
        wrong = np.flatnonzero(~info["action_mask"])
        if len(wrong):
            with pytest.raises(ValueError, match=f"action {wrong[0]} is masked"):
                env.step(int(wrong[0]))
        _, reward, over, _, info = env.step(RULES.slots)
        assert reward <= 0
    assert (env._many._batch.start != CANCELLED).sum() == RULES.placed


def test_usual_episodes_are_those_that_training_plays() -> None:
    with pytest.raises(ValueError, match="1 to 1200 jobs"):
        PlacingEnv(JOBS, PROCS)
