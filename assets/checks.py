"""Asset checks: what must hold of every source, whatever its log looks like. A failed error check stops what follows."""

import warnings
from typing import Any

import dagster as dg

import sql
from assets.features import job_features
from assets.ingest import jobs, raw_log
from assets.model_registry import runtime_model
from assets.partitions import SOURCES, VASP
from assets.replay import replay_evaluation
from assets.replay_runs import replay_runs
from assets.runtime_prediction import runtime_predictions
from assets.vasp import vasp_runs
from warehouse import Warehouse

# checks with partitions are a preview in this (pinned) Dagster; without them a check could not know its source
warnings.filterwarnings("ignore", category=dg.PreviewWarning, message=".*partitions_def on an AssetCheckSpec.*")


def _check(
    asset: dg.AssetsDefinition,
    statement: str,
    description: str,
    warns: bool = False,
    partitions: dg.PartitionsDefinition = SOURCES,
) -> dg.AssetChecksDefinition:
    """A check that runs `sql/checks/<statement>.sql` for one source: it passes when the statement gives no row. warns: what it
    finds is to be known, but stops nothing."""
    name = statement.removeprefix("checks.")

    @dg.asset_check(asset=asset, name=name, description=description, blocking=not warns, partitions_def=partitions)
    def check(context: dg.AssetCheckExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.AssetCheckResult:
        broken = broken_rows(warehouse, statement, context.partition_key)
        return dg.AssetCheckResult(
            passed=not broken,
            severity=dg.AssetCheckSeverity.WARN if warns else dg.AssetCheckSeverity.ERROR,
            description=f"not so: {description}; {len(broken)} row(s) break it, first {broken[0]}"
            if broken
            else description,
            metadata={"broken_rows": len(broken)} | ({"first": str(broken[:5])} if broken else {}),
        )

    return check


def broken_rows(warehouse: Warehouse, statement: str, source: str) -> list[dict[str, Any]]:
    """Up to 100 rows that break a rule."""
    with warehouse.read() as connection:
        return connection.sql(sql.load(statement), params={"source": source}).limit(100).pl().to_dicts()


CHECKS: list[dg.AssetChecksDefinition] = [
    _check(
        raw_log,
        "checks.counts_add_up",
        "lines = accepted + kept + ignored + rejected in every file, and all are stored",
    ),
    _check(raw_log, "checks.not_empty", "the ingest accepted at least one job"),
    _check(jobs, "checks.every_record_is_a_job", "every accepted record is one canonical job, or told again"),
    _check(jobs, "checks.times_are_ordered", "submission <= start <= end, where the log knows them"),
    _check(jobs, "checks.no_job_wider_than_cluster", "no job has more processors than the cluster"),
    _check(job_features, "checks.features_know_no_future", "no feature counts more ended jobs than had ended"),
    _check(
        runtime_model,
        "checks.inputs_are_stable",
        "the newest jobs are of the population that the champion learned from",
        True,
    ),
    _check(
        runtime_model, "checks.error_is_stable", "the champion errs at most twice as much as when it was tested", True
    ),
    _check(
        runtime_predictions, "checks.predictions_finite", "one finite prediction of at least 1 s per replayable job"
    ),
    _check(
        replay_evaluation, "checks.never_oversubscribes", "no replayed schedule uses more processors than there are"
    ),
    _check(replay_evaluation, "checks.no_start_before_submission", "no replayed job starts before it was submitted"),
    _check(
        replay_runs,
        "checks.runs_never_oversubscribe",
        "no saved run uses more processors than there are, or starts a job before its submission",
    ),
    _check(vasp_runs, "checks.vasp_steps_add_up", "every counted step of a VASP run is stored", partitions=VASP),
]
