"""Tests of tracehouse/cli/commands: distil, train, train_workers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from assets.policies.settings import TrainingSettings
from models.scheduling.options import HindsightOptions, KeySearchOptions, Recipe
from models.scheduling.policy_file import policy_to_bytes
from simulator.policies.observation import LAYOUTS, blank_network
from tests.assets.replaying.own.homes import LARGE, PBS_CLUSTER, SMALL, own_home
from tests.pipelines.command_line import fail, succeed, use_home
from tests.tiny import busy_log
from tracehouse.learning.policy_training import training_by_ppo

QUICK = ("--epochs", "2", "--seeds", "1,2", "--window-jobs", "48")
"""Options of a short training."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with the source `mine`; tests may read it."""
    folder = tmp_path_factory.mktemp("train")
    with pytest.MonkeyPatch.context() as patch:
        use_home(patch, folder / "home")
        (folder / "mine.swf").write_text(busy_log(900))
        succeed("ingest", folder / "mine.swf", "--time-zone", "UTC")
        yield folder


@pytest.fixture(scope="module")
def policy(home: Path) -> Path:
    path, picture = home / "policy.json", home / "curve.png"
    text = succeed("train", "mine", "--out", path, "--plot", picture, *QUICK)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert (
        "bsld of 448 held-out jobs in a replay of the log, easy, requested times" in text and f"policy: {path}" in text
    )
    assert "one replay of the whole log, over its later 450 jobs" in text
    return path


# distil: `tracehouse distil`: a policy as a formula that replays as a policy does.


def test_distil(policy: Path) -> None:
    text = succeed("distil", policy, "mine")
    formula = text.splitlines()[0]
    assert formula.startswith("formula:") and "of the policy's" in text
    assert "one replay of the whole log, over its later 450 jobs" in text
    found = json.loads(succeed("distil", policy, "mine", "--json"))
    assert set(found["verdicts"]) == {"SAF", "policy", "formula"}
    assert found["formula"] == formula and 0 < found["agreement"] <= 1
    assert "average_wait_s" in json.loads(succeed("replay", "mine", "--policy", formula, "--json"))


