"""Tests of simulator/policies: observation, agents, moment, sampling, scoring, network."""

from __future__ import annotations

import math
import re

import numba
import numpy as np
import pytest

from simulator.formula.machine import NUM_SLOTS, STACK_SIZE
from simulator.jobs.cluster import FOREVER
from simulator.jobs.jobs import Jobs, column_of
from simulator.policies import scoring
from simulator.policies.agents import (
    ASKED,
    EVERY_SLOT,
    MOST_SLOTS,
    NETWORK,
    NO_PICKING,
    SHORTEST,
    UNFIT,
    Agent,
    agent_text,
    parse_agent,
    parse_inspecting,
    parse_picking,
    picking_text,
)
from simulator.policies.moment import change_rate, usage_at, usage_of
from simulator.policies.network import (
    AGENT_SIGNALS,
    FEW_ROWS,
    SIGNALS,
    VISIBLE_JOBS,
    NetworkInputs,
    observe,
    score_rows,
)
from simulator.policies.observation import (
    AGENT_LAYOUTS,
    FACTS,
    LAYOUTS,
    Layout,
    Sight,
    blank_network,
    facts_of,
    layout_named,
    layout_of,
    log_seconds,
    no_weights,
    observe_candidates,
    observe_pick,
)
from simulator.policies.registry import assisted, network_policy
from simulator.policies.sampling import DECISIONS, ROWS, draw_choice, new_recorder, record_choice, seed_draws
from simulator.policies.scoring import LAST, Scoring, Scratch, fill_scores
from tests.simulator.busy import random_weights
from tests.simulator.policies.moments import moment

# agent_sight: What the network of an agent reads, by hand.


def seen(signals: tuple[str, ...], sight: Sight, rows: int, pick: bool = False) -> list[dict[str, float]]:
    """Two candidates, the tasks 1 and 2, and a last row for none if there are three."""
    now = moment()
    sight = sight._replace(jobs=2, rows=rows)
    weights = blank_network(Layout(("procs",), signals))
    facts = np.arange(len(now.submit), dtype=np.float32)[:, None]
    out = np.full((128, 1 + len(signals)), 9.0, dtype=np.float32)
    candidates, room = np.array([1, 2]), np.zeros(64)
    admit = column_of(np.full(len(now.submit), 300))
    if pick:
        observe_pick(now, sight.rejected_s, NetworkInputs(weights, facts), candidates, admit, room, out)
    else:
        observe_candidates(now, sight, NetworkInputs(weights, facts), candidates, admit, room, out)
    return [dict(zip(("fact", *signals), map(float, row), strict=True)) for row in out[:rows]]


def test_signals_about_a_blocked_head() -> None:
    now = moment()
    sight = Sight(
        head=0, shadow=now.now + 400, extra=3, slots=np.array([4, 5]), at_front=5, rejected_s=0, jobs=0, rows=0
    )
    first, second, none = seen(AGENT_SIGNALS, sight, 3)
    assert [row["fact"] for row in (first, second, none)] == [1.0, 2.0, 0.0]
    assert (first["ends_by_shadow"], none["ends_by_shadow"]) == (1.0, 0.0), "300 s of the 400 s that are left"
    assert [row["answers_no"] for row in (first, second, none)] == [0.0, 0.0, 1.0]
    assert [row["at_front"] for row in (first, second, none)] == [1.0, 0.0, 0.0]
    of_all = {
        "time_to_shadow": math.log2(401) / 20,
        "extra_procs": 3 / now.cluster_procs,
        "head_procs": now.procs[0] / now.cluster_procs,
        "head_wait": math.log2(1 + now.now - now.submit[0]) / 20,
        "head_estimate": math.log2(1 + now.estimate[0]) / 20,
        "next_end": math.log2(1 + max(now.est_end[0] - now.now, 0)) / 20 if now.running else 0.0,
    }
    for row in (first, second, none):
        assert {name: row[name] for name in of_all} == pytest.approx(of_all, rel=1e-6)
    assert first["estimate_over_shadow"] == pytest.approx(math.log2(1 + 300 / 401) / 10, rel=1e-6)
    assert first["left_free"] == pytest.approx((now.free - now.procs[1]) / now.cluster_procs, rel=1e-6)


def test_extra_processors_are_never_below_none() -> None:
    """Beside an announced outage picks fit into the plan, and what they take from the extra processors is not there."""
    sight = Sight(
        head=0, shadow=moment().now + 400, extra=-3, slots=np.arange(3), at_front=1, rejected_s=0, jobs=0, rows=0
    )
    assert [row["extra_procs"] for row in seen(("extra_procs",), sight, 3)] == [0.0, 0.0, 0.0]


