"""The content of a source's HTML report, from what the warehouse holds."""

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import sql
from assets.common import plots as common_plots
from assets.common.trace import load_trained_trace
from assets.evaluation import plots as evaluation_plots
from assets.evaluation.contestants import BACKFILL
from assets.evaluation.ranking import readable
from assets.policies import plots as policies_plots
from assets.policies.registry import learned_policies
from assets.predictions import plots as predictions_plots
from assets.report.page import Section, page
from simulator.engine.replay import replay
from simulator.metrics.metrics import size_classes
from warehouse import Warehouse

if TYPE_CHECKING:
    from matplotlib.figure import Figure


GANTT_JOBS = 200


def render_report(warehouse: Warehouse, source: str) -> str:
    """The page of one source, from what the warehouse holds."""

    def ask(query: str, **parameters: Any) -> pl.DataFrame:
        return connection.sql(query, params={"source": source} | parameters).pl()

    with warehouse.read() as connection:
        board = ask("SELECT * EXCLUDE (source) FROM marts.leaderboard WHERE source = $source ORDER BY rank")
        summary = ask("SELECT * FROM marts.ingest_summary WHERE source = $source")
        about = ask("SELECT * FROM core.sources WHERE source = $source")
        span = ask(
            "SELECT count(*), timezone(any_value(s.time_zone), timezone('UTC', min(submit_time))), "
            "timezone(any_value(s.time_zone), timezone('UTC', max(submit_time))) "
            "FROM core.jobs AS j INNER JOIN core.sources AS s ON j.source = s.source WHERE j.source = $source"
        )
        curve = ask("SELECT * FROM policies.training_curve WHERE source = $source ORDER BY seed, epoch")
        usage = ask(sql.load("replay.usage_over_time"))
        by_size = ask(sql.load("marts.class_waits"), kind="size")
        by_runtime = ask(sql.load("marts.class_waits"), kind="runtime")
        runtime_scores = ask(
            'SELECT predictor, median_absolute_error_s AS "median error, s", mean_absolute_error_s AS "mean error, s", '
            'underestimated_share AS underestimated, mae_gain_over_last_two_s AS "gain over last two, s", '
            "format('{:.0f} to {:.0f}', mae_gain_low_s, mae_gain_high_s) AS \"95 % interval\" "
            "FROM predictions.runtime_scores WHERE source = $source ORDER BY predictor"
        )
        predictions = ask(
            "SELECT p.predicted_runtime_s, j.runtime_s, j.requested_walltime_s FROM predictions.runtime_predictions AS p "
            "INNER JOIN core.jobs AS j ON p.source = j.source AND p.job_index = j.job_index "
            "WHERE p.source = $source ORDER BY p.job_index"
        )
        periods = ask(
            'SELECT policy, estimates, average_bounded_slowdown AS "bounded slowdown", average_wait_s AS "wait, s", '
            'p95_wait_s AS "p95 wait, s", max_wait_s / 86400 AS "longest wait, days", utilisation '
            "FROM replay.period_scores WHERE source = $source ORDER BY average_bounded_slowdown, policy, estimates"
        )
        goal = ask("SELECT goal FROM policies.scheduling_policies WHERE source = $source AND newest").item(0, 0)
        champion = ask(
            "SELECT seed, best_epoch FROM policies.scheduling_policies WHERE source = $source AND champion AND newest"
        )
    chosen = champion.row(0) if champion.height else None
    trace, test_position = load_trained_trace(warehouse, source)
    cluster_procs = trace.cluster_procs
    facts = {
        "format": about["format"][0],
        "cluster": f"{cluster_procs} processors (from the {about['cluster_procs_from'][0]})",
        "submitted": f"{span[0, 1]:%Y-%m-%d} to {span[0, 2]:%Y-%m-%d} ({about['time_zone'][0]})",
        "lines": f"{summary['lines'][0]:,} read = {summary['accepted'][0]:,} jobs + {summary['kept'][0]:,} other "
        f"records + {summary['ignored'][0]:,} ignored + {summary['rejected'][0]:,} rejected",
        "evaluated": f"on the last {trace.rows.height - test_position:,} jobs, which no training has seen; "
        f"{board['windows'][0]} windows",
        "left out of replays": f"{trace.jobs_left_out:,} jobs without a run time or a processor count",
    }
    true = predictions["runtime_s"].to_numpy().astype(np.float64)
    requested = predictions["requested_walltime_s"].cast(pl.Float64).to_numpy()
    sections = [
        Section("Leaderboard", _verdict(board), [evaluation_plots.leaderboard(board)], readable(board)),
        Section(
            "The whole period in one replay",
            "The same policies on all later jobs in one piece; the learned policy is the champion. "
            "Policies that prefer short or small jobs let some wait for very long: the longest wait shows it.",
            [],
            periods,
        ),
        Section(
            "Utilisation and queue length", "Daily means under EASY with requested times.",
            [evaluation_plots.usage_over_time(usage, cluster_procs)],
        ),
        Section(
            f"Schedule of {GANTT_JOBS} jobs",
            "The busiest stretch of the evaluated period under FCFS and under the learned policy, both with EASY and "
            "requested times, from an empty cluster. Colour is the job's width: grey serial, blue up to 1/16 of the cluster, "
            "green up to 1/4, orange wider.",
            _gantt_charts(warehouse, source, trace.jobs(), test_position, cluster_procs),
        ),
        Section(
            "Who waits",
            "Average replayed wait with EASY and requested times. Serial is one processor, small up to 1/16 of the cluster, "
            "medium up to 1/4, large wider.",
            [evaluation_plots.waits_by_class(by_size, "by job size"), evaluation_plots.waits_by_class(by_runtime, "by run time")],
        ),
        Section(
            "Predicted run times",
            "Errors on jobs after the training part. The gain is against the mean of the user's last two run times.",
            [predictions_plots.estimates_over_true(predictions["predicted_runtime_s"].to_numpy(), true, requested)],
            runtime_scores,
        ),
        Section("Training", "Validation windows choose the epoch and the seed.", [policies_plots.training_curve(curve, chosen, goal)]),
    ]  # fmt: skip
    return page(source, about["description"][0] or "", facts, sections)


