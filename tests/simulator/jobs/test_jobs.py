"""Jobs: their rules, windows of them, and what a log's columns become."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from simulator.jobs.jobs import NEVER, Jobs, LazyFacts, jobs_from_log


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