def test_a_formula_is_judged_in_the_place_of_its_pbs(
    policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As PBS would have it: memory makes jobs wait, of which a row of processors knows nothing."""
    rng = np.random.default_rng(3)
    submit, short = np.sort(rng.integers(0, 40_000, 320)), rng.random(320) < 0.5
    own_home(
        tmp_path / "home",
        [
            (int(s), int(s) + 5, int(s) + (60 if c else 500), LARGE if c else SMALL)
            for s, c in zip(submit, short, strict=True)
        ],
        monkeypatch,
        PBS_CLUSTER,
    )
    text = succeed("distil", policy, "mine")
    assert "each over that of PBS" in text and "the policy itself has no line: PBS takes no order that changes" in text
    assert set(json.loads(succeed("distil", policy, "mine", "--json"))["verdicts"]) == {"SAF", "formula"}


def test_what_cannot_be_a_formula(home: Path) -> None:
    path = home / "code.json"
    text = succeed("train", "mine", "-o", path, *QUICK, "--rules", "rlscheduler")
    assert "distil" not in text and "--rules rlscheduler" in text
    assert "trained under the RLScheduler rules" in fail("distil", path, "mine")


# train: `tracehouse train` and `tracehouse distil`, and what they leave behind.


def test_a_policy_file_has_a_card_and_replays(home: Path, policy: Path) -> None:
    card = json.loads(policy.read_text())["card"]
    assert (card["source"], card["goal"], card["trained_jobs"]) == ("mine", "bsld", 450)
    assert set(card["unseen_costs"]) == {"SAF", "FCFS", "SJF", "F1", "key", "ppo, all seeds", "this policy"}
    words = {
        "dominates",
        "dominates, certain",
        "trades",
        "harms",
        "worse",
        "no difference",
        "no significant difference",
    }
    rivals = {"SJF", "SAF", "F1", "EASY-SJBF", "bounded-key", "key", "this policy"}
    assert set(card["verdicts"]) == rivals and set(card["verdicts"].values()) <= words
    found = json.loads(succeed("replay", "mine", "--policy", policy, "--json"))
    assert found["policy"] == str(policy) and found["jobs_seen_in_training"] == 450
    code = json.loads(succeed("replay", home / "mine.swf", "--policy", policy, "--rules", "rlscheduler", "--json"))
    assert code["jobs"] == 900 and code["average_bounded_slowdown"] > 1
    assert not list(home.glob(".policy.json.checkpoint*"))


def test_the_same_training_gives_the_same_file(home: Path, policy: Path) -> None:
    again = home / "again.json"
    succeed("train", "mine", "-o", again, *QUICK)
    assert again.read_bytes() == policy.read_bytes()


class QuickRecipe(Recipe):
    """Searches fewer keys and orders than a user's training, which no option of the command does."""

    key: KeySearchOptions = KeySearchOptions(random_keys=20, steps=10)
    hindsight: HindsightOptions = HindsightOptions(orders=100)
    hindsight_windows: int = 20


def test_methods_goals_and_rules(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracehouse.learning.policy_training.Recipe", QuickRecipe)
    path, quick = home / "other.json", ("--epochs", "1", "--seeds", "1", "--window-jobs", "48")
    for asked in (
        ("--method", "evolution", "--goal", "wait:max_user"),
        ("--method", "imitation", "--backfill", "none"),
        ("--rules", "rlscheduler", "--goal", "utilisation_as_coded"),
        ("--paper",),
    ):
        card = json.loads(succeed("train", "mine", "-o", path, "--json", *quick, *asked))
        assert card["file"] == str(path) and card["key"].startswith("formula:")
    assert card["parameters"]["ppo"]["passes"] == 80


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--goal", "speed"), "goal 'speed': expected terms"),
        (("--seeds", "1,x"), "--seeds '1,x': expected whole numbers"),
        (("--seeds", "1,1"), "different numbers"),
        (("--estimates", "predicted"), "no predicted run times"),
        (("--layout", "informed"), "predicted_p10"),
        (("--backfill", "conservative"), "conservative"),
        (("--paper", "--method", "evolution"), "--paper is for ppo"),
        (("--method", "evolution", "--start", "nothing"), "let them start from the key"),
        (("--estimates", "live"), "cannot follow live ones"),
        (("--estimates", "predicted:p33"), "unknown quantile"),
        (("--rules", "rlscheduler", "--estimates", "actual"), "know requested times only"),
        (("--rules", "rlscheduler", "--backfill", "esay"), "backfilling none or easy"),
        (("--method", "imitation", "--start", "nothing", "--backfill", "conservative"), "conservative"),
    ],
)
def test_what_is_wrong_is_said(asked: tuple[str, ...], said: str, home: Path) -> None:
    assert said in fail("train", "mine", "--out", home / "none.json", *QUICK, *asked)
    assert not (home / "none.json").exists()
    assert "unknown source 'nobody'" in fail("train", "nobody")


def test_a_file_that_is_no_policy(home: Path, policy: Path) -> None:
    bad = home / "bad.json"
    bad.write_bytes(policy.read_bytes()[:300])
    assert "bad.json: not a policy file, or one that is cut short" in fail("replay", "mine", "--policy", bad)
    assert "bad.json" in fail("distil", bad, "mine")


