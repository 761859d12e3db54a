"""What the network of an agent reads, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simulator.jobs.cluster import FOREVER
from simulator.jobs.jobs import column_of
from simulator.policies.agent_sight import Sight, observe_candidates, observe_pick
from simulator.policies.network import AGENT_SIGNALS, NetworkInputs
from simulator.policies.observation import AGENT_LAYOUTS, Layout, blank_network
from tests.simulator.policies.moments import moment


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
