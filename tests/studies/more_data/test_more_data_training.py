"""Does more data help? The whole study at a tiny size, and its intervals."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.scheduling.arena import Windows
from models.scheduling.options import PPOOptions
from models.scheduling.policy_file import policy_from_bytes
from studies.more_data import tables
from studies.more_data import training as more_data
from studies.more_data.tables import print_tables, seeds_ratio
from studies.more_data.training import Part, Study, policy_file, run
from tests.tiny import busy_log

SMALL, WHOLE, OTHER = Part("lemhi", 400), Part("lemhi"), Part("falcon")
TINY = Study((SMALL, WHOLE, OTHER), 900, 0.6, (1, 2), 32, PPOOptions(epochs=2, trajectories=8))
WINDOWS = Windows(np.arange(5, dtype=np.int64) * 60, 50)


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Runs the study, all steps in this process, and tells which were done."""
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setattr(more_data, "SHARED", tmp_path)
    monkeypatch.setattr(more_data, "JUDGING_LOGS", {"tiny": ("tiny.swf", 64), "tinier": ("tinier.swf", 64)})
    monkeypatch.setattr(more_data, "shared_windows", lambda trace: WINDOWS)
    monkeypatch.setattr(tables, "PAPER_WINDOWS", WINDOWS)
    for name, seed in (("tiny", 3), ("tinier", 4)):
        (tmp_path / f"{name}.swf").write_bytes(busy_log(400, seed=seed).encode())

    def run_all() -> list[str]:
        done = []

        def here(step: Callable[..., None], *arguments: Any) -> None:
            done.append(step.__name__)
            step(*arguments)

        run(tmp_path, TINY, here)
        return done

    return run_all


def test_every_size_is_learned_and_judged_once(
    steps: Callable[[], list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_log = ["prepare", "write_arrays"]
    assert steps() == [*of_log, *["learn"] * 4, *of_log, *["learn"] * 2, *["judge_on"] * 2]
    assert steps() == []
    for part in (SMALL, OTHER):
        (tmp_path / "judged" / "tiny" / f"{part.policy(2)}.json").unlink()
    policy_file(tmp_path, WHOLE, 1).unlink()
    assert steps() == ["learn", "judge_on"]

    learned = ((SMALL, 1), (SMALL, 2), (WHOLE, 1), (OTHER, 1))
    cards = [policy_from_bytes(policy_file(tmp_path, *which).read_bytes())[1] for which in learned]
    assert [card["trained_jobs"] for card in cards] == [400, 400, 900, 900]
    assert [card["first_job"] for card in cards] == [125, 375, 0, 0]
    assert all(card["decisions"] > 0 for card in cards)
    fcfs = json.loads((tmp_path / "judged" / "tiny" / "FCFS.json").read_text())
    assert len(fcfs["windows"]) == 5 and fcfs["average_bounded_slowdown"] >= 1

    capsys.readouterr()
    print_tables(tmp_path, TINY)
    printed = capsys.readouterr().out
    for title in (
        "together",
        "ten windows",
        "continuous replays",
        "continuous replays of rules",
        "verdicts",
        "what was learned from",
    ):
        assert f"\n{title}\n\n| " in printed
    assert "0.0009 million by 0.0004 million" in printed and "falcon, 0.0009 million by 0.0009 million" in printed
    assert printed.count("| tiny |") == printed.count("| tinier |") == 4


def test_a_part_is_compared_with_the_first_of_its_log_and_a_log_with_the_one_before() -> None:
    assert [TINY.rival(part) for part in (SMALL, WHOLE, OTHER)] == [None, SMALL, WHOLE]
    small, middle, whole, other = more_data.FULL.parts
    assert [more_data.FULL.rival(part) for part in (middle, whole, other)] == [small, small, whole]


def test_parts_of_seeds_are_spread_and_lie_in_each_other() -> None:
    study = more_data.FULL
    parts = [study.positions(11_318_441, Part("falcon", 1_000_000), seed) for seed in study.seeds]
    assert all(len(part) == 1_000_000 for part in parts)
    assert all(before.stop < after.start for before, after in pairwise(parts))
    for seed, part in zip(study.seeds, parts, strict=True):
        smaller = study.positions(11_318_441, Part("falcon", 100_000), seed)
        assert part.start <= smaller.start and smaller.stop <= part.stop
    assert study.positions(11_318_441, Part("falcon"), 3) == range(11_318_441)


def test_a_ratio_of_seeds_has_the_interval_of_student() -> None:
    theirs = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    assert seeds_ratio(2 * theirs, theirs) == pytest.approx((2.0, 2.0, 2.0))
    ours = theirs * np.exp([-0.2, -0.1, 0.0, 0.1, 0.2])
    margin = 2.776 * np.std([-0.2, -0.1, 0.0, 0.1, 0.2], ddof=1) / np.sqrt(5)
    assert seeds_ratio(ours, theirs) == pytest.approx((1.0, np.exp(-margin), np.exp(margin)), rel=1e-3)
    two_logs = np.stack([theirs, theirs])
    assert seeds_ratio(np.stack([2 * theirs, 0.5 * theirs]), two_logs) == pytest.approx((1.0, 1.0, 1.0))
