"""Episodes of asked agents: whoever answers as a rule has the rule's schedules, and sees what a network would."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from simulator.agents.batch import USUAL_RULES, WindowRules
from simulator.agents.deciding import ACCEPTING, REJECTING, DecidingBatch, DecidingSight
from simulator.agents.trajectories import sample_windows
from simulator.engine.replay import replay
from simulator.jobs.jobs import jobs_from_log
from simulator.policies.agents import Agent, parse_agent
from simulator.policies.observation import AGENT_LAYOUTS, LAYOUTS
from simulator.policies.registry import assisted, parse_policy
from tests.simulator.busy import FIRST, PROCS, WINDOW, busy_jobs, random_weights

Act = Callable[[DecidingSight], np.ndarray]
JOBS = busy_jobs(500, load=1.3)
FITS = AGENT_LAYOUTS["inspecting"].inputs.index("fits")
PICKING = ["pick:window=120-0", "pick:window=10-10", "pick:from=all,window=4-3", "pick:guard=none,must=1,window=8-8",
           "pick:slack_s=600,keep_free=4,keep_over_s=600,window=20-2"]  # fmt: skip


def played(batch: DecidingBatch, first: np.ndarray, act: Act) -> tuple[np.ndarray, int]:
    """Start times, and the steps of the longest episode."""
    sight, steps = batch.reset(first), 0
    while sight.asking.any():
        sight, steps = batch.step(act(sight)), steps + 1
    return batch.start.copy(), steps


def assert_replayed(batch: DecidingBatch, base: str, agent: Agent, backfill: str = "easy") -> None:
    for e, first in enumerate(batch.first.tolist()):
        alone = replay(JOBS.window(first, WINDOW), PROCS, assisted(base, agent), backfill)
        assert batch.start[e].tolist() == alone.start.tolist(), f"window {e}"
        assert batch.backfilled[e].tolist() == alone.backfilled.tolist(), f"window {e}"


def shortest(batch: DecidingBatch) -> Act:
    """The row of the shortest job, ties by order in the log."""

    def act(sight: DecidingSight) -> np.ndarray:
        estimate = JOBS.estimate[batch.first[:, None] + np.maximum(sight.jobs, 0)]
        return np.where(sight.jobs >= 0, estimate * WINDOW + sight.jobs, np.iinfo(np.int64).max).argmin(axis=1)

    return act


def last_row(sight: DecidingSight) -> np.ndarray:
    """None, where it is an answer; to reject."""
    return np.maximum(sight.mask.sum(axis=1) - 1, 0)


@pytest.mark.parametrize("base", ["FCFS", "WFP3", "fairshare", "formula:-estimate * procs + free"])
@pytest.mark.parametrize("text", PICKING)
def test_picking_as_the_rule_has_its_schedules(base: str, text: str) -> None:
    batch = DecidingBatch(JOBS, PROCS, WINDOW, len(FIRST), parse_agent(text), base)
    played(batch, FIRST, shortest(batch))
    assert_replayed(batch, base, parse_agent(f"{text},by=shortest"))


@pytest.mark.parametrize("base", ["FCFS", "WFP3"])
@pytest.mark.parametrize("text", [*PICKING, "pick:from=all,window=0-6"])
def test_the_first_row_is_that_of_the_oldest_job(base: str, text: str) -> None:
    batch = DecidingBatch(JOBS, PROCS, WINDOW, len(FIRST), parse_agent(text), base)

    def first_row(sight: DecidingSight) -> np.ndarray:
        for row in sight.jobs:
            shown = row[row >= 0].tolist()
            assert shown == sorted(set(shown)) == row[: len(shown)].tolist()
        return np.zeros(len(FIRST), dtype=np.int64)

    played(batch, FIRST, first_row)
    assert_replayed(batch, base, parse_agent(f"{text},by=oldest"))


@pytest.mark.parametrize("backfill", ["easy", "none", "pick:by=narrowest,window=5-5"])
@pytest.mark.parametrize("base", ["SAF", "WFP3"])
@pytest.mark.parametrize(
    ("rule", "act"),
    [
        ("accept", lambda sight: np.full(len(sight.asking), ACCEPTING)),
        ("reject", lambda sight: np.full(len(sight.asking), REJECTING)),
        ("unfit", lambda sight: np.where(sight.features[:, ACCEPTING, FITS] > 0, ACCEPTING, REJECTING)),
    ],
)
def test_inspecting_as_the_rule_has_its_schedules(rule: str, act: Act, base: str, backfill: str) -> None:
    rules = WindowRules(backfill, threads=1)
    batch = DecidingBatch(JOBS, PROCS, WINDOW, len(FIRST), parse_agent("inspect:accept"), base, rules)
    played(batch, FIRST, act)
    assert_replayed(batch, base, parse_agent(f"inspect:{rule}"), backfill)


@pytest.mark.parametrize("text", ["pick:window=64-63", "pick:from=all,window=6-6", "inspect:accept"])
def test_questions_are_those_of_a_network(text: str) -> None:
    """The features, times and rows that a learning network records, step by step."""
    agent, layout = parse_agent(text), "inspecting" if text.startswith("inspect") else "picking"
    policy = assisted("SAF", agent.learned(random_weights(3, layout)))
    shown = sample_windows(JOBS, PROCS, FIRST, WINDOW, policy, 5)
    batch = DecidingBatch(JOBS, PROCS, WINDOW, len(FIRST), agent, "SAF")
    sight = batch.reset(FIRST)
    asked = np.zeros(len(FIRST), dtype=np.int64)
    while sight.asking.any():
        action = np.zeros(len(FIRST), dtype=np.int64)
        for e in np.flatnonzero(sight.asking):
            decision = shown.first_decision[e] + asked[e]
            rows = slice(shown.first_row[decision], shown.first_row[decision] + shown.num_rows[decision])
            assert np.flatnonzero(sight.mask[e]).tolist() == list(range(shown.num_rows[decision]))
            assert np.array_equal(sight.features[e][sight.mask[e]], shown.features[rows])
            assert not sight.features[e][~sight.mask[e]].any() and sight.time[e] == shown.time[decision]
            action[e] = shown.choice[decision]
            asked[e] += 1
        sight = batch.step(action)
    assert asked.tolist() == np.diff(shown.first_decision).tolist()
    assert np.array_equal(batch.start, shown.start)


def test_rows_by_hand() -> None:
    """At 0 job 0 starts; job 1 is too wide and is the head. Jobs 2 and 3 may go past it, and so may nobody."""
    jobs = jobs_from_log(
        submit=[0, 1, 1, 1], runtime=[100, 50, 80, 10], procs=[3, 4, 1, 1], requested_walltime=[100, 50, 80, 10]
    )
    batch = DecidingBatch(jobs, 4, 4, 1, parse_agent("pick:window=3-0"))
    sight = batch.reset(np.array([0]))
    assert sight.features.shape == (1, 4, len(AGENT_LAYOUTS["picking"].inputs))
    assert sight.mask.tolist() == [[True, True, True, False]]
    assert sight.jobs.tolist() == [[2, 3, -1, -1]] and sight.time.tolist() == [1]
    answers_no = AGENT_LAYOUTS["picking"].inputs.index("answers_no")
    assert sight.features[0, :, answers_no].tolist() == [0, 0, 1, 0]
    sight = batch.step(np.array([1]))
    assert sight.jobs.tolist() == [[2, -1, -1, -1]] and sight.time.tolist() == [11]
    sight = batch.step(np.array([1]))
    assert not sight.asking[0] and not sight.mask.any() and not sight.features.any()
    assert batch.start.tolist() == [[0, 100, 150, 1]]


def test_none_is_no_answer_where_two_must_be_picked_from() -> None:
    batch = DecidingBatch(JOBS, PROCS, WINDOW, 2, parse_agent("pick:must=1,guard=none,window=9-9"))
    sight = batch.reset(FIRST[:2])
    while sight.asking.any():
        assert np.array_equal(sight.mask, sight.jobs >= 0) and (sight.mask.sum(axis=1)[sight.asking] > 1).all()
        sight = batch.step(np.zeros(2, dtype=np.int64))


@pytest.mark.parametrize("text", [*PICKING, "inspect:accept"])
def test_agents_that_always_say_no_come_to_an_end(text: str) -> None:
    batch = DecidingBatch(JOBS, PROCS, WINDOW, len(FIRST), parse_agent(text))
    start, _ = played(batch, FIRST, last_row)
    assert (start >= JOBS.submit[FIRST[:, None] + np.arange(WINDOW)]).all()


def test_episodes_begin_anew_by_themselves() -> None:
    agent, rng = parse_agent("pick:window=10-10"), np.random.default_rng(1)
    several = DecidingBatch(JOBS, PROCS, WINDOW, 3, agent, "fairshare")
    alone = DecidingBatch(JOBS, PROCS, WINDOW, 1, agent, "fairshare")
    several.reset(FIRST[:3])
    for _ in range(20):
        several.step(np.zeros(3, dtype=np.int64))
    before = [column.copy() for column in several._sight]
    seen, beside = several.reset(FIRST[[4, 4, 4]], np.array([False, True, False])), alone.reset(FIRST[4:])
    for now, old, single in zip(seen, before, beside, strict=True):
        assert np.array_equal(now[[0, 2]], old[[0, 2]]) and np.array_equal(now[1], single[0])
    assert several.first.tolist() == FIRST[[0, 4, 2]].tolist()
    while beside.asking[0]:
        row = rng.integers(beside.mask[0].sum())
        seen, beside = several.step(np.array([0, row, 0])), alone.step(np.array([row]))
        assert np.array_equal(seen.features[1], beside.features[0])
    assert np.array_equal(several.start[1], alone.start[0])


def test_threads_change_nothing() -> None:
    first = np.arange(0, 380, 2)
    agent = parse_agent("pick:window=6-6")
    one, four = (
        DecidingBatch(JOBS, PROCS, WINDOW, len(first), agent, rules=WindowRules(threads=count)) for count in (1, 4)
    )
    assert np.array_equal(played(one, first, last_row)[0], played(four, first, last_row)[0])


def test_any_layout_may_be_seen() -> None:
    batch = DecidingBatch(JOBS, PROCS, WINDOW, 1, parse_agent("inspect:accept"), layout=LAYOUTS["plain"])
    assert batch.reset(FIRST[:1]).features.shape == (1, 2, len(LAYOUTS["plain"].inputs))


def test_what_cannot_be_stepped() -> None:
    def batch(text: str, base: str = "FCFS", rules: WindowRules = USUAL_RULES) -> DecidingBatch:
        return DecidingBatch(JOBS, PROCS, WINDOW, 1, parse_agent(text), base, rules)

    for settings, message in (
        (("pick",), "at most 127 jobs: set window=H-T"),
        (("pick:window=5-5", "random"), "random cannot be beside an agent that is stepped"),
        (("inspect:accept", "FCFS", WindowRules("conservative")), "no picks that could be inspected"),
        (("inspect:accept", "FCFS", WindowRules(rule_set="rlscheduler")), "standard rules"),
    ):
        with pytest.raises(ValueError, match=message):
            batch(*settings)
    with pytest.raises(ValueError, match="of one agent"):
        DecidingBatch(JOBS, PROCS, WINDOW, 1, Agent())
    learned = parse_policy("learned", random_weights())
    with pytest.raises(ValueError, match="cannot decide together"):
        DecidingBatch(JOBS, PROCS, WINDOW, 1, parse_agent("inspect:accept"), learned)
    able = batch("pick:window=5-5")
    with pytest.raises(ValueError, match="one window per episode"):
        able.reset(np.array([0, 1]))
    with pytest.raises(ValueError, match="must begin between"):
        able.reset(np.array([450]))
    able.reset(np.array([0]))
    with pytest.raises(ValueError, match="row 9 is no answer; expected one below"):
        able.step(np.array([9]))
    with pytest.raises(ValueError, match="one action per episode"):
        able.step(np.array([0, 0]))


def test_a_formula_that_fails_says_so() -> None:
    batch = DecidingBatch(JOBS, PROCS, WINDOW, 1, parse_agent("inspect:accept"), "formula:1 / (free - free)")
    with pytest.raises(ValueError, match="free"):
        batch.reset(np.array([0]))