def test_agents_are_kept_and_replayed(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By name, by file, and what is said where none is kept."""
    monkeypatch.setattr("tracehouse.learning.policy_training.Recipe", QuickRecipe)
    wanted = "train one with `tracehouse train mine --learn {}`"
    assert wanted.format("backfilling") in fail("replay", "mine", "--backfill", "learned")
    assert wanted.format("inspector") in fail("replay", "mine", "--inspector", "learned")
    path, quick = tmp_path / "agent.json", ("--epochs", "1", "--seeds", "2", "--window-jobs", "48")
    agent = ("--learn", "backfilling", "--agent", "pick:by=shortest,window=8-8")
    said = succeed("train", "mine", "-o", path, *agent, *quick)
    assert "--backfill learned: the first agent that picks of this source is champion" in said
    told = [json.loads(succeed("replay", "mine", "--backfill", who, "--json")) for who in ("learned", str(path))]
    assert told[0]["backfill"] == "learned" and told[0]["average_wait_s"] == told[1]["average_wait_s"]
    assert told[0]["jobs_seen_in_training"] == 450
    succeed("replay", "mine", "--backfill", "learned", "--save", "with-agent")
    succeed("replay", "mine", "--save", "easy")
    assert "with-agent (B) against easy (A)" in succeed("compare", "mine", "easy", "with-agent")
    found = json.loads(succeed("train", "mine", "-o", path, "--json", *agent, *quick))
    assert found["champion"] == "the same training as before: nothing changes"
    assert "cannot decide together" in fail("replay", "mine", "--policy", policy_file(home), "--backfill", "learned")


def policy_file(home: Path) -> Path:
    """An ordering network that nobody has trained."""
    path = home / "order.json"
    path.write_bytes(policy_to_bytes(blank_network(LAYOUTS["plain"]), {}))
    return path


def test_a_log_is_trained_on_by_its_path(
    home: Path, policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `replay` takes it: the same policy as that of the source, and no agent is kept, since nothing knows the log."""
    monkeypatch.chdir(tmp_path)
    said = succeed("train", home / "mine.swf", *QUICK)
    assert f"replay it: tracehouse replay {home / 'mine.swf'} --policy mine-ppo.json" in said and "distil" not in said
    cards = [json.loads(file.read_text())["card"] for file in (Path("mine-ppo.json"), policy)]
    assert cards[0] == cards[1] | {"source": "mine.swf"}
    assert "a log has no predicted run times" in fail("train", home / "mine.swf", "--estimates", "predicted")
    assert "gone.swf: no such log file, and no source" in fail("train", "gone.swf")


# train_workers: `tracehouse train --workers`: the policy of one process, on many; and what cannot be asked of them.

SHORT = ("--epochs", "2", "--seeds", "1", "--window-jobs", "48", "--trajectories", "64")


def test_a_training_on_two_workers_that_can_be_repeated(home: Path) -> None:
    """With a stop rule the machine decides which windows are left out. The policy says which, and they can be left out again."""
    first = home / "first.json"
    succeed("train", "mine", "-o", first, "--workers", "2", "--sync-fraction", "0.4", *SHORT)
    card = json.loads(first.read_text())["card"]
    assert card["parameters"]["workers"] == {"workers": 2, "sync_fraction": 0.4, "backlog_policy": None}
    by_ppo = training_by_ppo(TrainingSettings(workers=2, repeat=first))
    assert by_ppo.repeated == card["parameters"]["families_done"]  # type: ignore[attr-defined]
    assert not list(home.glob(".first.json.checkpoint*"))
    assert "trained on 2 workers" in fail(
        "train", "mine", "-o", home / "other.json", "--workers", "3", "--repeat", first, *SHORT
    )


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--workers", "2", "--method", "evolution"), "--workers is about ppo"),
        (("--sync-fraction", "0.5"), "give --workers, too"),
        (("--workers", "2", "--interval", "3"), "give --population, too"),
        (("--workers", "2", "--launcher", "ray", "--torchrun", "srun torchrun"), "leave one of them out"),
        (("--workers", "0"), "0 is not in the range"),
        (("--population", "1"), "1 is not in the range"),
        (("--workers", "2", "--trajectories", "10"), "a multiple of 4"),
        (
            ("--method", "evolution", "--trajectories", "16"),
            "--trajectories is about ppo: leave --method evolution out",
        ),
        (("--method", "imitation", "--minibatch", "64"), "--minibatch is about ppo: leave --method imitation out"),
        (("--population", "2", "--minibatch", "512"), "--population tunes the size of minibatches"),
        (("--workers", "9", "--trajectories", "32"), "at least 36 trajectories"),
        (("--workers", "2", "--backlogs", "NONSENSE"), "NONSENSE"),
    ],
)
def test_what_is_wrong_is_said_of_train_workers(asked: tuple[str, ...], said: str, home: Path) -> None:
    assert said in fail("train", "mine", "-o", home / "none.json", "--window-jobs", "48", *asked)


def test_workers_that_end_are_said_in_a_line(home: Path) -> None:
    said = fail("train", "mine", "-o", home / "none.json", "--workers", "2", "--torchrun", "false", *SHORT)
    assert "(false ended with 1)" in said and "the same command goes on" in said


def test_a_policy_of_one_process_has_nothing_to_repeat(home: Path) -> None:
    policy = home / "alone.json"
    succeed("train", "mine", "-o", policy, "--epochs", "1", "--seeds", "1", "--window-jobs", "48")
    assert "nothing to repeat" in fail("train", "mine", "-o", home / "none.json", "--workers", "2", "--repeat", policy)
