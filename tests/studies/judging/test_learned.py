"""Tests of studies/judging: learned_on_all, learned_program."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assets.common.trace import Trace
from assets.policies.training import TrainingSetup
from models.judging.verdict import Ratios
from models.scheduling.learning.recipes import SHARPNESS, program_network
from models.scheduling.learning.training import TrainedPolicy
from simulator.policies.observation import LAYOUTS
from studies.judging import learned_on_all, learned_program
from studies.judging.learned_on_all import (
    CHOSEN,
    Compared,
    cloud_of_program,
    compared,
    first_values,
    fitness_of,
    options_of,
    print_power,
    print_together,
    print_trained,
    start_of,
    trained_with,
)
from studies.judging.learned_program import PROGRAM, RIVALS, rival_rows, rows_of, setup_of
from studies.judging.searched_logs import LEARNED_FROM
from tests.simulator.busy import random_weights


@pytest.fixture(scope="module")
def setup(trace: Trace) -> TrainingSetup:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learned_program, "whole_trace", lambda name: trace)
        return setup_of("any")


def untrained(setup: TrainingSetup) -> TrainedPolicy:
    return TrainedPolicy(program_network(LAYOUTS["program"], SHARPNESS["ppo"], 1), 0, 0.0, [], {})


def test_no_second_half_is_in_the_fitness(trace: Trace, setup: TrainingSetup) -> None:
    fitness, half = fitness_of([setup, setup]), trace.rows.height // 2
    assert [len(copies) for copies in fitness.learned] == [6, 6]
    learned = fitness.learned[0][0].jobs
    assert len(learned) == int(0.3 * trace.rows.height)
    for log in fitness.choosing:
        assert len(learned) <= (log.first_scored or 0) < len(log.jobs) <= 0.4 * trace.rows.height < half
        assert np.array_equal(log.jobs.submit[: len(learned)], learned.submit)


def test_what_is_not_trained_is_the_program(setup: TrainingSetup) -> None:
    seed, every = rows_of(setup, {7: untrained(setup)})
    assert seed[:7] == ["7", "0", "no", "1.00", "1.00", "1.00 (p99)", "no difference"]
    assert every[0] == "all" and len(seed) == len(every) == 8


def test_random_orders_are_next_to_each_policy(setup: TrainingSetup) -> None:
    cloud = cloud_of_program(setup, 9)
    trained = {7: replace(untrained(setup), weights=random_weights(2, "program"))}
    *rows, lots = [*rows_of(setup, trained, cloud), *rival_rows(setup, cloud)]
    assert [row[0] for row in rows[2:]] == [*RIVALS] and lots[0] == "20 random orders"
    assert {len(row) for row in (*rows, lots)} == {9} and lots[-1] == ""
    verdict = compared(setup, trained[7].weights)
    share = cloud.share_as_good_as(*(float(each) for each in rows[0][3:5]))
    assert rows[0][-1] == f"{share:.1%}" and verdict.gain != 0.0
    assert all(float(row[-1].rstrip("%")) >= 10.0 for row in rows), "the policy counts as one of ten"
    assert all(row[6] != "dominates" or float(row[-1].rstrip("%")) <= 5.0 for row in rows)


def test_one_test_over_the_program_on_all_logs(
    setup: TrainingSetup, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The random order that is as good on one log is not on the other."""
    monkeypatch.setattr(learned_on_all, "LEARNED_FROM", ("a",))
    monkeypatch.setattr(learned_on_all, "UNSEEN", ("b",))
    monkeypatch.setattr(learned_on_all, "compared", lambda setup, policy: Compared(math.log(0.8), 0.1))
    good, bad = (Ratios(each, each, 1.0, 1.0, 1.0, None, 1.0, 0.0) for each in (0.5, 1.6))
    print_together({"mine": "FCFS"}, {"a": [good, bad], "b": [bad, good]}, {"a": setup, "b": setup})
    assert "| mine | 0.800 | 0.800 | 0.800 | 33.3% |" in capsys.readouterr().out
    print_together({"mine": "FCFS"}, {"a": [good, bad], "b": [good, bad]}, {"a": setup, "b": setup})
    assert "| mine | 0.800 | 0.800 | 0.800 | 66.7% |" in capsys.readouterr().out


def test_the_power_is_of_the_typical_seed(capsys: pytest.CaptureFixture[str]) -> None:
    seeds = {f"seed {k}": dict.fromkeys(LEARNED_FROM, Compared(gain, 0.1)) for k, gain in enumerate((0.1, -0.1))}
    print_power(seeds, LEARNED_FROM)
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert rows[1] == "| KTH-SP2 | 10% | 13% | 1.00 | 0.90 to 1.11 |"
    assert rows[-1] == "| the three logs | 6% | 8% | 1.00 | 0.90 to 1.11 |"
    same = {"seed 1": dict.fromkeys(LEARNED_FROM, Compared(0.0, 0.0))}
    print_power(same, LEARNED_FROM)
    assert "| the three logs | - | - | 1.00 | 1.00 to 1.00 |" in capsys.readouterr().out


def test_the_network_of_the_study_begins_as_the_program(setup: TrainingSetup) -> None:
    assert compared(setup, start_of(3)).gain == 0.0 == compared(setup, PROGRAM).gain
    assert compared(setup, "FCFS").gain != 0.0


def test_a_training_of_the_study_is_kept(
    setup: TrainingSetup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = options_of(CHOSEN).model_copy(update={"generations": 2, "pairs": 1, "validate_every": 1})
    monkeypatch.setattr(learned_on_all, "OPTIONS", short)
    fitness = fitness_of([setup])
    trained = trained_with(fitness, CHOSEN, 1, tmp_path)
    printed = capsys.readouterr().out
    assert trained_with(fitness, CHOSEN, 1, tmp_path).curve == trained.curve and capsys.readouterr().out == printed
    assert f"setting {CHOSEN}, seed 1, 2: " in printed and ", later jobs " in printed
    assert [file.name for file in tmp_path.iterdir()] == [f"{CHOSEN}-1.checkpoint"]
    assert trained.best_epoch > 0 and trained.validation_cost == fitness.validated(trained.weights)
    assert first_values(fitness, short.model_copy(update={"generations": 3}), 1).keys() == {1}
    better, worse = (replace(trained, validation_cost=cost) for cost in (-9.0, 9.0))
    print_trained(fitness, {1: better, 2: worse})
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2].startswith(f"| 1 | {trained.best_epoch} | -9.000 |") and lines[-2].endswith(" yes |")
    assert lines[-1].endswith(" no |")
