"""Policies that users bring: what they are asked and when, that they are what built-ins are, and what is said of mistakes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from simulator.agents.batch import replay_windows
from simulator.engine.asking import drive
from simulator.engine.replay import BACKFILLING, replay
from simulator.jobs.cluster import Cluster, Outages
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.policies import plugins
from simulator.policies.plugins import FOLDER_VARIABLE, READS, confined_plugins, free_plugins, load_plugin
from simulator.policies.registry import parse_policy, register_policy
from tests.simulator.busy import PROCS, busy_jobs

FILE = """
import numba
import numpy as np

def saf(estimate, procs):
    return estimate * procs

@numba.njit
def compiled_saf(procs, estimate):
    return estimate * procs

def wfp3(wait, estimate, procs):
    ratio = wait / estimate
    return -(ratio * ratio * ratio) * procs  # numpy's power may differ in the last bit

def wfp3_by_the_clock(now, submit, estimate, procs):
    return wfp3(now - submit, estimate, procs)

def tetris(procs, free, cluster):
    return np.where(procs <= free, -(procs / cluster) * (free / cluster), 1.0)

@numba.njit
def compiled_tetris(procs, free, cluster):
    return -(procs / cluster) * (free / cluster) if procs <= free else 1.0

def lcfs(submit):
    return -submit

