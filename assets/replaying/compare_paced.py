"""Two runs once more, with users who keep their pace: what the change and the verdict of their comparison are then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from assets.common.trace import Trace, load_trace
from assets.replaying.pace import pace_of_site
from assets.replaying.running.loading import is_path
from assets.replaying.running.policies import ChosenPolicy
from assets.replaying.running.replayers import check_settings, choose_policy
from assets.replaying.running.run import ReplayRun, replay_run
from assets.replaying.running.settings import RunSettings
from assets.replaying.running.users import UsersPace
from assets.replaying.scenarios.paced import MOST_ON_CLUSTER, Paced, enough_react, paced_beside, paced_columns
from simulator.jobs.words import KEEP_PACE
from traces.catalogue.sources import CatalogueError
from warehouse import Warehouse


@dataclass(frozen=True)
class RunAgain:
    """What a run needs to be replayed once more. is_placed: whether its jobs were placed below switches."""

    trace: Trace
    settings: RunSettings
    policy: ChosenPolicy
    is_placed: bool = False

    @classmethod
    def of_run(cls, run: ReplayRun) -> RunAgain:
        """Of a replay of this process."""
        return cls(run.trace, run.settings, run.policy, run.ground is not None)

    @classmethod
    def of_row(cls, warehouse: Warehouse, row: dict[str, Any]) -> RunAgain:
        """Of a row of replay.runs. Raises ValueError where the file of its policy, or of an agent, is not at hand as it was."""
        settings = check_settings(settings_of_row(row))
        policy = choose_policy(settings, warehouse, row["source"])
        if (policy.sha256, policy.agent_sha256) != (row["policy_sha256"], row["agent_sha256"]):
            raise ValueError(f"the policy of run {row['run']!r} is no longer what it was: save the run again")
        trace = load_trace(warehouse, row["source"], settings.cancelled, list(dict.fromkeys(settings.labels)))
        return cls(trace, settings, policy)

    def closed(self, pace: UsersPace) -> ReplayRun:
        """The run with users who keep their pace. Raises ValueError where it has no rule for them."""
        if self.is_placed:
            raise ValueError("jobs that are placed on nodes are submitted at the log's times")
        settings = check_settings(self.settings.model_copy(update={"users": KEEP_PACE}))
        return replay_run(self.trace, settings, self.policy, own_runs=1, pace=pace)


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
    is none where few jobs follow others, or where not_paced_because says why.

    rows: of replay.runs, of A and B. jobs: the scored ones, of replay.paired_jobs. verdict: at the times of the log. runs: where they are
    of this process."""
    source = rows[0]["source"]
    try:
        again = [RunAgain.of_run(each) for each in runs] if runs else [RunAgain.of_row(warehouse, row) for row in rows]
        pace = _pace(source, again[0])
        if pace is None:
            return {}, None
        base, run = (each.closed(pace) for each in again)
        paced = paced_beside(base, run, _scored(base, jobs))
    except ValueError as error:
        return {"not_paced_because": str(error)}, None
    return paced_columns(verdict, paced, paced.judgement) | {"following_share": pace.share}, paced


def _pace(source: str, run: RunAgain) -> UsersPace | None:
    """Of the users of a source, or of the log at a path. None where few jobs follow others, where users are not known, and for a log too
    long to be replayed on its cluster once more."""
    if run.settings.is_closed or (run.settings.is_on_cluster and run.trace.rows.height > MOST_ON_CLUSTER):
        return None
    try:
        pace = pace_of_site(source, run.trace if is_path(source) else None)
    except (ValueError, CatalogueError):
        return None
    return pace if enough_react(pace) else None


def _scored(run: ReplayRun, jobs: pl.DataFrame) -> np.ndarray:
    """job_index of the scored jobs. Raises ValueError where these are others than a run was saved with."""
    place = jobs["place"].to_numpy() - 1
    if not len(place) or place.max() >= run.rows.height or not run.rows["procs"][place].equals(jobs["procs"]):
        raise ValueError("the log has changed since the runs were saved: save them again")
    return run.rows["job_index"].to_numpy()[place]