def _gantt_charts(warehouse: Warehouse, source: str, jobs: Any, first: int, cluster_procs: int) -> "list[Figure]":

    # the stretch of the period in which the most work was asked for in the shortest time
    work, submit = np.cumsum(jobs.runtime * jobs.procs), jobs.submit
    length = min(GANTT_JOBS, len(jobs) - first)
    starts = np.arange(first, len(jobs) - length + 1)
    pressure = (work[starts + length - 1] - work[starts]) / (submit[starts + length - 1] - submit[starts] + 3600)
    window = jobs.window(int(starts[pressure.argmax()]), length)
    weights = next(policy.weights for policy in learned_policies(warehouse, source) if policy.champion)
    width = size_classes(window.procs, cluster_procs)
    schedules = {policy: replay(window, cluster_procs, policy, BACKFILL, weights) for policy in ("FCFS", "learned")}
    until = max(int((schedule.start + window.runtime).max()) for schedule in schedules.values())
    return [
        common_plots.gantt(
            policy, schedule.start, window.runtime, window.procs, width, cluster_procs, window.submit[0], until
        )
        for policy, schedule in schedules.items()
    ]


def _verdict(board: pl.DataFrame) -> str:
    """What may be said: a difference counts only when its interval excludes zero."""
    learned = board.filter((pl.col("policy") == "learned") & (pl.col("estimates") == "requested")).row(0, named=True)
    said = []
    for rival in ("FCFS", "SAF"):
        name = f"minus_{rival.lower()}"
        low, high = learned[f"{name}_low"], learned[f"{name}_high"]
        if low is None:
            said.append(f"cannot be compared with {rival}: too few windows")
            continue
        word = "is better than" if high < 0 else "is worse than" if low > 0 else "cannot be told apart from"
        said.append(f"{word} {rival} (difference {learned[name]:+.2f}, 95 % interval {low:+.2f} to {high:+.2f})")
    return (
        f"Average bounded slowdown on {board['windows'][0]} windows that no training has seen; lower is better. With "
        f"requested times the learned policy (mean of {learned['seeds']} training seeds) {said[0]} and {said[1]}."
    )