NOT_A_FUNCTION = 3
"""
TWINS = [
    ("saf", "SAF"),
    ("compiled_saf", "SAF"),
    ("wfp3", "WFP3"),
    ("wfp3_by_the_clock", "WFP3"),
    ("tetris", "tetris"),
    ("compiled_tetris", "tetris"),
    ("lcfs", "LCFS"),
]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plug ins") / "my_policies.py"
    path.write_text(FILE)
    return path


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Schedule]:
    """Replays under a function, registered for this test alone."""
    monkeypatch.setattr(plugins, "_registered", {})

    def replayed(function: Callable[..., Any], jobs: Jobs, backfill: str = "easy", procs: int = PROCS) -> Schedule:
        register_policy("mine", function)
        return replay(jobs, procs, "mine", backfill)

    return replayed


def assert_same(found: Schedule, expected: Schedule) -> None:
    assert np.array_equal(found.start, expected.start)
    assert np.array_equal(found.backfilled, expected.backfilled)


# As good as a built-in.


@pytest.mark.parametrize(("name", "twin"), TWINS)
def test_a_plug_in_equal_to_a_built_in_gives_its_schedule(file: Path, name: str, twin: str) -> None:
    jobs = busy_jobs(400, cancelled_share=0.1)
    mine = parse_policy(f"{file}:{name}")  # once: whoever reads the file again compiles again
    for backfill in BACKFILLING:
        for correction in ("requested", "increments"):
            expected = replay(jobs, PROCS, twin, backfill, correction=correction)
            assert_same(replay(jobs, PROCS, mine, backfill, correction=correction), expected)
        assert (replay(jobs, PROCS, "FCFS", backfill).start != expected.start).any()


@numba.njit
def compiled_wfp3(procs, estimate, wait):
    return -((wait / estimate) ** 3) * procs


@pytest.mark.parametrize(
    ("function", "twin"),
    [
        (compiled_wfp3, "WFP3"),
        (lambda now, procs, submit, estimate: (submit - now - estimate) / estimate, "LEXP"),
        (lambda procs, free: np.where(procs <= free, -(procs / PROCS) * (free / PROCS), 1.0), "tetris"),
        (lambda procs, estimate: procs * estimate, "SAF"),
    ],
)
def test_a_registered_plug_in_goes_wherever_a_built_in_goes(
    registered: Callable[..., Schedule], function: Callable[..., Any], twin: str
) -> None:
    jobs = busy_jobs(300)
    begin = np.array([jobs.submit[0] + 5000])
    outage = Outages(begin, begin + 9000, np.array([9]), begin - 4000)
    for backfill in BACKFILLING:
        assert_same(registered(function, jobs, backfill), replay(jobs, PROCS, twin, backfill))
        cluster = Cluster(PROCS, outages=outage)
        assert_same(replay(jobs, cluster, "mine", backfill), replay(jobs, cluster, twin, backfill))
    first = np.array([0, 50, 180])
    found, expected = (replay_windows(jobs, PROCS, first, 120, policy) for policy in ("mine", twin))
    assert np.array_equal(found[0], expected[0]) and np.array_equal(found[1], expected[1])


def test_the_loop_that_asks_is_compiled_once_for_all_plug_ins(registered: Callable[..., Schedule]) -> None:
    jobs = busy_jobs(300)
    registered(compiled_wfp3, jobs)
    loops = len(drive.overloads)
    for function, twin in ((lambda wait: -wait, "FCFS"), (lambda procs, now: 1.0 * procs, "smallest")):
        assert_same(registered(numba.njit(function), jobs), replay(jobs, PROCS, twin))
    assert len(drive.overloads) == loops > 0


def test_equal_scores_go_by_submission(registered: Callable[..., Schedule]) -> None:
    jobs = busy_jobs(300)
    for function in (lambda procs: 0 * procs, lambda wait: 0.0 * wait):
        assert_same(registered(function, jobs), replay(jobs, PROCS, "FCFS"))


def test_infinite_scores_are_first_and_last(registered: Callable[..., Schedule]) -> None:
    """They are numbers, and say that a job should always or never come before another."""
    jobs = busy_jobs(300)

    def extreme(wait: np.ndarray, procs: np.ndarray) -> np.ndarray:
        return np.select([procs == 1, procs == 31], [-np.inf, np.inf], procs)

    def fixed_extreme(procs: np.ndarray) -> np.ndarray:
        return extreme(procs, procs)

    expected = replay(jobs, PROCS, "smallest")
    assert_same(registered(extreme, jobs), expected)
    assert_same(registered(fixed_extreme, jobs), expected)


# What is asked, and when.

# 4 processors. J0 holds all of them until 100; then J1 and J2 can start side by side, and J3 has to wait for both.
SMALL = Jobs(
    submit=np.array([0, 10, 20, 30]),
    runtime=np.array([100, 50, 60, 10]),
    procs=np.array([4, 1, 2, 3]),
    estimate=np.array([110, 55, 66, 11]),
    limit=np.array([200, 55, 66, 11]),
    user=np.array([7, 8, 7, 9]),
)


def test_parameters_are_given_by_name(registered: Callable[..., Schedule]) -> None:
    """In whatever order the function has them: the waiting jobs in submit order, and numbers for what all jobs share."""
    seen: list[tuple[Any, ...]] = []

    def spy(user, free, wait, estimate, now, cluster, procs, submit):
        assert not isinstance(now, np.ndarray) and not isinstance(free, np.ndarray)
        seen.append((now, free, cluster, *(a.tolist() for a in (submit, wait, estimate, procs, user))))
        return submit

    assert registered(spy, SMALL, "none", procs=4).start.tolist() == [0, 100, 100, 160]
    assert seen == [
        (0, 4, 4, [0], [0], [110], [4], [7]),
        (100, 4, 4, [10, 20, 30], [90, 80, 70], [55, 66, 11], [1, 2, 3], [8, 7, 9]),
        (100, 3, 4, [20, 30], [80, 70], [66, 11], [2, 3], [7, 9]),
        # then one processor is free and the last job needs three: nothing can start, whatever the order
        # at 150 two are free: the same
        (160, 4, 4, [30], [130], [11], [3], [9]),
    ]


def test_compiled_parameters_are_given_by_name(registered: Callable[..., Schedule]) -> None:
    """Each term tells one job from the others only if the name means what it says."""

    @numba.njit
    def spy(user, free, wait, estimate, now, cluster, procs, submit):
        right = now - submit == wait and cluster == 32 and 0 < free <= 32 and procs <= 31
        return 1000.0 * estimate + user if right else -1.0 * submit

    def plain(user, free, wait, estimate):
        return 1000.0 * estimate + user

    jobs = busy_jobs(300)
    found = registered(spy, jobs)
    assert_same(found, registered(plain, jobs))
    assert (found.start != replay(jobs, PROCS, "LCFS").start).any()


@pytest.mark.parametrize("backfill", ["none", "easy", "easy-sjbf"])
def test_a_function_that_reads_free_is_asked_again_after_every_start(
    registered: Callable[..., Schedule], backfill: str
) -> None:
    asked: list[tuple[int, int, int]] = []

    def free_too(now: int, free: int, submit: np.ndarray) -> np.ndarray:
        asked.append((now, free, len(submit)))
        return submit

    registered(free_too, SMALL, backfill, procs=4)
    # not with one free at 100: the last job needs three
    assert asked[1:] == [(100, 4, 3), (100, 3, 2), (160, 4, 1)]

    def not_free(now: int, submit: np.ndarray) -> np.ndarray:
        asked.append((now, -1, len(submit)))
        return submit

    asked.clear()
    registered(not_free, SMALL, backfill, procs=4)
    assert asked == [(0, -1, 1), (100, -1, 3), (160, -1, 1)]


def test_a_plan_is_ordered_once_in_a_pass(registered: Callable[..., Schedule]) -> None:
    asked = []

    def function(now: int, free: int, submit: np.ndarray) -> np.ndarray:
        asked.append(now)
        return submit

    registered(function, busy_jobs(200), "conservative")
    assert len(asked) > 100 and len(asked) == len(set(asked))


@pytest.mark.parametrize("backfill", BACKFILLING)
def test_a_function_of_what_never_changes_is_asked_once_about_all_jobs(
    registered: Callable[..., Schedule], backfill: str
) -> None:
    asked: list[int] = []

    def function(submit, estimate, procs, user, cluster):
        asked.append(len(submit))
        return cluster * estimate * procs

    jobs = busy_jobs(300)
    assert_same(registered(function, jobs, backfill), replay(jobs, PROCS, "SAF", backfill))
    assert asked == [300]


@pytest.mark.parametrize("name", ["now", "wait", "free"])
def test_what_changes_is_asked_about_in_every_pass(registered: Callable[..., Schedule], name: str) -> None:
    calls: list[int] = []
    space: dict[str, Any] = {"calls": calls}
    exec(f"def function({name}, submit):\n    calls.append(len(submit))\n    return submit", space)
    jobs = busy_jobs(200)
    assert_same(registered(space["function"], jobs), replay(jobs, PROCS, "FCFS"))
    assert len(calls) > 50


def test_a_function_that_spoils_its_arrays_spoils_nothing_else(registered: Callable[..., Schedule]) -> None:
    def spoils(submit: np.ndarray, estimate: np.ndarray, procs: np.ndarray) -> np.ndarray:
        score = estimate * procs
        for array in (submit, estimate, procs):
            array[:] = 1
        return score

    def spoils_waiting(wait: np.ndarray, estimate: np.ndarray, procs: np.ndarray) -> np.ndarray:
        return spoils(wait, estimate, procs)

    jobs = busy_jobs(300)
    for function in (spoils, spoils_waiting):
        assert_same(registered(function, jobs), replay(busy_jobs(300), PROCS, "SAF"))


# Mistakes.


def refused(text: str, jobs: Jobs = SMALL) -> str:
    with pytest.raises(ValueError) as caught:
        replay(jobs, 4, text)
    return str(caught.value)


def test_mistakes_in_naming_a_file(file: Path, tmp_path: Path) -> None:
    missing = tmp_path / "missing.py"
    assert refused(f"{missing}:saf") == f"{missing}: no such file (policy {missing}:saf)"
    for text in (f"{file}:sfa", f"{file}:", f"{file}"):
        message = refused(text)
        assert message.startswith(f"{file}: ") and message.endswith(f": give {file}:NAME")
        assert "t has saf, compiled_saf, wfp3, " in message
        assert text != f"{file}:sfa" or "no function 'sfa'" in message
    assert refused(f"{file}:NOT_A_FUNCTION") == f"policy {file}:NOT_A_FUNCTION must be a function, got int"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(wait:\n", r"cannot be loaded, SyntaxError: .*line 1"),
        ("import nothing_of_this_name\n", "cannot be loaded, ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("1 / 0\n", "cannot be loaded, ZeroDivisionError: division by zero"),
        ("", "has no function 'f'. It has none"),
        ("def f(walltime): return walltime\n", "a parameter 'walltime', which is not known: expected some of now, "),
        ("def f(): return 1\n", "has no parameter: expected some of now, submit, wait"),
    ],
)  # fmt: skip
def test_mistakes_in_a_file(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "broken.py"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        parse_policy(f"{path}:f")
    assert str(path) in str(caught.value)


def test_parameters_that_are_not_known_are_refused_at_registration() -> None:
    with pytest.raises(ValueError) as caught:
        register_policy("odd", lambda procs, queue: procs)
    assert str(caught.value) == (
        f"policy odd has a parameter 'queue', which is not known: expected some of {', '.join(READS)}"
    )
    with pytest.raises(ValueError, match="policy odd must be a function, got int"):
        register_policy("odd", 3)  # type: ignore[arg-type]
    assert "unknown policy 'odd'" in refused("odd")


def fails(wait: np.ndarray) -> np.ndarray:
    raise KeyError("user 7")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (fails, r"policy mine failed( in line \d+)?: KeyError: 'user 7'"),
        (lambda procs: procs[99], r"policy mine failed( in line \d+)?: IndexError: index 99 is out of bounds"),
        (lambda wait: ["a"] * len(wait), r"policy mine failed( in line \d+)?: ValueError: could not convert string"),
        (lambda wait: None, r"one score per waiting job, shape \(1,\), got \(\)"),
        (lambda procs: 1.0, r"one score per waiting job, shape \(4,\), got \(\)"),
        (lambda procs: procs[:2], r"policy mine must return one score per waiting job, shape \(4,\), got \(2,\)"),
        (lambda now, procs: np.stack([procs, procs]), r"shape \(1,\), got \(2, 1\)"),
        (lambda procs: np.where(procs == 2, np.nan, procs), "the job at index 2 .* a score that is not a number"),
        (lambda wait, procs: np.where(procs == 2, np.nan, wait), r"policy mine gave the job at index 2 at time \d+ a score"),
        (numba.njit(lambda procs: 1 / (procs - 2)), r"policy mine failed( in line \d+)?: ZeroDivisionError: division by zero"),
        (numba.njit(lambda procs: np.nan if procs == 2 else procs), "the job at index 2 .* a score that is not a number"),
        (numba.njit(lambda procs: "a"), r"policy mine failed( in line \d+)?: TypingError"),
    ],
)  # fmt: skip
def test_mistakes_of_a_function_stop_the_replay(
    registered: Callable[..., Schedule], function: Callable[..., Any], message: str
) -> None:
    for backfill in ("none", "easy", "conservative"):
        with pytest.raises(ValueError, match=message):
            registered(function, SMALL, backfill, procs=4)


def test_a_compiled_score_that_is_not_a_number_stops_the_replay(registered: Callable[..., Schedule]) -> None:
    with pytest.raises(ValueError, match="the job at index 2 at time 100 a score that is not a number"):
        registered(numba.njit(lambda wait, procs: np.nan if procs == 2 else 1.0 * wait), SMALL, procs=4)


@pytest.mark.parametrize("function", [lambda wait, procs: 1 / (procs - 2), lambda wait: "a"])
def test_a_compiled_function_that_fails_is_named(registered: Callable[..., Schedule], function: Any) -> None:
    with pytest.raises(ValueError, match=r"policy mine failed( in line \d+)?: (ZeroDivisionError|TypingError)"):
        registered(numba.njit(function), SMALL, procs=4)


def test_a_name_is_looked_up_when_a_policy_is_parsed(registered: Callable[..., Schedule]) -> None:
    """A name may be given to another function: the replay takes the last one."""
    jobs = busy_jobs(200)
    assert_same(registered(lambda estimate: estimate, jobs), replay(jobs, PROCS, "SJF"))
    assert_same(registered(lambda estimate: -estimate, jobs), replay(jobs, PROCS, "LJF"))


def test_confined_plugins_come_from_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in runs of the UI. Files of other places are not executed, however they are named."""
    folder, elsewhere = tmp_path / "folder", tmp_path / "folder-of-others"
    for place in (folder, elsewhere):
        place.mkdir()
        (place / "aging.py").write_text("def aged(submit): return submit\n")
    (elsewhere / "evil.py").write_text("raise SystemError('executed')\n")
    (folder / "link.py").symlink_to(elsewhere / "evil.py")
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    with confined_plugins(), pytest.raises(ValueError, match="no folder is named for them"):
        load_plugin(folder / "aging.py", "aged")
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    with confined_plugins():
        for named in (Path("aging.py"), folder / "aging.py"):
            assert load_plugin(named, "aged").name == f"{folder / 'aging.py'}:aged"
        for named in (elsewhere / "evil.py", Path("../folder-of-others/evil.py"), Path("link.py")):
            with pytest.raises(ValueError, match="use plug-ins of"):
                load_plugin(named, "aged")
        script = (
            "from simulator.policies.plugins import plugin_file; from pathlib import Path; plugin_file(Path('/x.py'))"
        )
        child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        assert "ValueError" in child.stderr  # as a worker of a training
    with free_plugins(), confined_plugins():
        assert load_plugin(elsewhere / "aging.py", "aged").reads == ("submit",)
    assert load_plugin(elsewhere / "aging.py", "aged").reads == ("submit",)