def test_without_a_head_nothing_is_known_of_it() -> None:
    sight = Sight(head=-1, shadow=FOREVER, extra=0, slots=np.array([0, 1]), at_front=2, rejected_s=0, jobs=0, rows=0)
    rows = seen(("head_wait", "head_procs", "time_to_shadow", "extra_procs", "estimate_over_shadow"), sight, 3)
    assert all(value == 0.0 for row in rows for name, value in row.items() if name != "fact")


def test_a_pick_is_two_rows_that_differ_in_the_answer_alone() -> None:
    now = moment()
    sight = Sight(head=-1, shadow=0, extra=0, slots=np.array([0]), at_front=0, rejected_s=21_600, jobs=0, rows=0)
    signals = AGENT_LAYOUTS["inspecting"].signals
    accept, reject = seen(signals, sight, 2, pick=True)
    assert {name for name in accept if accept[name] != reject[name]} == {"answers_no"}
    assert accept["rejected_of_12_h"] == 0.5
    waiting = now.estimate[now.queue[: now.queued]]
    assert accept["queue_urgency"] == pytest.approx(min(sum(600 / np.maximum(waiting, 10)) / 7680, 1.0), rel=1e-5)


# agents: Agents by name: what is written is read, and what cannot be is refused with the way out.


@pytest.mark.parametrize(
    "text",
    [
        "pick:by=first",
        "pick:by=shortest,window=10-10",
        "pick:by=first,guard=none",
        "pick:by=oldest,from=all,window=0-8",
        "pick:by=first,slack_s=600,slack_share=0.25,must=1",
        "pick:by=smallest,from=all,keep_free=96,keep_over_s=60",
    ],
)
def test_options_are_written_as_they_are_read(text: str) -> None:
    assert picking_text(parse_picking(text)) == text
    assert agent_text(parse_agent(text)) == text


