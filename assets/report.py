"""Stage 7: the HTML report of a source, one self-contained file."""

from typing import TYPE_CHECKING, Any

import dagster as dg
import numpy as np
import polars as pl

import sql
from assets.leaderboard import leaderboard
from assets.partitions import OWNERS, SOURCES
from assets.replay import BACKFILL, load_weights
from assets.report_page import Section, page
from assets.storage import report_path
from assets.trace import load_trained_trace
from warehouse import Warehouse

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GANTT_JOBS = 200


@dg.asset(
    key=["marts", "report"],
    deps=[leaderboard],
    partitions_def=SOURCES,
    group_name="marts",
    owners=OWNERS,
    kinds={"html", "matplotlib"},
)
def report(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """One HTML file per source to mail or keep: leaderboard, training curve, utilisation and queue, a Gantt chart, waits by
    size and run time, prediction error. Needs no network and no server."""
    source = context.partition_key
    html = render_report(warehouse, source)
    path = report_path(source)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(html)
    temporary.replace(path)
    return dg.MaterializeResult(
        metadata={
            "file": dg.MetadataValue.path(str(path)),
            "open": dg.MetadataValue.url(path.as_uri()),
            "bytes": len(html),
        }
    )


def render_report(warehouse: Warehouse, source: str) -> str:
    """The page of one source, from what the warehouse holds."""
    from assets import plots

    def ask(query: str, **parameters: Any) -> pl.DataFrame:
        return connection.sql(query, params={"source": source} | parameters).pl()

    with warehouse.read() as connection:
        board = ask("SELECT * EXCLUDE (source) FROM marts.leaderboard WHERE source = $source ORDER BY rank")
        summary = ask("SELECT * FROM marts.ingest_summary WHERE source = $source")
        about = ask("SELECT * FROM core.sources WHERE source = $source")
        span = ask("SELECT count(*) AS jobs, min(submit_time), max(submit_time) FROM core.jobs WHERE source = $source")
        curve = ask("SELECT * FROM policies.training_curve WHERE source = $source")
        usage = ask(sql.load("replay.usage_over_time"))
        by_size = ask(sql.load("marts.class_waits"), kind="size")
        by_runtime = ask(sql.load("marts.class_waits"), kind="runtime")
        runtime_scores = ask(
            "SELECT * EXCLUDE (source) FROM predictions.runtime_scores WHERE source = $source ORDER BY 1"
        )
        predictions = ask(
            "SELECT p.predicted_runtime_s, j.runtime_s, j.requested_walltime_s FROM predictions.runtime_predictions AS p "
            "INNER JOIN core.jobs AS j ON p.source = j.source AND p.job_index = j.job_index "
            "WHERE p.source = $source AND p.predictor = 'xgboost' ORDER BY p.job_index"
        )
        periods = ask(
            "SELECT policy, estimates, jobs, average_bounded_slowdown, average_wait_s, p95_wait_s, max_wait_s, utilisation "
            "FROM replay.period_scores WHERE source = $source ORDER BY average_bounded_slowdown"
        )
    trace, test_position = load_trained_trace(warehouse, source)
    cluster_procs = trace.cluster_procs
    facts = {
        "format": about["format"][0],
        "cluster": f"{cluster_procs} processors (from the {about['cluster_procs_from'][0]})",
        "submitted": f"{span[0, 1]:%Y-%m-%d} to {span[0, 2]:%Y-%m-%d}",
        "lines": f"{summary['lines'][0]:,} read = {summary['accepted'][0]:,} jobs + {summary['ignored'][0]:,} ignored + "
        f"{summary['rejected'][0]:,} rejected",
        "evaluated": f"on the last {trace.rows.height - test_position:,} jobs, which no training has seen; "
        f"{board['windows'][0]} windows",
        "left out of replays": f"{trace.jobs_left_out:,} jobs without a run time or a processor count",
    }
    true = predictions["runtime_s"].to_numpy().astype(np.float64)
    requested = predictions["requested_walltime_s"].cast(pl.Float64).to_numpy()
    sections = [
        Section("Leaderboard", _verdict(board), [plots.leaderboard(board)], _board_table(board)),
        Section(
            "The whole period in one replay",
            "The same policies on all later jobs in one piece; the learned policy is the one chosen on validation windows.",
            [],
            periods,
        ),
        Section(
            "Utilisation and queue length", "Hour by hour under EASY with requested times.",
            [plots.usage_over_time(usage, cluster_procs)],
        ),
        Section(
            f"Schedule of {GANTT_JOBS} jobs",
            "The first jobs of the evaluated period under FCFS (left to right: time) and under the learned policy, both with "
            "EASY and requested times. Colour is the job's width: grey serial, blue up to 1/16 of the cluster, green up to "
            "1/4, orange wider.",
            _gantt_charts(warehouse, source, trace.jobs(), test_position, cluster_procs),
        ),
        Section(
            "Who waits", "Average replayed wait by job size and by run time; EASY with requested times.",
            [plots.waits_by_class(by_size), plots.waits_by_class(by_runtime)],
        ),
        Section(
            "Predicted run times",
            "Errors on jobs after the training part. The gain is against the mean of the user's last two run times.",
            [plots.prediction_error(predictions["predicted_runtime_s"].to_numpy(), true, requested)],
            runtime_scores,
        ),
        Section("Training", "Validation windows choose the epoch and the seed.", [plots.training_curve(curve)]),
    ]  # fmt: skip
    return page(source, about["description"][0] or "", facts, sections)


def _gantt_charts(warehouse: Warehouse, source: str, jobs: Any, first: int, cluster_procs: int) -> "list[Figure]":
    from assets import plots
    from simulator.replay import replay

    window = jobs.window(first, min(GANTT_JOBS, len(jobs) - first))
    weights = next(found for _, chosen, found in load_weights(warehouse, source) if chosen)
    width = np.digitize(window.procs, [2, cluster_procs / 16 + 1, cluster_procs / 4 + 1])
    charts = []
    for policy in ("FCFS", "learned"):
        schedule = replay(window, cluster_procs, policy, BACKFILL, weights)
        charts.append(plots.gantt(schedule.start, window.runtime, window.procs, width, cluster_procs))
        charts[-1].axes[0].set_title(policy, fontsize=9, loc="left")
    return charts


def _verdict(board: pl.DataFrame) -> str:
    """What may be said: a difference counts only when its interval excludes zero."""
    learned = board.filter((pl.col("policy") == "learned") & (pl.col("estimates") == "requested")).row(0, named=True)
    said = []
    for rival in ("FCFS", "SAF"):
        name = f"minus_{rival.lower()}"
        low, high = learned[f"{name}_low"], learned[f"{name}_high"]
        word = "is better than" if high < 0 else "is worse than" if low > 0 else "cannot be told apart from"
        said.append(f"{word} {rival} (difference {learned[name]:+.2f}, 95 % interval {low:+.2f} to {high:+.2f})")
    return (
        f"Average bounded slowdown on {board['windows'][0]} windows that no training has seen; lower is better. With "
        f"requested times the learned policy (mean of {learned['seeds']} training seeds) {said[0]} and {said[1]}."
    )


def _board_table(board: pl.DataFrame) -> pl.DataFrame:
    def interval(name: str) -> pl.Expr:
        return pl.format("{} to {}", pl.col(f"{name}_low").round(2), pl.col(f"{name}_high").round(2))

    return board.select(
        "rank",
        "policy",
        "estimates",
        pl.col("average_bounded_slowdown").alias("average bounded slowdown"),
        interval("bounded_slowdown").alias("95 % interval"),
        pl.col("average_wait_s").alias("average wait, s"),
        pl.col("p95_wait_s").alias("p95 wait, s"),
        pl.col("utilisation"),
        pl.col("minus_fcfs").alias("minus FCFS"),
        interval("minus_fcfs").alias("its interval"),
        pl.col("minus_saf").alias("minus SAF"),
        interval("minus_saf").alias("its interval "),
    )
