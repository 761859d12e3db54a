"""A source of 400 jobs in three queues, in a home of its own, and scenarios of it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from assets.common.storage import open_warehouse
from assets.replaying import pace
from assets.replaying.scenarios.planning import plan_scenarios
from assets.replaying.scenarios.results import ScenarioResults, replay_scenarios
from assets.replaying.scenarios.scenario_file import scenarios_of
from simulator.jobs.followers import WITHIN_S
from tests.pipelines.command_line import use_home
from tests.tiny import busy_log, in_queues, load_once
from traces.catalogue.catalogue import load_catalogue
from warehouse import replace_partition

NODES = "; MaxNodes: 4\n"
"""Nodes of the cluster, each of 4 processors."""
SIX = {
    "a quarter more": {"procs": "+25%"},
    "a node off": {"nodes": -1},
    "live times": {"estimates": "live:mean", "reserve_by": "requested"},
    "shortest first": {"policy": "SJF"},
    "rounded": {"round_walltimes": "4h"},
    "without 7": {"without_queue": "7"},
}


def busy_home(patch: pytest.MonkeyPatch, folder: Path, header: str = NODES) -> Path:
    """Points tracehouse at a home whose source `mine` has 400 jobs in the queues 1, 2 and 7 on 4 nodes of 4 processors. header: says so.

    Its users wait for no end. For tests of users who keep their pace, jobs within 20 minutes of one follow it all the same."""
    patch.setattr(pace, "longest_think", lambda *_: WITHIN_S)
    catalogue = use_home(patch, folder / "home")
    log = folder / "mine.swf"
    log.write_text(header + in_queues(busy_log()))
    catalogue.write_text(f'[sources.mine]\nformat = "swf"\npath = "{log}"\n')
    load_once(open_warehouse(), load_catalogue().source("mine"))
    return folder


def write_grade(grade: str | None, policy: str = "SAF", procs: int = 16, **machine: str | None) -> None:
    """Grades the source `mine`, or says that it has no grade. machine: size_over_time and partitions of replay.configurations."""
    row = {"part": "all", "value": "", "jobs": 9, "logged_wait_s": 7200.0, "replayed_wait_s": 3600.0, "grade": grade}
    row["no_grade_because"] = None if grade else "hardly anybody waited"
    fitted = {
        "place": 1,
        "policy": policy,
        "backfill": "none",
        "procs": procs,
        "jobs": 5,
        "factor": 2.0,
        "semantics": 5,
    }
    with open_warehouse().write() as connection:
        replace_partition(connection, "replay.fidelity", "mine", pl.DataFrame([row], infer_schema_length=None))
        if grade:
            replace_partition(connection, "replay.configurations", "mine", pl.DataFrame([fitted | machine]))


def results_of(scenarios: dict[str, dict[str, object]], source: str = "mine", **document: object) -> ScenarioResults:
    """What comes of scenarios of a source."""
    return replay_scenarios(plan_scenarios(scenarios_of({"scenarios": scenarios, **document}), source))
