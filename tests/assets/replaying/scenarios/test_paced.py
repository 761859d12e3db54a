"""Tests of assets/replaying/scenarios: paced.

Scenarios once more, with users who keep their pace.
"""

from __future__ import annotations

import numpy as np
import pytest

from assets.replaying import pace
from assets.replaying.running.settings import RunSettings
from assets.replaying.scenarios import paced
from assets.replaying.scenarios.paced import MOST_ON_CLUSTER, turns_round
from assets.replaying.scenarios.paced import check_length as paced_check
from models.judging.verdict import DEPENDS, DOMINATES, HARMS, LIKE_CHANCE, NO_DIFFERENCE, NOT_SIGNIFICANT, TRADES, WORSE
from tests.assets.replaying.scenarios.examples import busy_home, results_of
from tracehouse.text.what_if_text import what_if_text


@pytest.mark.parametrize(
    ("word", "other", "turns"),
    [
        (DOMINATES, DOMINATES, False),
        (DOMINATES, TRADES, True),
        (NOT_SIGNIFICANT, DOMINATES, True),
        (LIKE_CHANCE, DOMINATES, False),
        (TRADES, HARMS, True),
        (WORSE, TRADES, True),
        (WORSE, HARMS, False),
        (NO_DIFFERENCE, WORSE, False),
        (TRADES, NOT_SIGNIFICANT, False),
    ],
)
def test_advice_turns_round_where_it_would_be_another(word: str, other: str, turns: bool) -> None:
    assert turns_round(word, other) is turns is turns_round(other, word)


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        busy_home(patch, tmp_path_factory.mktemp("paced"))
        patch.setattr(paced, "LEAST_REACTING", 0.0)
        yield patch


SCENARIOS: dict[str, dict[str, object]] = {"smaller": {"procs": "-25%"}, "live": {"estimates": "live"}}


def test_a_scenario_has_its_change_in_both_ways(busy: pytest.MonkeyPatch) -> None:
    results = results_of(SCENARIOS)
    rows = {row["scenario"]: row for row in results.rows.iter_rows(named=True)}
    alone = results_of({"smaller": {"procs": "-25%"}}, base={"users": "keep pace"})
    paced_alone = alone.rows.filter(scenario="smaller").row(0, named=True)
    smaller = rows["smaller"]
    assert smaller["pace_change_share"] == pytest.approx(paced_alone["change_share"]) != smaller["change_share"]
    assert smaller["pace_wait_h"] == pytest.approx(paced_alone["paired_wait_h"])
    assert paced_alone["pace_change_share"] is None, "it has such users already"
    assert (smaller["users"], paced_alone["users"]) == ("keep times", "keep pace")
    assert any("users keep their pace" in line for line in alone.scenario_words)
    assert rows["live"]["pace_change_share"] is None, "live estimates have no rule for them"
    assert any("live: not with users who keep their pace: --users" in said for said in results.remarks)
    assert results.following is not None and 0 < results.following < 1
    text = what_if_text(results, None, 1)
    assert "keep pace: the change where who submitted soon after" in text and "keep pace" in text.split("waits ")[1]
    assert results.summary()["following_share"] == results.following


def test_jobs_that_are_given_up_are_counted_and_not_in_the_mean(
    busy: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All users are a second more patient than the present scheduler asks them to be."""

    def short_of_patience(seen: object, user: np.ndarray, size: object, waited: np.ndarray, luck: object) -> np.ndarray:
        return waited + 1

    monkeypatch.setattr(pace, "patience_of", short_of_patience)
    results = results_of({"smaller": {"procs": "-25%"}})
    row = results.rows.filter(scenario="smaller").row(0, named=True)
    count, hours = row["pace_jobs_that_gave_up"], row["pace_core_hours_given_up"]
    assert count > 1 and hours > 0 and row["jobs_that_gave_up"] is None, (
        "nobody gives up where all submit at the log's times"
    )
    said = f"smaller: {count} jobs of {hours:,} core-hours are cancelled where users keep their pace, since they wait for too long"
    assert any(text.startswith(said) for text in results.remarks)
    alone = results_of({"smaller": {"procs": "-25%"}}, base={"users": "keep pace"})
    base, smaller = (alone.rows.filter(scenario=name).row(0, named=True) for name in ("base", "smaller"))
    assert (base["jobs_that_gave_up"], smaller["jobs_that_gave_up"]) == (0, count)
    assert smaller["base_only_jobs"] == count + row["jobs_wider_than_cluster"]
    assert any(
        text.startswith(f"smaller: {count} jobs of {hours:,} core-hours are cancelled, since") for text in alone.remarks
    )


def test_beside_another_base_both_replays_have_such_users(busy: pytest.MonkeyPatch) -> None:
    """A scenario that changes nothing changes nothing in either way."""
    results = results_of({"same": {"policy": "SAF"}}, base={"policy": "SAF", "procs": "-25%"})
    row = results.rows.filter(scenario="same").row(0, named=True)
    assert row["change_share"] == row["pace_change_share"] == 0 and row["verdict"] == NO_DIFFERENCE


def test_users_are_of_all_scenarios(busy: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"users: write it into \[base\]"):
        results_of({"x": {"users": "keep pace"}})
    results = results_of({"SJF": {"policy": "SJF"}}, base={"users": "keep pace"})
    assert results.cloud is None, "a random order looks at submissions, which the schedule decides"


def test_a_verdict_that_turns_round_depends_on_users(busy: pytest.MonkeyPatch) -> None:
    busy.setattr(paced, "turns_round", lambda word, other: True)
    results = results_of({"smaller": {"procs": "-25%"}})
    row = results.rows.filter(scenario="smaller").row(0, named=True)
    assert row["verdict"] == DEPENDS and row["times_verdict"] and row["pace_verdict"]
    assert any(
        f"smaller: it depends on users: {row['times_verdict']} where all submit" in said for said in results.remarks
    )


def test_a_log_that_is_too_long_for_its_own_scheduler_says_so(busy: pytest.MonkeyPatch) -> None:
    paced.check_length(RunSettings(), 10**6)
    paced.check_length(RunSettings(policy="slurm", cluster="one"), MOST_ON_CLUSTER)
    with busy.context() as patch:
        patch.setattr(
            paced, "check_length", lambda settings, jobs: paced_check(RunSettings(policy="pbs", cluster="one"), jobs)
        )
        patch.setattr(paced, "MOST_ON_CLUSTER", 10)
        results = results_of({"smaller": {"procs": "-25%"}})
    assert results.rows["pace_change_share"].null_count() == results.rows.height
    assert any(
        "smaller: not with users who keep their pace: on a cluster that is done for 10 jobs" in said
        for said in results.remarks
    )


def test_where_few_follow_scenarios_are_replayed_once(busy: pytest.MonkeyPatch) -> None:
    busy.setattr(paced, "LEAST_REACTING", 1.0)
    results = results_of({"smaller": {"procs": "-25%"}})
    assert results.following is None and results.rows["pace_change_share"].null_count() == results.rows.height
    assert "keep pace:" not in what_if_text(results, None, 1)
