"""Environments from Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import tracehouse


def test_environments_keep_gymnasiums_rules(log: Path) -> None:
    env = tracehouse.make_env(log, goal="wait", window_jobs=32)
    check_env(env, skip_render_check=True)
    _, info = env.reset(seed=1)
    ended = False
    while not ended:
        _, reward, ended, _, info = env.step(int(np.flatnonzero(info["action_mask"])[-1]))
    assert reward < 0


def test_windows_side_by_side_and_of_any_part(log: Path) -> None:
    loaded = tracehouse.load_log(log)
    envs = tracehouse.make_vec_env(loaded, 3, layout="paper", estimates="actual", part="judge", window_jobs=32)
    observations, _ = envs.reset(seed=1)
    assert observations.shape[:2] == (3, 128)
    with pytest.raises(ValueError, match="reads predicted_p10, predicted_p50, predicted_p90 of each job"):
        tracehouse.make_env(loaded, layout="informed")
    for settings, message in (
        ({"layout": "fancy"}, "unknown layout 'fancy': expected one of paper, plain, informed"),
        ({"part": "all"}, "unknown part 'all': expected one of learn, choose, judge"),
        ({"goal": "fun"}, "goal 'fun': expected terms"),
    ):
        with pytest.raises(ValueError, match=message):
            tracehouse.make_env(loaded, **settings)


@pytest.mark.parametrize("agent", ["pick:by=shortest,window=10-10", "inspect"])
def test_environments_of_agents_keep_gymnasiums_rules(log: Path, agent: str) -> None:
    env = tracehouse.make_env(log, goal="wait", window_jobs=32, agent=agent, policy="SAF")
    check_env(env, skip_render_check=True)
    rng, total, ended = np.random.default_rng(1), 0.0, False
    _, info = env.reset(seed=1)
    while not ended:
        _, reward, ended, _, info = env.step(int(rng.choice(np.flatnonzero(info["action_mask"]))))
        total += reward
    assert total < 0
    envs = tracehouse.make_vec_env(log, 3, window_jobs=32, agent=agent, layout="plain")
    assert envs.reset(seed=1)[0].shape == (3, 21 if agent.startswith("pick") else 2, 8)


def test_what_cannot_be_an_agents_environment(log: Path) -> None:
    loaded = tracehouse.load_log(log)
    for settings, message in (
        ({"agent": "pick"}, "at most 127 jobs: set window=H-T"),
        ({"agent": "guess"}, "unknown agent 'guess'; expected pick:OPTIONS or inspect:RULE"),
        ({"agent": "inspect", "policy": "best"}, "unknown policy 'best'"),
        ({"agent": "inspect", "layout": "fancy"}, "expected one of picking, inspecting, inspector-paper, paper, plain"),
        ({"agent": "inspect", "backfill": "conservative"}, "no picks that could be inspected"),
        ({"policy": "SAF"}, "give an agent, such as agent='inspect'"),
        ({"layout": "picking"}, "unknown layout 'picking': expected one of paper, plain, informed"),
    ):
        with pytest.raises(ValueError, match=message):
            tracehouse.make_env(loaded, **settings)
    with pytest.raises(TypeError):
        tracehouse.make_env(loaded, agents="inspect")
