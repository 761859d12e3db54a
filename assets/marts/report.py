"""The asset marts/report: the HTML report of a source, one self-contained file, and the index page over all of them."""

from datetime import UTC, datetime

import dagster as dg

from assets.common.asset import asset
from assets.common.storage import report_path, write_whole
from assets.marts.job_wait_causes import job_wait_causes
from assets.marts.leaderboard import leaderboard
from assets.marts.trace_health import trace_health
from assets.pages.index import read_summary, write_index
from assets.pages.render import render_report
from assets.policies.scheduling_policy import scheduling_policy
from assets.predictions.runtime_predictions import runtime_predictions
from assets.replay.evaluation import replay_evaluation
from assets.replay.fidelity import fidelity
from assets.replay.runs import replay_runs
from assets.replay.usual_changes import usual_changes
from warehouse import Warehouse


@asset(
    "marts.report",
    group_name="report",
    deps=[
        *(leaderboard, replay_evaluation, fidelity, replay_runs, trace_health, job_wait_causes),
        *(scheduling_policy, runtime_predictions, usual_changes),
    ],
    table=None,
    kinds={"html"},
)
def report(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """One HTML file per source for people who decide: a summary with a recommendation, what happened, what would change under other
    schedulers, and details. Needs no network and no server. An index page over all sources stands beside it."""
    source = context.partition_key
    created = datetime.now(UTC)
    html = render_report(warehouse, source, created)
    path = report_path(source)
    write_whole(path, html.encode())
    index = write_index(created)
    summary = read_summary(source)
    assert summary is not None
    return dg.MaterializeResult(
        metadata={
            "summary": dg.MetadataValue.md("\n\n".join(summary["sentences"])),
            "file": dg.MetadataValue.path(str(path)),
            "open": dg.MetadataValue.url(path.as_uri()),
            "all_sources": dg.MetadataValue.url(index.as_uri()),
            "bytes": len(html),
        }
    )
