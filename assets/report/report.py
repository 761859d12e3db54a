"""The asset marts/report: the HTML report of a source, one self-contained file."""

import dagster as dg

from assets.common.asset import asset
from assets.common.partitions import SOURCES
from assets.common.storage import report_path, write_whole
from assets.evaluation.leaderboard import leaderboard
from assets.evaluation.replay_evaluation import replay_evaluation
from assets.policies.scheduling_policy import scheduling_policy
from assets.predictions.runtime_predictions import runtime_predictions
from assets.report.render import render_report
from warehouse import Warehouse


@asset(
    key=["marts", "report"],
    deps=[leaderboard, replay_evaluation, scheduling_policy, runtime_predictions],
    partitions_def=SOURCES,
    group_name="report",
    kinds={"html", "matplotlib"},
)
def report(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """One HTML file per source to mail or keep: leaderboard, training curve, utilisation and queue, a Gantt chart, waits by
    size and run time, prediction error. Needs no network and no server."""
    source = context.partition_key
    html = render_report(warehouse, source)
    path = report_path(source)
    write_whole(path, html.encode())
    return dg.MaterializeResult(
        metadata={
            "file": dg.MetadataValue.path(str(path)),
            "open": dg.MetadataValue.url(path.as_uri()),
            "bytes": len(html),
        }
    )
