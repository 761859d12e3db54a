"""Agents by name: what is written is read, and what cannot be is refused with the way out."""

from __future__ import annotations

import re

import pytest

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
from simulator.policies.observation import AGENT_LAYOUTS, LAYOUTS, blank_network, layout_named
from simulator.policies.registry import assisted, network_policy
from tests.simulator.busy import random_weights


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
