"""Networks that have learned nothing decide as their rule does."""

from __future__ import annotations

import numpy as np
import pytest

from models.scheduling.learning.starts import rule_network, smallest_area_first
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.policies.agents import parse_agent
from simulator.policies.observation import Layout, layout_named
from simulator.policies.registry import assisted
from tests.simulator.busy import PROCS, busy_jobs


def alike_jobs(count: int) -> Jobs:
    """Busy jobs of which half ask for half an hour and half for ten, on 1, 4 or 16 processors."""
    busy = busy_jobs(count, load=1.4)
    estimate = np.where(busy.estimate < 1500, 1800, 36_000)
    procs = np.select([busy.procs < 4, busy.procs < 16], [1, 4], 16)
    return Jobs(busy.submit, busy.runtime, procs, estimate, np.maximum(busy.runtime, estimate), origin=busy.origin)


@pytest.mark.parametrize("sharpness", [1.0, 40.0])
@pytest.mark.parametrize("base", ["FCFS", "SAF", "WFP3"])
@pytest.mark.parametrize("options", ["", ",guard=none,must=1", ",slack_s=600", ",from=all"])
@pytest.mark.parametrize("window", ["120-0", "6-6", "0-9"])
@pytest.mark.parametrize("by", ["shortest", "narrowest", "smallest"])
def test_a_network_picks_as_the_rule(by: str, window: str, options: str, base: str, sharpness: float) -> None:
    """Also where many jobs are alike, and in whichever slots they are."""
    agent = parse_agent(f"pick:by={by},window={window}{options}")
    network = agent.learned(rule_network(agent, layout_named("picking"), sharpness, 1))
    ruled, learned = (replay(ALIKE, PROCS, assisted(base, each)) for each in (agent, network))
    assert learned.start.tolist() == ruled.start.tolist()


ALIKE = alike_jobs(600)


@pytest.mark.parametrize("by", ["shortest", "narrowest", "smallest"])
def test_a_network_tells_jobs_apart_that_differ_little(by: str) -> None:
    jobs, agent = busy_jobs(600), parse_agent(f"pick:by={by},window=60-60")
    network = agent.learned(rule_network(agent, layout_named("picking"), 40.0, 1))
    ruled, learned = (replay(jobs, PROCS, assisted("FCFS", each)) for each in (agent, network))
    assert learned.start.tolist() == ruled.start.tolist()


@pytest.mark.parametrize("by", ["first", "oldest"])
def test_the_first_is_the_oldest(by: str) -> None:
    """Of those that have waited alike the first row is taken, which is the first in the log."""
    jobs, agent = busy_jobs(600), parse_agent(f"pick:by={by},from=all,window=20-0")
    network = agent.learned(rule_network(agent, layout_named("picking"), 40.0, 1))
    ruled, learned = (replay(jobs, PROCS, assisted("FCFS", each)) for each in (agent, network))
    assert (learned.start == ruled.start).mean() > 0.99


@pytest.mark.parametrize("rule", ["accept", "unfit", "reject"])
def test_a_network_inspects_as_the_rule(rule: str) -> None:
    jobs, agent = busy_jobs(400), parse_agent(f"inspect:{rule}")
    network = agent.learned(rule_network(agent, layout_named("inspecting"), 40.0, 1))
    for policy in ("FCFS", "SAF"):
        ruled, learned = (replay(jobs, PROCS, assisted(policy, each)) for each in (agent, network))
        assert learned.start.tolist() == ruled.start.tolist()


def test_what_the_rule_reads_must_be_there() -> None:
    with pytest.raises(ValueError, match="only where it reads estimate"):
        rule_network(parse_agent("pick:by=shortest"), Layout(("procs",), ("answers_no",)), 40.0, 1)
    with pytest.raises(ValueError, match="only where it reads the area"):
        smallest_area_first(Layout(("procs",), ("wait",)), 40.0, 1)
