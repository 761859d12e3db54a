"""Tests of studies/pbs: decisions, free_replays, reasons, recorded_runs, timing."""

from __future__ import annotations

import pytest

from studies.pbs.decisions import judge_run
from studies.pbs.free_replays import noise_s, replay_recorded, replay_seen, wait_distance
from studies.pbs.reasons import compare_reasons
from studies.pbs.recorded_runs import read_recorded_run, second_of
from studies.pbs.timing import logged_run_times, seen_times
from tests.shared import shared_file

# decisions: Decisions of our PBS against recorded ones.


@pytest.mark.parametrize("scenario", ["P1f", "P3", "P4", "P5", "P6", "P7"])
def test_our_pass_starts_what_pbs_started(scenario: str) -> None:
    count = judge_run(read_recorded_run(shared_file("golden", "pbs", scenario, "run1"))).counts
    assert count["same_starts"] == count["starts"] > 60
    assert count["same"] >= 0.999 * count["decisions"]
    assert count["same_tops"] >= 0.985 * count["tops"] and count["same_seconds"] >= 0.97 * count["same_tops"]
    assert count["same_nodes"] >= (0.9 if scenario == "P4" else 1) * count["same_starts"]


# reasons: What kept waiting jobs against what PBS said.


@pytest.mark.parametrize("scenario", ["P1", "P1f", "P3", "P4", "P5", "P7"])
def test_jobs_wait_for_what_pbs_says_in_nearly_all_minutes(scenario: str) -> None:
    seconds, _ = compare_reasons(read_recorded_run(shared_file("golden", "pbs", scenario, "run1")))
    assert seconds["all"] > 1_000 and seconds["same"] >= 0.95 * seconds["all"]


# free_replays: Whole replays of our PBS against recorded runs.


@pytest.mark.parametrize(
    ("scenario", "difference_s", "pair_order"),
    [
        ("P1", 4.5, 0.985),
        ("P2", 0.9, 0.999),
        ("P4", 5.1, 0.986),
        ("P5", 6.6, 0.967),
        ("P7", 0.33, 1.0),
        *((scenario, 0.15, 1.0) for scenario in ("X1", "X2", "X3", "X7", "X8", "X9", "X10")),
    ],
)
def test_a_replay_is_near_the_real_run(scenario: str, difference_s: float, pair_order: float) -> None:
    run = read_recorded_run(shared_file("golden", "pbs", scenario, "run1"))
    far = wait_distance(run, replay_recorded(run))
    assert far.difference_s <= difference_s and far.pair_order >= pair_order


@pytest.mark.parametrize("scenario", ["P1", "P1f", "P2", "P3", "P4", "P5", "P6", "P7"])
def test_a_replay_with_the_times_that_pbs_saw_is_the_real_run(scenario: str) -> None:
    run = read_recorded_run(shared_file("golden", "pbs", scenario, "run1"))
    far = wait_distance(run, replay_seen(run))
    assert far.difference_s <= (0.2 if scenario == "P4" else 0) and far.within_3_s == 1


def test_a_second_of_noise_moves_waits_by_seconds() -> None:
    run = read_recorded_run(shared_file("golden", "pbs", "P1", "run1"))
    for replay in (replay_recorded, replay_seen):
        low, high = map(float, noise_s(run, replay).split(" to "))
        assert 1 < low < 5 < high


# recorded_runs: Recorded runs as events and passes.


def test_a_run_has_jobs_passes_and_reservations() -> None:
    run = read_recorded_run(shared_file("golden", "pbs", "P7", "run1"))
    assert len(run.jobs) == 65 and len(run.passes) == 154
    assert [(each.end_s - each.begin_s, len(each.nodes)) for each in run.cluster.reservations] == [(30, 16), (20, 32)]
    assert run.passes[0].started == ["180"] and run.jobs[0].nodes == ("n00", "n01", "n02", "n03")


def test_limits_that_were_set_by_hand_are_read() -> None:
    run = read_recorded_run(shared_file("golden", "pbs", "X2", "run1"))
    assert [(limit.who, limit.bound) for limit in run.cluster.limits] == [("u1", 1)]
    assert second_of("11/26/2026 07:09:46") == 1795676986


# timing: When PBS learned of events.


def test_pbs_learns_of_events_within_a_second_or_two() -> None:
    run = read_recorded_run(shared_file("golden", "pbs", "P3", "run1"))
    seen, logged = seen_times(run, 60), logged_run_times(run, 60)
    assert set((seen.ran_s - logged).tolist()) <= {0, 1, 2} and set(seen.late_s.tolist()) == {0, 1}
    assert {arrival - each.job.submit_s for arrival, each in zip(seen.arrival_s, run.jobs, strict=True)} <= {0, 1}
    assert (seen.turns[0] <= seen.turns[1]).all()