def test_what_is_usual() -> None:
    assert parse_picking("pick") == NO_PICKING._replace(by=1) == parse_picking("PICK:by=First, guard=reservation")
    assert parse_picking("pick").front == EVERY_SLOT
    assert not parse_picking("pick:from=all").guarded


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pick:bye=first", "unknown option 'bye'; did you mean 'by'? Expected one of from, window, guard, by, slack_s"),
        ("pick:by=longest", "by must be one of first, oldest, shortest, narrowest, smallest, got 'longest'"),
        ("pick:window=10", "window must be all, or H-T with at least one slot"),
        ("pick:window=0-0", "at least one slot"),
        ("pick:from=all,guard=reservation", "no head that a guard could protect"),
        ("pick:guard=none,slack_s=5", "slack is what a guard allows"),
        ("pick:slack_s=-1", "slack_s must be a whole number from 0 on, got '-1'"),
        ("pick:keep_free=1.5", "keep_free must be a whole number"),
        ("pick:slack_share=much", "slack_share must be a number from 0 on"),
        ("choose:by=first", "expected pick:OPTIONS or inspect:RULE"),
        ("inspect:all", "unknown inspector 'all'; expected one of accept, unfit, reject"),
    ],
)
def test_what_cannot_be_read(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        parse_agent(text)


def test_inspectors() -> None:
    assert parse_inspecting("unfit").by == parse_agent("inspect:unfit").inspecting.by == UNFIT
    assert agent_text(parse_agent("inspect:reject")) == "inspect:reject"


def test_who_decides() -> None:
    agent, weights = parse_agent("pick:by=shortest,window=64-63"), blank_network(layout_named("picking"))
    assert agent.picking.by == SHORTEST and agent.asked().picking.by == ASKED
    learned = agent.learned(weights)
    assert learned.picking.by == NETWORK and learned.weights is weights and learned.inspecting == agent.inspecting
    assert assisted("SJF", learned).weights is weights
    with pytest.raises(ValueError, match=f"at most {MOST_SLOTS} jobs: set window=H-T"):
        parse_agent("pick").learned(weights)


def test_networks_that_do_not_go_together() -> None:
    agent = parse_agent("inspect:accept").learned(blank_network(layout_named("inspecting")))
    with pytest.raises(ValueError, match="cannot decide together"):
        assisted(network_policy(random_weights()), agent)
    for layout in AGENT_LAYOUTS.values():
        with pytest.raises(ValueError, match=r"is an agent's.*--backfill or --inspector"):
            network_policy(blank_network(layout))
    assert not set(AGENT_LAYOUTS) & set(LAYOUTS)
    with pytest.raises(ValueError, match="unknown layout 'bare', expected one of paper"):
        layout_named("bare")


def test_nobody_decides_in_an_empty_agent() -> None:
    assert Agent().asked() == Agent()


# moment: Usage at one moment.


@numba.njit
def _usage_of(now, user):
    return usage_of(now, user)


def test_usage_of_a_user_and_of_all() -> None:
    later = moment(now=150)
    assert [_usage_of(later, user) for user in (0, 1, -1)] == [1.5, 4.5, 6.0], "one half-life later"


def test_usage_is_the_decayed_integral_of_processors() -> None:
    usage, rate, since = np.zeros(3), np.zeros(3), np.zeros(3, dtype=np.int64)
    change_rate(usage, rate, since, 0, 100, 4, 50.0)
    change_rate(usage, rate, since, 1, 120, 1, 50.0)
    change_rate(usage, rate, since, 0, 180, -4, 50.0)
    moments = np.arange(100, 180, 0.001) + 0.0005
    first = 4 * np.sum(2.0 ** (-(300 - moments) / 50.0)) * 0.001
    assert usage_at(usage, rate, since, 0, 300, 50.0) == pytest.approx(first, rel=1e-6)
    everyone = first + usage_at(usage, rate, since, 1, 300, 50.0)
    assert usage_at(usage, rate, since, 2, 300, 50.0) == pytest.approx(everyone, rel=1e-9)


# network: The network's inputs by hand, and its outputs against numpy.


def test_every_signal_by_hand() -> None:
    weights = blank_network(Layout(("estimate",), SIGNALS))
    facts = np.arange(5, dtype=np.float32)[:, None]
    rows = np.zeros((VISIBLE_JOBS, 1 + len(SIGNALS)), dtype=np.float32)
    observe(moment(), NetworkInputs(weights, facts), 0, 3, np.zeros(2), rows)
    second = dict(zip(("estimate", *SIGNALS), rows[1].tolist(), strict=True))
    expected = {
        "estimate": 3.0,
        "wait": np.log2(11) / 20,
        "wait_over_estimate": np.log2(2) / 10,
        "fits": 0.0,
        "free_procs": 2 / 8,
        "queue_length": 3 / 128,
        "wait_of_12_h": 10 / 43200,
        "start_delay": np.log2(51) / 20,
        "queued_work": np.log2(1 + (20 + 40 + 320) / 8) / 20,
        "running_work": np.log2(1 + (50 * 2 + 60 * 4) / 8) / 20,
        "user_share": 9 / 12,
        "wait_of_cap": 10 / 119_000,
    }
    assert second == pytest.approx(expected)
    assert rows[0, 1 + SIGNALS.index("fits")] == 1.0
    assert not rows[3:].any()


@pytest.mark.parametrize("visible", [1, FEW_ROWS - 1, FEW_ROWS, 100])
def test_outputs_are_those_of_the_network(visible: int) -> None:
    weights = random_weights()
    rows = np.random.default_rng(1).random((VISIBLE_JOBS, weights.w1.shape[0]), dtype=np.float32)
    outputs = np.empty(VISIBLE_JOBS, dtype=np.float32)
    score_rows(rows, visible, weights, outputs)
    hidden = rows[:visible]
    for matrix, bias in ((weights.w1, weights.b1), (weights.w2, weights.b2), (weights.w3, weights.b3)):
        hidden = np.maximum(hidden @ matrix + bias, 0.0)
    assert outputs[:visible] == pytest.approx(hidden @ weights.w4, rel=1e-4, abs=1e-5)


# observation: Layouts: what a network reads by name, and the facts of jobs.

n = np.array
JOBS = Jobs(n([0, 0]), n([10, 20]), n([1, 4]), n([15, 1023]), n([15, 1023]), facts={"memory": n([0.5, 0.25])})


@pytest.mark.parametrize("name", LAYOUTS | AGENT_LAYOUTS)
def test_a_network_remembers_its_layout(name: str) -> None:
    layout = layout_named(name)
    weights = blank_network(layout)
    assert layout_of(weights) == layout
    assert weights.w1.shape[0] == len(layout.inputs)


def test_layouts_of_agents_are_not_among_those_that_order_the_queue() -> None:
    assert all(set(layout.signals) <= set(SIGNALS) for layout in LAYOUTS.values())
    assert not set(LAYOUTS) & set(AGENT_LAYOUTS)
    for layout in AGENT_LAYOUTS.values():
        with pytest.raises(ValueError, match="this network is an agent's"):
            network_policy(blank_network(layout))


def test_facts_by_hand() -> None:
    indices = n([FACTS.index(name) for name in ("procs_share", "estimate", "memory")])
    assert facts_of(JOBS, 8, indices) is facts_of(JOBS, 8, indices)
    assert facts_of(JOBS, 8, indices).tolist() == pytest.approx(n([[0.125, 0.2, 0.5], [0.5, 0.5, 0.25]]))
    setback = facts_of(JOBS, 8, n([FACTS.index("setback")]))[:, 0]
    least = 1_010_000 / 119_000 * n([15 / 14_400 / np.sqrt(8), 1023 / 14_400])
    assert setback.tolist() == pytest.approx(least, rel=1e-6)
    assert log_seconds(n([0, 1023])).tolist() == [0.0, 0.5]


def test_unknown_inputs_are_named() -> None:
    with pytest.raises(ValueError, match="unknown input 'colour'"):
        blank_network(Layout(("colour",), ()))
    with pytest.raises(ValueError, match="reads user, executable of each job, which these jobs do not have"):
        facts_of(JOBS, 8, n([FACTS.index("user"), FACTS.index("executable")]))


# sampling: Draws from the softmax, and the recorder.


def test_draws_follow_the_softmax_and_the_seed() -> None:
    outputs = np.log(np.array([1.0, 2.0, 5.0, 99.0])).astype(np.float32)

    def draws() -> list[tuple[int, float]]:
        seed_draws(7)
        return [draw_choice(outputs, 3) for _ in range(4000)]

    drawn = draws()
    places = np.array([place for place, _ in drawn])
    assert np.bincount(places, minlength=4) / 4000 == pytest.approx([0.125, 0.25, 0.625, 0.0], abs=0.03)
    assert dict(drawn) == pytest.approx({0: np.log(0.125), 1: np.log(0.25), 2: np.log(0.625)})
    assert draws() == drawn


def test_a_full_recorder_refuses_and_keeps_what_it_has() -> None:
    recorder = new_recorder(rows=5, decisions=2, inputs=1)
    rows = np.arange(4, dtype=np.float32)[:, None]
    assert record_choice(recorder, rows, 3, 2, -0.5, 7)
    assert not record_choice(recorder, rows, 3, 0, -0.5, 7), "no room for three rows"
    assert record_choice(recorder, rows, 2, 1, -0.25, 8)
    assert not record_choice(recorder, rows, 0, 0, 0.0, 9), "no room for a decision"
    assert (recorder.used[DECISIONS], recorder.used[ROWS]) == (2, 5)
    assert recorder.features.ravel().tolist() == [0.0, 1.0, 2.0, 0.0, 1.0]
    assert (recorder.first_row.tolist(), recorder.num_rows.tolist()) == ([0, 3], [3, 2])
    assert (recorder.choice.tolist(), recorder.log_prob.tolist()) == ([2, 1], [-0.5, -0.25])


# scoring: Scores of changing priorities by hand; the lowest goes first.


def scores(kind: int, parameters: tuple[float, ...] = (0.0,)) -> list[float]:
    """What a policy of this kind gives the three waiting jobs."""
    policy = Scoring(
        kind, np.zeros(1), np.array(parameters), 50.0, 2, False, np.zeros((0, 2), dtype=np.int64), np.zeros(0),
        no_weights(), np.zeros((5, 0), dtype=np.float32), 0, False,
    )  # fmt: skip
    empty = np.zeros((0, 0), dtype=np.float32)
    scratch = Scratch(np.zeros(NUM_SLOTS), np.zeros(STACK_SIZE), empty, empty[:, 0:0].ravel(), np.zeros(2))
    score = np.empty(3)
    assert fill_scores(moment(), policy, scratch, score) == (-1, -1)
    return score.tolist()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (scoring.SEXP, [80 / 20, 20 / 10, 1.0]),
        (scoring.LEXP, [-80 / 20, -20 / 10, -1.0]),
        (scoring.WFP3, [-(3.0**3), -4.0, 0.0]),
        (scoring.TETRIS, [-(1 / 8) * (2 / 8), 1.0, 1.0]),
        (scoring.TETRIS_STAR, [0.0, LAST, LAST]),
        (scoring.FAIRSHARE, [3.0, 9.0, 9.0]),
    ],
)
def test_scores_by_hand(kind: int, expected: list[float]) -> None:
    assert scores(kind) == pytest.approx(expected)


def test_unicep_takes_a_serial_job_first() -> None:
    serial, wide, widest = scores(scoring.UNICEP)
    assert serial < wide < widest == 0.0
    assert wide == pytest.approx(-10 / (2 * 10))


def test_multifactor_adds_its_weighted_factors() -> None:
    age, fair, size = 60 / 600, 2.0 ** -(3 / 12 * 2), 1 / 8
    assert scores(scoring.MULTIFACTOR, (10.0, 600.0, 100.0, 1000.0))[0] == pytest.approx(
        -(10 * age + 100 * fair + 1000 * size)
    )
