"""Tests of simulator/jobs: words, cluster, jobs, schedule, tasks."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from simulator.engine.replay import rules_of
from simulator.jobs.cluster import Cluster, Outages, RunningJobs, joined_outages
from simulator.jobs.jobs import COLUMNS, NEVER, Jobs, LazyFacts, jobs_from_log
from simulator.jobs.schedule import CANCELLED, Schedule
from simulator.jobs.tasks import tasks_of
from simulator.jobs.words import (
    BACKFILLING,
    CORRECTIONS,
    POLICY_WORDS,
    RULE_SETS,
    one_of,
    parse_duration,
    parse_share,
    partitions_text,
    unknown_word,
)
from simulator.policies.registry import POLICY_NAMES

# amounts: Lengths of time and shares, as users write them.

LENGTHS = {
    "4h": 14_400, "30min": 1800, "30m": 1800, "2d": 172_800, "90s": 90, "3600": 3600, "0": 0, " 1.5 H ": 5400, "1h30min": 5400,
    "1d 2h": 93_600, "4:00:00": 14_400, "2-12:00:00": 216_000, "15:30": 930,
}  # fmt: skip


@pytest.mark.parametrize("text", LENGTHS)
def test_lengths_of_time(text: str) -> None:
    assert parse_duration(text) == LENGTHS[text]


@pytest.mark.parametrize("text", ["", "h", "4 hours", "-4h", "4w", "1:2:3:4", "+1h", "12h3", "999999999999", "four"])
def test_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="expected a length of time such as 4h, 30min, 2d or 4:00:00, or seconds"):
        parse_duration(text)


def test_a_fault_says_what_it_is_of() -> None:
    with pytest.raises(ValueError, match=r"^round_walltimes 'x': expected"):
        parse_duration("x", "round_walltimes")


@pytest.mark.parametrize(
    ("text", "share"), [("10%", 0.1), ("10 %", 0.1), ("0.1", 0.1), (" .5", 0.5), ("1", 1.0), ("2.5%", 0.025)]
)
def test_shares(text: str, share: float) -> None:
    assert parse_share(text) == share


@pytest.mark.parametrize("text", ["", "%", "ten", "-1%", "1e-2", "10%%", "nan"])
def test_what_is_no_share(text: str) -> None:
    with pytest.raises(ValueError, match=r"^share '.*': expected a share such as 10% or 0.1$"):
        parse_share(text)


# cluster: The machine of a replay: what it refuses.

n = np.array


def test_a_number_is_an_empty_cluster() -> None:
    cluster = Cluster.of(8)
    assert (cluster.procs, len(cluster.running), len(cluster.outages)) == (8, 0, 0)
    assert Cluster.of(cluster) is cluster


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([5], [5], [1], [0]), "must end after it starts"),
        (([5], [9], [0], [0]), "at least 1 processor"),
        (([5], [9], [1], [6]), "announced before or when it starts"),
        (([5, 6], [9], [1], [0]), "Outages.end must have one value per row"),
    ],
)
def test_undefined_outages_are_refused(columns: tuple[list[int], ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Outages(*map(n, columns))


def test_nothing_takes_more_than_the_cluster_has() -> None:
    running = RunningJobs(n([0, 0]), n([9, 9]), n([3, 2]), n([9, 9]), n([9, 9]), n([0, 0]))
    with pytest.raises(ValueError, match="the running jobs hold 5 processors, the cluster has 4"):
        Cluster(4, running)
    with pytest.raises(ValueError, match="an outage takes more than the cluster's 4 processors: broken at index 0"):
        Cluster(4, outages=Outages(n([0]), n([9]), n([5]), n([0])))
    with pytest.raises(ValueError, match="needs at least 1 processor"):
        Cluster(0)


def test_outages_are_joined() -> None:
    one, other = (Outages(n([k]), n([9]), n([k]), n([0])) for k in (1, 2))
    assert joined_outages(one, other).procs.tolist() == [1, 2]
    assert len(joined_outages(one, Outages())) == 1


# jobs: Jobs: their rules, windows of them, and what a log's columns become.


def jobs(**changes: list[int]) -> Jobs:
    """Three jobs, with columns exchanged."""
    columns = {"submit": [0, 5, 5], "runtime": [10, 20, 30], "procs": [1, 2, 3]}
    columns |= {"estimate": [10, 20, 40], "limit": [15, 20, 40]} | changes
    return Jobs(**{name: np.array(values) for name, values in columns.items()})


def test_what_is_left_out() -> None:
    plain = jobs()
    assert plain.user.tolist() == [0, 0, 0]
    assert plain.cancel.tolist() == [NEVER] * 3
    assert plain.hold.tolist() == [10, 20, 40]
    assert not plain.submit.flags.writeable


def test_columns_are_read_only_in_another_process_too() -> None:
    received = pickle.loads(pickle.dumps(jobs()))
    assert all(not getattr(received, name).flags.writeable for name in COLUMNS)
    assert tasks_of(received, Cluster(4)).submit.tolist() == [0, 5, 5]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"submit": [0, 5, 4]}, "submit times must not decrease: broken by job at index 2"),
        ({"procs": [1, 0, 3]}, "processors must be at least 1: broken by job at index 1"),
        ({"limit": [9, 20, 40]}, "limit must not be shorter than the run time: broken by job at index 0"),
        ({"hold": [10, 21, 40]}, "limit must not be shorter than hold: broken by job at index 1"),
        ({"user": [0, 1]}, "Jobs.user must have one value per job"),
    ],
)
def test_a_broken_rule_names_the_first_job(changes: dict[str, list[int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        jobs(**changes)


def test_some_jobs_keep_the_clock() -> None:
    some = jobs(user=[7, 8, 9]).only(np.array([0, 2]))
    assert (some.user.tolist(), len(some), some.origin) == ([7, 9], 2, jobs(user=[7, 8, 9]).origin)


def test_a_window_keeps_the_clock() -> None:
    window = jobs(user=[7, 8, 9]).window(1, 2)
    assert (window.submit.tolist(), window.user.tolist(), len(window)) == ([5, 5], [8, 9], 2)


def test_estimates_of_a_log() -> None:
    submit, runtime, procs = np.array([0, 0, 0]), np.array([10, 50, 20]), np.array([1, 1, 1])
    requested = np.array([30, 40, 0])  # too short for the second, none for the third
    by_kind = {
        kind: jobs_from_log(submit, runtime, procs, requested, kind).estimate.tolist()
        for kind in ("requested", "as logged", "actual")
    }
    assert by_kind == {"requested": [30, 50, 20], "as logged": [30, 40, 20], "actual": [10, 50, 20]}
    predicted = jobs_from_log(submit, runtime, procs, requested, "predicted", np.array([99.0, 12.4, 99.0]))
    assert predicted.estimate.tolist() == [30, 12, 99]
    assert predicted.limit.tolist() == [30, 50, 99]


def test_optional_columns_of_a_log() -> None:
    column = np.array([1, 2])
    plain = jobs_from_log(column, column, column, column, user=None, cancel=None, facts=None)
    assert (plain.user.tolist(), plain.cancel.tolist(), dict(plain.facts), plain.origin) == ([0, 0], [NEVER] * 2, {}, 0)
    given = jobs_from_log(column, column, column, column, origin=1, user=column, cancel=column)
    assert (given.user.tolist(), given.cancel.tolist(), given.origin) == ([1, 2], [1, 2], 1)


def test_each_is_computed_once_and_only_when_read() -> None:
    calls: list[str] = []

    def function(name: str) -> np.ndarray:
        calls.append(name)
        return np.arange(4) / 4

    facts = LazyFacts({"memory": lambda: function("memory"), "user": lambda: function("user")})
    numbers = np.arange(1, 5)
    jobs = Jobs(numbers, numbers, numbers, numbers, numbers, facts=facts)
    part = jobs.window(1, 2).only(np.array([1]))
    assert list(part.facts) == ["memory", "user"] and len(part.facts) == 2 and not calls
    assert part.facts["user"].tolist() == [0.5] and part.facts["user"].dtype == np.float32
    assert jobs.facts["user"].tolist() == [0, 0.25, 0.5, 0.75] and calls == ["user"]
    again = pickle.loads(pickle.dumps(jobs))
    assert {name: values.tolist() for name, values in again.facts.items()} == {
        name: [0, 0.25, 0.5, 0.75] for name in ("memory", "user")
    }


# schedule: A schedule: which jobs have started.


def test_cancelled_jobs_have_not_started() -> None:
    schedule = Schedule(np.array([0, CANCELLED, 7]), np.zeros(3, dtype=np.bool_))
    assert schedule.started.tolist() == [True, False, True]


# tasks: What the compiled loops read: running jobs, jobs and outages in one set of arrays.

JOBS = Jobs(n([100, 110]), n([5, 5]), n([1, 2]), n([5, 5]), n([5, 5]), cancel=n([NEVER, 120]))


def test_running_jobs_stand_before_and_outages_after_the_jobs() -> None:
    running = RunningJobs(n([90]), n([20]), n([1]), n([30]), n([30]), n([4]))
    outages = Outages(n([150, 60]), n([160, 130]), n([1, 2]), n([140, 60]))
    tasks = tasks_of(JOBS, Cluster(4, running, outages))
    assert (tasks.first, tasks.last) == (1, 3)
    assert tasks.submit.tolist() == [90, 100, 110, 100, 150], "outages by start, cut to the replay"
    assert tasks.runtime.tolist() == [20, 5, 5, 30, 10]
    assert tasks.procs.tolist() == [1, 1, 2, 2, 1]
    assert (tasks.announced.tolist(), tasks.announced_task.tolist()) == ([140], [4])
    assert tasks.cancel_order.tolist() == [2]


def test_an_outage_that_is_over_is_left_out() -> None:
    tasks = tasks_of(JOBS, Cluster(4, outages=Outages(n([10]), n([100]), n([1]), n([10]))))
    assert len(tasks.submit) == 2


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="job at index 1 needs 2 processors, the cluster has 1"):
        tasks_of(JOBS, Cluster(1))
    over = RunningJobs(n([10]), n([20]), n([1]), n([30]), n([30]), n([4]))
    with pytest.raises(ValueError, match="does not run at 100, when the first job is submitted: it runs from 10 to 30"):
        tasks_of(JOBS, Cluster(4, over))


# words: Words that choose a rule are known to the engine, and checked in one way.


def test_the_engine_takes_every_word() -> None:
    rules = {(rule, word): rules_of(rule, word, 8) for rule in BACKFILLING for word in CORRECTIONS}
    assert len({rules["easy", word].correction for word in CORRECTIONS}) == len(CORRECTIONS)


def test_the_policies_are_those_of_the_registry() -> None:
    assert POLICY_WORDS == POLICY_NAMES


def test_a_word_that_is_none_is_named_with_those_that_are() -> None:
    assert one_of("rules", "standard", RULE_SETS) == "standard"
    with pytest.raises(
        ValueError, match="unknown rules 'pbs'; expected one of standard, rlscheduler, rlscheduler-corrected"
    ):
        one_of("rules", "pbs", RULE_SETS)


def test_the_nearest_word_is_asked_for() -> None:
    """In any case, and whatever options follow it."""
    words = ("SJF", "tetris-star")
    assert (
        unknown_word("policy", "sjff", words)
        == "unknown policy 'sjff'; did you mean 'SJF'? Expected one of SJF, tetris-star"
    )
    assert "did you mean 'tetris-star'?" in unknown_word("policy", "tetris_star:seed=1", words)
    assert (
        unknown_word("policy", "LIFO", words, " or more")
        == "unknown policy 'LIFO'; expected one of SJF, tetris-star or more"
    )


def test_partitions_in_words() -> None:
    assert partitions_text({"gpu": 2, "debug": 1}) == "gpu=2, debug=1"
    assert partitions_text({}) == ""
