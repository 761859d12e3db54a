"""Champion and challenger among scheduling policies."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from assets.common import storage
from assets.policies import registry
from assets.policies.registry import Candidate, ChallengeResult, promote
from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from models.scheduling.learning.evolution import flatten, unflatten
from models.scheduling.learning.imitation import imitate
from models.scheduling.options import ImitationOptions
from models.scheduling.policy_file import policy_to_bytes
from simulator.engine.replay import replay
from simulator.metrics.metrics import bounded_slowdown
from simulator.policies.network import KernelWeights
from simulator.policies.observation import LAYOUTS
from simulator.policies.registry import FIXED_SCORES
from tests.simulator.busy import PROCS, busy_jobs
from warehouse import Warehouse

SOURCE = "mine"


@pytest.fixture(scope="module")
def place() -> tuple[Arena, KernelWeights, range]:
    """Where policies are judged, a good policy, and the jobs that judge."""
    jobs = busy_jobs(1500, load=0.6)  # shorter jobs first dominate longer ones first there
    arena = Arena(jobs, PROCS, parse_goal("bsld"), threads=1)
    sjf = np.asarray(FIXED_SCORES["SJF"](jobs), dtype=np.float64)
    good = imitate(arena, [Windows(np.arange(0, 500, 50), 80)], [sjf], LAYOUTS["plain"], ImitationOptions(), 1)
    return arena, good, range(600, 1500)


class Nights:
    def __init__(self, folder: Path, arena: Arena, judged: range) -> None:
        self.warehouse, self.arena, self.judged = Warehouse(folder / "w.duckdb"), arena, judged

    def night(self, *policies: tuple[int, KernelWeights, float], **card: Any) -> str:
        """One training: (seed, weights, validation cost) of each policy. Returns what happened."""
        trained = []
        for seed, weights, cost in policies:
            task = {"goal": "bsld", "backfill": "easy", "estimates": "requested"} | card
            card_row = {"seed": seed, "method": "ppo", **task, "layout": "plain", "trained_jobs": 600, "epochs": 3}
            card_row |= {"best_epoch": 1, "validation_cost": cost, "parameters": "{}"} | card
            file, digest = storage.store_model(SOURCE, f"policy-{seed}", policy_to_bytes(weights, card_row))
            trained.append(Candidate(card_row | {"file": file, "sha256": digest}, weights))
        return promote(self.warehouse, SOURCE, self.arena, trained, self.judged, pl.DataFrame())[2]

    def table(self, name: str) -> pl.DataFrame:
        with self.warehouse.read() as connection:
            return connection.sql(f"FROM policies.{name} ORDER BY ALL").pl()

    @property
    def champion(self) -> dict[str, Any]:
        rows = self.table("scheduling_policies").filter("champion")
        assert rows.height == 1
        return rows.row(0, named=True)


@pytest.fixture
def nights(place: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nights:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    return Nights(tmp_path, place[0], place[2])


def reversed_policy(weights: KernelWeights) -> KernelWeights:
    return weights._replace(w4=-weights.w4)


def test_a_better_challenger_is_promoted_and_a_worse_one_refused(nights: Nights, place: Any) -> None:
    good = place[1]
    bad = reversed_policy(good)
    assert "first" in nights.night((1, bad, 90.0), (2, bad._replace(w4=2 * bad.w4), 80.0))
    assert (nights.champion["seed"], nights.champion["training"]) == (2, 1)
    assert nights.night((1, good, 20.0), (2, bad, 95.0)).startswith("challenger promoted: dominates")
    assert (nights.champion["seed"], nights.champion["training"]) == (1, 2)
    assert nights.night((1, bad, 70.0)).startswith("challenger refused: worse")
    assert (nights.champion["seed"], nights.champion["training"], nights.champion["newest"]) == (1, 2, False)
    events = nights.table("policy_events")
    assert events["kind"].to_list() == ["first", "promoted", "refused"]
    assert events["verdict"].to_list() == [None, "dominates", "worse"]
    assert events["wait_ratio"][1] < 1 < events["wait_ratio"][2] == pytest.approx(1 / events["wait_ratio"][1], rel=0.3)
    assert events["judged_jobs"].to_list() == [900] * 3
    jobs = place[0].jobs
    start = replay(jobs, PROCS, "learned", "easy", good).start
    slowdown = bounded_slowdown(start - jobs.submit, jobs.runtime)[600:].mean()
    assert events["challenger_cost"][1] == events["champion_cost"][2] == pytest.approx(slowdown)
    assert events["cost_difference"][1] == events["challenger_cost"][1] - events["champion_cost"][1] < 0


def test_one_that_harms_somebody_is_refused(nights: Nights, place: Any) -> None:
    """It has a fraction of the bounded slowdown, and wide and long jobs pay."""
    arena, good, _ = place
    crowded = busy_jobs(1500, load=1.2)
    nights.arena = replace(arena, jobs=crowded)
    nights.night((1, reversed_policy(good), 50.0))
    said = nights.night((1, good, 20.0))
    assert said.startswith("challenger refused: trades (bounded slowdown 0.") and "more of the capacity lost" in said
    assert nights.champion["training"] == 1


def test_jobs_after_those_that_judge_are_not_replayed(nights: Nights, place: Any) -> None:
    arena, good, _ = place
    nights.judged = range(600, 1000)
    nights.night((1, good, 20.0))
    jobs = arena.jobs.window(0, 1000)
    start = replay(jobs, PROCS, "learned", "easy", good).start
    slowdown = bounded_slowdown(start - jobs.submit, jobs.runtime)[600:].mean()
    assert nights.table("policy_events")["challenger_cost"][0] == pytest.approx(slowdown)


def test_one_that_cannot_be_told_apart_is_refused(nights: Nights, place: Any) -> None:
    good = place[1]
    nights.night((1, good, 20.0))
    nearly = unflatten(flatten(good) * 1.001, good)
    assert "refused" in nights.night((1, nearly, 19.0))


def test_the_same_training_again_changes_nothing(nights: Nights, place: Any) -> None:
    good, bad = place[1], reversed_policy(place[1])
    for policies in (((1, good, 20.0),), ((1, bad, 50.0),)):
        nights.night(*policies)
        before = [nights.table(name) for name in ("scheduling_policies", "policy_events")]
        assert "nothing changes" in nights.night(*policies)
        after = [nights.table(name) for name in ("scheduling_policies", "policy_events")]
        assert all(a.equals(b) for a, b in zip(before, after, strict=True))


def test_one_that_learned_from_what_now_judges_makes_room(nights: Nights, place: Any) -> None:
    good, bad = place[1], reversed_policy(place[1])
    nights.night((1, good, 20.0))
    assert "another split" in nights.night((1, bad, 50.0), trained_jobs=500)
    assert nights.champion["trained_jobs"] == 500


def test_another_goal_or_a_lost_file_make_room(nights: Nights, place: Any) -> None:
    good, bad = place[1], reversed_policy(place[1])
    nights.night((1, good, 20.0))
    assert "another goal" in nights.night((1, bad, 50.0), goal="wait")
    assert nights.champion["goal"] == "wait"
    (storage.data_folder() / nights.champion["file"]).unlink()
    nights.night((1, good, 20.0), goal="wait")
    assert nights.table("policy_events")["kind"].to_list() == ["first", "replaced", "replaced"]
    assert nights.champion["training"] == 3


def test_two_trainings_at_once_leave_two_events_and_one_champion(
    nights: Nights, place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have judged before either writes. Whoever comes second judges again, against the champion that the first left."""
    good, bad = place[1], reversed_policy(place[1])
    both_judged = threading.Barrier(2, timeout=60)
    judged = threading.local()
    judge = registry.judge_challenger

    def judge_together(*args: Any) -> ChallengeResult:
        result = judge(*args)
        if not getattr(judged, "once", False):
            judged.once = True
            both_judged.wait()
        return result

    monkeypatch.setattr(registry, "judge_challenger", judge_together)
    with ThreadPoolExecutor(2) as threads:
        runs = [threads.submit(nights.night, (seed, weights, 20.0)) for seed, weights in ((1, good), (2, bad))]
        said = [run.result() for run in runs]
    events = nights.table("policy_events").sort("event")
    assert (events["event"].to_list(), events["training"].to_list()) == ([1, 2], [1, 2])
    assert events["kind"][0] == "first" and events["kind"][1] in ("promoted", "refused")
    assert sum("first policy" in words for words in said) == 1
    assert nights.champion["seed"] == 1, "the better one, whoever came first"
