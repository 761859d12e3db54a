"""`--backfill FILE` with an agent of Deep Back-Filling: it decides all starts. One of the ways of assets/replaying/running/replayers.py."""

from __future__ import annotations

from pathlib import Path

from assets.replaying.running.policies import ChosenPolicy, sha256_of
from assets.replaying.running.replayers import NOT_IN_PARTITIONS, Asked, Way
from assets.replaying.running.settings import RunSettings
from papers.compiled import RULES_HASH
from papers.deep_back_filling.placing_file import PlacingAgent, load_placing
from simulator.policies.registry import parse_policy
from warehouse import Warehouse


def deciding_agent(settings: RunSettings, warehouse: Warehouse | None, source: str) -> ChosenPolicy:
    """The agent of the file that `--backfill` names. Raises ValueError for a damaged file."""
    path = Path(settings.backfill)
    agent = load_placing(path)
    return ChosenPolicy("FCFS", parse_policy("FCFS"), agent_sha256=sha256_of(path), alone=agent)


def _replayer(asked: Asked) -> PlacingAgent:
    """Raises ValueError for a cluster or a log that the agent's state is not made for."""
    agent, settings, procs = asked.policy.alone, asked.settings, asked.cluster.procs
    assert isinstance(agent, PlacingAgent)
    if procs != agent.cluster_procs:
        raise ValueError(
            f"{settings.backfill}: this agent is made for {agent.made_for}. This cluster has {procs} processors: give --procs "
            f"{agent.cluster_procs}, or train an agent whose network does not depend on them (tracehouse train --learn backfilling "
            f"--agent pick:from=all,window={agent.front}-{agent.back})"
        )
    if settings.estimates == "requested" and not (asked.trace.rows["requested_walltime_s"] > 0).any():
        raise ValueError(
            f"{settings.backfill}: this agent reads requested times, and no job of the log has one. Let it know the run times with "
            "--estimates actual, or replay a source that has predicted ones with --estimates predicted"
        )
    return agent


WAY = Way(
    PlacingAgent,
    _replayer,
    {
        "": "{backfill}: this agent decides all starts by itself, as in its own episodes. Nothing is reserved there, and nobody else "
        "decides: leave --{part} out",
        "estimates live": "{backfill}: this agent reads the estimate that a job has at submission: leave --estimates out, or use "
        "actual or predicted",
        "partitions": NOT_IN_PARTITIONS,
    },
    deciding_agent,
    RULES_HASH,
)
