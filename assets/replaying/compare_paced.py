"""Two runs once more, with users who keep their pace: what the change and the verdict of their comparison are then."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from assets.common.trace import Trace, load_trace
from assets.replaying.pace import pace_of_site
from assets.replaying.running.loading import is_path
from assets.replaying.running.policies import ChosenPolicy
from assets.replaying.running.replayers import check_settings, choose_policy
from assets.replaying.running.run import ReplayRun
from assets.replaying.running.settings import RunSettings
from assets.replaying.running.users import UsersPace
from assets.replaying.scenarios.paced import (
    Paced,
    check_length,
    enough_react,
    paced_beside,
    paced_columns,
    replay_at_pace,
)
from traces.catalogue.sources import CatalogueError
from warehouse import Warehouse


def settings_of_row(row: dict[str, Any]) -> RunSettings:
    """The settings of a row of replay.runs of a whole log without outages, whose columns have their names."""
    return RunSettings.model_validate(
        {name: row[name] for name in RunSettings.model_fields if row.get(name) is not None}
    )


def paced_verdict(
    warehouse: Warehouse,
    rows: tuple[dict[str, Any], dict[str, Any]],
    jobs: pl.DataFrame,
    verdict: str,
    runs: tuple[ReplayRun, ReplayRun] | None = None,
) -> tuple[dict[str, Any], Paced | None]:
    """Run B next to run A with users who keep their pace: columns as `paced_columns` gives them with following_share, and the replay. There
    is none where few users react, or where not_paced_because says why.

    rows: of replay.runs, of A and B. jobs: the scored ones, of replay.paired_jobs. verdict: at the times of the log. runs: where they are
    of this process."""
    source = rows[0]["source"]
    try:
        again = [(each.trace, each.settings, each.policy) for each in runs or ()] or [
            _of_row(warehouse, row) for row in rows
        ]
        pace = _pace(source, *again[0][:2])
        if pace is None:
            return {}, None
        if any(each.ground is not None for each in runs or ()):
            raise ValueError("jobs that are placed on nodes are submitted at the log's times")
        base, run = (replay_at_pace(*each, pace, own_runs=1) for each in again)
        paced = paced_beside(base, run, _scored(base, jobs))
    except ValueError as error:
        return {"not_paced_because": str(error)}, None
    return paced_columns(verdict, paced, paced.judgement) | {"following_share": pace.share}, paced


def _of_row(warehouse: Warehouse, row: dict[str, Any]) -> tuple[Trace, RunSettings, ChosenPolicy]:
    """What a row of replay.runs needs to be replayed once more. Raises ValueError where the file of its policy, or of an agent, is not at
    hand as it was."""
    settings = check_settings(settings_of_row(row))
    policy = choose_policy(settings, warehouse, row["source"])
    if (policy.sha256, policy.agent_sha256) != (row["policy_sha256"], row["agent_sha256"]):
        raise ValueError(f"the policy of run {row['run']!r} is no longer what it was: save the run again")
    trace = load_trace(warehouse, row["source"], settings.cancelled, list(dict.fromkeys(settings.labels)))
    return trace, settings, policy


def _pace(source: str, trace: Trace, settings: RunSettings) -> UsersPace | None:
    """Of the users of a source, or of the log at a path. None where few users react, and where users are not known. trace, settings: of the
    first run. Raises ValueError as `check_length` does."""
    if settings.is_closed:
        return None
    check_length(settings, trace.rows.height)
    try:
        pace = pace_of_site(source, trace if is_path(source) else None)
    except (ValueError, CatalogueError):
        return None
    return pace if enough_react(pace) else None


def _scored(run: ReplayRun, jobs: pl.DataFrame) -> np.ndarray:
    """job_index of the scored jobs. Raises ValueError where these are others than a run was saved with."""
    place = jobs["place"].to_numpy() - 1
    if not len(place) or place.max() >= run.rows.height or not run.rows["procs"][place].equals(jobs["procs"]):
        raise ValueError("the log has changed since the runs were saved: save them again")
    return run.rows["job_index"].to_numpy()[place]
