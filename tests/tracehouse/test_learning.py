"""Trained policies and environments from Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import tracehouse
from assets.common.storage import data_folder


def test_a_policy_file_is_loaded_and_replayed(trained: Path) -> None:
    file, sha256 = tracehouse.query("SELECT file, sha256 FROM policies.scheduling_policies WHERE champion").row(0)
    policy = tracehouse.load_policy(data_folder() / file)
    assert policy.card["goal"] == "bsld"
    log = tracehouse.load_log("lublin-256")
    run = tracehouse.replay(log, policy)
    assert run.summary["policy_sha256"] == sha256
    assert run.jobs.equals(tracehouse.replay(log, "learned").jobs)


def test_a_damaged_policy_is_refused(tmp_path: Path) -> None:
    (tmp_path / "policy.json").write_text("{}")
    with pytest.raises(ValueError, match=r"policy\.json: not a policy file"):
        tracehouse.load_policy(tmp_path / "policy.json")


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
        ({"layout": "fancy"}, "unknown layout 'fancy'; expected one of paper, plain, informed"),
        ({"part": "all"}, "unknown part 'all'; expected one of learn, choose, judge"),
        ({"goal": "fun"}, "goal 'fun': expected terms"),
    ):
        with pytest.raises(ValueError, match=message):
            tracehouse.make_env(loaded, **settings)
