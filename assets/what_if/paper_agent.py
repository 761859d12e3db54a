"""Replays by an agent of Deep Back-Filling in the mode of the paper, which decides all starts by itself (docs/reference/semantics.md)."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from assets.what_if.settings import RunSettings
from models.backfilling.placing_file import PlacingAgent, is_placing_file, load_placing


def choose_placing(settings: RunSettings) -> PlacingAgent | None:
    """The agent of the file that `--backfill` names, None where it names another kind of file, or none.

    settings: as assets.what_if.settings.check_settings returns them. Raises ValueError, with the remedy, for a damaged file and for
    settings that the agent has no use for.
    """
    file = settings.backfill_file
    if file is None or not is_placing_file(Path(file)):
        return None
    agent = load_placing(Path(file))
    refused = {
        "policy": settings.policy.strip().upper() != "FCFS",
        "inspector": settings.inspector is not None,
        "reserve-by": settings.reserve_by != "estimate",
        "admit-by": settings.admit_by != "estimate",
        "correction": settings.correction != "requested",
        "warm-start": settings.warm_start,
        "outages": bool(settings.outages),
        "cancelled": settings.cancelled,
    }
    for name, given in refused.items():
        if given:
            raise ValueError(
                f"{file}: this agent decides all starts by itself, as in its own episodes. Nothing is reserved there, and nobody else "
                f"decides: leave --{name} out"
            )
    if settings.believed.is_live:
        raise ValueError(
            f"{file}: this agent reads the estimate that a job has at submission: leave --estimates out, or use actual or predicted"
        )
    return agent


def check_made_for(agent: PlacingAgent, settings: RunSettings, rows: pl.DataFrame, cluster_procs: int) -> None:
    """Raises ValueError, with the remedy, for a cluster or a log that the agent's state is not made for. rows: of Trace.rows."""
    file = settings.backfill
    if cluster_procs != agent.cluster_procs:
        raise ValueError(
            f"{file}: this agent is made for {agent.made_for}. This cluster has {cluster_procs} processors: give --procs "
            f"{agent.cluster_procs}, or train an agent whose network does not depend on them (tracehouse train --learn backfilling "
            f"--agent pick:from=all,window={agent.front}-{agent.back})"
        )
    if settings.estimates == "requested" and not (rows["requested_walltime_s"] > 0).any():
        raise ValueError(
            f"{file}: this agent reads requested times, and no job of the log has one. Let it know the run times with --estimates "
            "actual, or replay a source that has predicted ones with --estimates predicted"
        )
