"""The content of a source's HTML report, from what the warehouse holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import sql
from assets.common import plots as common_plots
from assets.common.trace import Trace, load_trained_trace
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

Rows = dict[str, pl.DataFrame]

GANTT_JOBS = 200

QUERIES = {
    "board": "SELECT * EXCLUDE (source) FROM marts.leaderboard WHERE source = $source ORDER BY rank, policy, estimates",
    "summary": "SELECT * FROM marts.ingest_summary WHERE source = $source",
    "about": "SELECT * FROM core.sources WHERE source = $source",
    "span": (
        "SELECT epoch(min(submit_time) - any_value(clock_zero)) AS first, epoch(max(submit_time) - any_value(clock_zero)) AS last "
        "FROM core.jobs AS j INNER JOIN core.sources AS s ON j.source = s.source WHERE j.source = $source"
    ),
    "curve": "SELECT * FROM policies.training_curve WHERE source = $source ORDER BY seed, epoch",
    "usage": sql.load("replay.usage_over_time"),
    "runtime_scores": (
        'SELECT predictor, median_absolute_error_s AS "median error, s", mean_absolute_error_s AS "mean error, s", '
        'underestimated_share AS "share underestimated", mae_gain_over_last_two_s AS "gain over last two, s", '
        "format('{:,.0f} to {:,.0f}', mae_gain_low_s, mae_gain_high_s) AS \"95 % interval\", "
        'fallback_jobs AS "answered by similar jobs" '
        "FROM predictions.runtime_scores WHERE source = $source AND user_class = 'all users' "
        "ORDER BY mean_absolute_error_s, predictor"
    ),
    "predictions": (
        "SELECT p.predicted_runtime_s, j.runtime_s, j.requested_walltime_s FROM predictions.runtime_predictions AS p "
        "INNER JOIN core.jobs AS j ON p.source = j.source AND p.job_index = j.job_index "
        "WHERE p.source = $source ORDER BY p.job_index"
    ),
    "goal": "SELECT goal FROM policies.learned_policies WHERE source = $source AND newest AND learns = 'order'",
    "champion": (
        "SELECT seed, best_epoch, newest FROM policies.learned_policies WHERE source = $source AND champion AND learns = 'order'"
    ),
}
"""What the sections show, by name."""


def render_report(warehouse: Warehouse, source: str) -> str:
    """The page of one source, from what the warehouse holds."""
    rows = _rows_of(warehouse, source)
    trace, test_position = load_trained_trace(warehouse, source)
    sections = [
        _leaderboard(rows),
        _use_and_queue(rows, trace),
        _schedules(warehouse, trace, test_position),
        _who_waits(rows),
        _predicted_runtimes(rows),
        _training(rows),
    ]
    return page(source, rows["about"]["description"][0] or "", _facts(rows, trace, test_position), sections)


def _rows_of(warehouse: Warehouse, source: str) -> Rows:
    """The rows of QUERIES, and waits by class as waits_by_size and waits_by_runtime."""
    with warehouse.read() as connection:
        rows = {name: connection.sql(query, params={"source": source}).pl() for name, query in QUERIES.items()}
        for kind in ("size", "runtime"):
            parameters = {"source": source, "kind": kind}
            rows[f"waits_by_{kind}"] = connection.sql(sql.load("marts.class_waits"), params=parameters).pl()
    return rows


def _facts(rows: Rows, trace: Trace, test_position: int) -> dict[str, str]:
    """What stands above the sections, by its heading."""
    about, summary, span = (rows[name].row(0, named=True) for name in ("about", "summary", "span"))
    clock = trace.clock
    nobody = about["format"] != "swf" and about["time_zone_from"] == "assumed"
    assumed = ", assumed: give the right one with `tracehouse ingest --time-zone`" if nobody else ""
    return {
        "format": about["format"],
        "cluster": f"{trace.cluster_procs} processors (from the {about['cluster_procs_from']})",
        "submitted": f"{clock.day(span['first'])} to {clock.day(span['last'])} ({clock.name}{assumed})",
        "lines": f"{summary['lines']:,} read = {summary['accepted']:,} jobs + {summary['kept']:,} other "
        f"records + {summary['ignored']:,} ignored + {summary['rejected']:,} rejected",
        "evaluated": f"on the last {trace.rows.height - test_position:,} jobs, which no training has seen",
        "left out of replays": f"{trace.jobs_left_out:,} jobs without a run time or a processor count",
    }


def _leaderboard(rows: Rows) -> Section:
    board = rows["board"]
    return Section(
        "Leaderboard",
        f"One replay of the whole log from its first job. Its later {board['jobs'][0]:,} jobs are scored, which no training has seen, "
        "and the learned policy is the champion. A policy dominates FCFS with EASY if bounded slowdown and mean wait fall and nobody "
        "pays, trades if somebody does, and harms if that is more than twofold. Adopt what dominates. Ratios are over FCFS with EASY, "
        f"and below 1 is better.{_learned(rows)}",
        [evaluation_plots.ranked_intervals(board)],
        readable(board),
    )


def _learned(rows: Rows) -> str:
    """What to know of a champion that is what training started from."""
    nothing = rows["champion"].filter(best_epoch=0).height
    return " Nothing was learned: the learned policy is what training started from." if nothing else ""


def _use_and_queue(rows: Rows, trace: Trace) -> Section:
    return Section(
        "Utilisation and queue length",
        "Daily means under EASY with requested times.",
        [evaluation_plots.usage_over_time(rows["usage"], trace.cluster_procs, trace.has_calendar)],
    )


def _schedules(warehouse: Warehouse, trace: Trace, test_position: int) -> Section:
    return Section(
        f"Schedule of {GANTT_JOBS} jobs",
        "The busiest stretch of the evaluated period under FCFS and under the learned policy, both with EASY and "
        "requested times, in the replay of the whole log. Colour is the job's width: grey serial, blue up to 1/16 of the cluster, "
        "green up to 1/4, orange wider.",
        _gantt_charts(warehouse, trace, test_position),
    )


def _who_waits(rows: Rows) -> Section:
    return Section(
        "Who waits",
        "Average replayed wait with EASY and requested times. Serial is one processor, small up to 1/16 of the cluster, "
        "medium up to 1/4, large wider.",
        [
            evaluation_plots.waits_by_class(rows["waits_by_size"], "by job size"),
            evaluation_plots.waits_by_class(rows["waits_by_runtime"], "by run time"),
        ],
    )


def _predicted_runtimes(rows: Rows) -> Section:
    predictions = rows["predictions"]
    true = predictions["runtime_s"].to_numpy().astype(np.float64)
    requested = predictions["requested_walltime_s"].cast(pl.Float64).to_numpy()
    return Section(
        "Predicted run times",
        f"The picture compares the predictions in use with what users requested. The table scores every predictor on all "
        f"{predictions.height:,} jobs that can be replayed, as in operation: it learns from jobs that had ended before a "
        "period, and predicts the jobs of the period. The gain is that in mean error over the mean of the user's last two "
        "run times, and above 0 is better. The last column counts jobs that similar jobs answered for, because a predictor "
        "that needs a fit waits until 200 jobs have ended.",
        [predictions_plots.estimates_over_true(predictions["predicted_runtime_s"].to_numpy(), true, requested)],
        rows["runtime_scores"],
    )


def _training(rows: Rows) -> Section:
    champion, goal = rows["champion"].filter("newest"), rows["goal"].item(0, 0)
    chosen = champion.select("seed", "best_epoch").row(0) if champion.height else None
    curve = policies_plots.training_curve(rows["curve"], chosen, goal)
    return Section("Training", "A continuous replay of later jobs chooses the epoch and the seed.", [curve])


def _gantt_charts(warehouse: Warehouse, trace: Trace, first: int) -> list[Figure]:
    jobs, cluster_procs = trace.jobs(), trace.cluster_procs
    # the stretch of the period in which the most work was asked for in the shortest time
    work, submit = np.cumsum(jobs.runtime * jobs.procs), jobs.submit
    length = min(GANTT_JOBS, len(jobs) - first)
    starts = np.arange(first, len(jobs) - length + 1)
    pressure = (work[starts + length - 1] - work[starts]) / (submit[starts + length - 1] - submit[starts] + 3600)
    window = jobs.window(int(starts[pressure.argmax()]), length)
    weights = next(policy.weights for policy in learned_policies(warehouse, trace.source) if policy.champion)
    width = size_classes(window.procs, cluster_procs)
    schedules = {policy: replay(window, cluster_procs, policy, BACKFILL, weights) for policy in ("FCFS", "learned")}
    until = max(int((schedule.start + window.runtime).max()) for schedule in schedules.values())
    return [
        common_plots.gantt(
            policy, schedule.start, window.runtime, window.procs, width, cluster_procs, window.submit[0], until
        )
        for policy, schedule in schedules.items()
    ]
