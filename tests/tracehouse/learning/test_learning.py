"""Tests of tracehouse/learning: environments, policy_training, training, tuning."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import tracehouse
from assets.common.trace import load_trace
from assets.policies.registry import champion_row
from assets.policies.settings import TrainingSettings
from models.scheduling.options import Recipe
from simulator.policies.registry import parse_policy
from tests.pipelines.command_line import fail
from tests.tiny import busy_log, warehouse_of
from tests.tracehouse.cli.commands.test_train import QuickRecipe
from tracehouse.learning import policy_training
from tracehouse.learning.policy_training import JobsToTrain, reports_of, train_policy, training_by_ppo, with_sizes

# environments: Environments from Python.


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


@pytest.mark.parametrize("setting", ["goal", "backfill", "estimates", "agent", "policy"])
def test_a_setting_is_text(log: Path, setting: str) -> None:
    """A function is no goal, though other libraries take one."""
    with pytest.raises(TypeError, match=rf"{setting} <function .*: expected text"):
        tracehouse.make_env(log, **{setting: lambda: None})  # type: ignore[arg-type]


# many_workers: What workers are given.


def test_options_become_what_workers_are_given() -> None:
    by_ppo = training_by_ppo(TrainingSettings(workers=3, sync_fraction=0.6, population=9, interval=2))
    assert by_ppo.workers.model_dump(include={"workers", "sync_fraction"}) == {"workers": 3, "sync_fraction": 0.6}  # type: ignore[attr-defined]
    assert (by_ppo.population.members, by_ppo.population.replaced) == (9, 2)  # type: ignore[attr-defined]
    recipe = Recipe().with_epochs(5)
    assert reports_of(recipe, by_ppo) == 3
    assert with_sizes(recipe, 64).ppo.trajectories == 64 and with_sizes(recipe) is recipe
    larger = with_sizes(recipe, minibatch=65_536).ppo
    assert (larger.minibatch, larger.trajectories) == (65_536, recipe.ppo.trajectories)


# policy_training: What becomes of the champion of a source when a policy that orders the queue is trained on it.


def test_an_order_challenges_the_champion_of_its_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an agent does. One for something else leaves the champion, and a log by its path has none."""
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    warehouse = warehouse_of(tmp_path, busy_log(900))
    monkeypatch.setattr(policy_training, "open_warehouse", lambda: warehouse)
    monkeypatch.setattr(policy_training, "_rivals", lambda setup, policies, best: ("key", {}))
    monkeypatch.setattr(policy_training, "_judged", lambda setup, best, key: {})
    jobs = JobsToTrain("mine", load_trace(warehouse, "mine"), is_loaded=True)

    def happened(**changes: object) -> str | None:
        settings = TrainingSettings(epochs=1, seeds=[1], window_jobs=48, trajectories=8, **changes)  # type: ignore[arg-type]
        return train_policy(jobs, settings, None, None).happened

    assert happened() == "the first policy of this source is champion"
    assert happened() == "the same training as before: nothing changes"
    before = champion_row(warehouse, "mine", "order")
    said = happened(goal="wait")
    assert said is not None and said.startswith("the champion is for something else and stays: train with --goal bsld")
    assert champion_row(warehouse, "mine", "order") == before
    challenged = happened(start="nothing")
    assert challenged is not None and challenged.startswith("challenger")
    assert happened(rules="rlscheduler") is None


# training: Training from Python is that of the command.


def test_what_is_in_hand_is_trained_on(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log object that knows its cluster, and settings of the command by name."""
    monkeypatch.setattr("tracehouse.learning.policy_training.Recipe", QuickRecipe)
    loaded = tracehouse.load_log(log, procs=24)
    policy = tracehouse.train(loaded, seeds=[1], goal="wait", epochs=1, window_jobs=32, method="evolution")
    assert (policy.path, policy.card["cluster_procs"], policy.card["goal"]) == (Path("busy-evolution.json"), 24, "wait")
    assert tracehouse.replay(loaded, policy).policy == "busy-evolution.json"
    with pytest.raises(TypeError, match=r"train\(\) has no setting epoch: expected some of learn, agent"):
        tracehouse.train(loaded, epoch=1)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="a log has no predicted run times"):
        tracehouse.train(loaded, estimates="predicted")
    with pytest.raises(ValueError, match="expected different numbers"):
        tracehouse.train(loaded, seeds=[1, 1])


# tuning: Settings of a cluster, or constants of an order, are searched.


def test_an_order_of_a_row_of_processors_is_adapted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    drawn = np.random.default_rng(1).integers(1, 600, (300, 3))
    jobs = [
        f"{n} {n * 90} 0 {a} {1 + b % 8} -1 -1 {1 + b % 8} {a + 7 * c} -1 1 {c % 5} 1 1 1 1 -1 -1"
        for n, (a, b, c) in enumerate(drawn, 1)
    ]
    log = tmp_path / "log.swf"
    log.write_text("; MaxProcs: 8\n" + "\n".join(jobs) + "\n")
    tuned = tracehouse.tune(log, policy="searched:balanced", trials=8)
    assert tuned.settings.tried == 8 and tuned.settings.replays >= 9
    assert all(parse_policy(edit) for edit in tuned.settings.edits)
    order = tracehouse.tune(log, trials=3)  # it refused: no cluster is described, whose settings could be searched
    assert (
        "no cluster is described, whose settings could be searched: constants of the order searched:"
        in capsys.readouterr().err
    )
    assert order.settings.tried == 3 and order.settings.knobs[0].template.startswith("formula:")
    log.write_text("; MaxProcs: 8\n" + "\n".join(jobs[:50]) + "\n")
    assert "a search needs 200 or more" in fail("tune", log, "--policy", "searched:balanced")
