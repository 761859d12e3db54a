"""What `tracehouse replay` and `compare` print for people; names are those of docs/reference/semantics.md."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from assets.pages.words import duration_text, number_text
from assets.replaying.running.settings import OWN_SCHEDULERS, RunSettings
from assets.replaying.scenarios.left_out import freed_words, left_out_text
from models.judging.verdict import DEPENDS, verdict_text
from simulator.jobs.words import partitions_text
from tracehouse.text.tables import TableColumn, fitted_table, folded

SHOWN_STATISTICS = {"average": 0, "median": 0, "p90": 4, "p95": 1, "p99": 3, "max": 2}
"""Statistics of a metric, and in which order a narrow terminal loses them, the largest number first."""
PER_JOB = ("wait_s", "turnaround_s", "slowdown", "bounded_slowdown", "per_processor_bounded_slowdown")
GROUPS = {
    "jobs": (
        "area_weighted_wait_s",
        "area_weighted_turnaround_s",
        "backfilled_share",
        "waits_over_24_h_share",
        "jobs_cancelled",
    ),
    "users": (
        "average_user_wait_s",
        "max_user_wait_s",
        "average_user_bounded_slowdown",
        "max_user_bounded_slowdown",
        "jain_index_user_bounded_slowdown",
    ),
    "machine": (
        "utilisation",
        "loss_of_capacity",
        "average_queue_length",
        "average_job_load_proc_s",
        "throughput_jobs_per_hour",
        "makespan_s",
    ),
}
SHOWN_COUNTS = (
    "jobs",
    "jobs_left_out",
    "jobs_left_before_start",
    "jobs_still_waiting",
    "jobs_wider_than_cluster",
    "jobs_of_queues_left_out",
    "requests_below_runtime",
    "jobs_out_of_order",
    "equal_submit_times",
    "repeated_job_ids",
    "running_jobs",
    "running_jobs_without_room",
    "waiting_jobs",
    "cancelled_jobs",
    "outages",
    "jobs_seen_in_training",
    "jobs_underestimated",
    "reservations",
    "reservations_delayed",
    "mean_reservation_delay_s",
    "jobs_never_started",
    "jobs_that_follow",
    "jobs_never_submitted",
    "jobs_that_gave_up",
    "core_hours_given_up",
    "jobs_over_a_limit_alone",
    "jobs_without_their_gpu_type",
    "jobs_without_their_qos",
    "jobs_without_their_reservation",
)
ALWAYS_SHOWN = (
    *("jobs", "jobs_left_out", "jobs_seen_in_training"),
    *("jobs_underestimated", "reservations", "reservations_delayed", "jobs_that_follow"),
)
LABEL = 42
ALWAYS_NAMED = ("policy", "backfill", "estimates", "correction")
FLAGS = ("warm_start", "cancelled", "drop_wider")
NAMED_BELOW = ("without_queue", "partitions", "procs", *FLAGS)
CLASS_COLUMNS = (
    TableColumn("size", 8, right=False),
    TableColumn("run time", 14, right=False),
    TableColumn("jobs", 9),
    TableColumn("mean wait", 12),
    TableColumn("median wait", 12, last=1),
    TableColumn("p95 wait", 12, last=2),
    TableColumn("bounded slowdown", 17),
)
LATER_HALF = "The baseline is A. The verdict is of the later half, metrics below are of all jobs. `tracehouse what-if` judges all jobs."


def replay_text(summary: dict[str, Any], width: int | None = None) -> str:
    """summary: of a replay, as tracehouse.replaying.summary gives it. width: of the terminal that it has to fit, if it has to."""
    left_out = left_out_text(summary)
    lines = [
        *([left_out, ""] if left_out else []),
        *_on_cluster_lines(summary),
        *_limits(summary),
        *_settings(summary),
        "",
        "counts",
    ]
    shown = (*ALWAYS_SHOWN, "running_jobs", "waiting_jobs") if summary["warm_start"] else ALWAYS_SHOWN
    lines += [
        _line(name, summary[name]) for name in SHOWN_COUNTS if name in summary and (summary[name] or name in shown)
    ]
    if "scored" in summary:
        scored = f"{summary['scored_jobs']:,} of {summary['jobs']:,} jobs"
        lines += ["", f"scored: {summary['scored']} ({scored}); the replay begins with the first job of all"]
    lines += ["", _waits_in_words(summary)]
    if "freed_jobs" in summary:
        mean_wait = f" and wait {duration_text(summary['freed_wait_s'])} on average"
        lines.append(f"{freed_words(summary['freed_jobs'], mean_wait)}.")
    lines += ["", *_metrics(summary, "", width)]
    extras = [name for name in ("utilisation_as_coded", "utilisation_makespan", "last_start_s") if name in summary]
    if extras:
        lines += ["", "as the RLScheduler code reports", *(_line(name, summary[name]) for name in extras)]
    if summary["trim"]:
        lines += ["", f"without {100 * summary['trim']:g} % of the submission span at both ends (trimmed_...)"]
        lines += _metrics(summary, "trimmed_", width)
    lines += _placement(summary["placement"]) if "placement" in summary else []
    bounds = [
        name for name in ("hindsight_least_average_wait_s", "hindsight_least_average_turnaround_s") if name in summary
    ]
    if bounds:
        lines += [
            "",
            "in hindsight: no schedule of these jobs has less",
            *(_line(name, summary[name]) for name in bounds),
        ]
    waits = ("average_wait_s", "median_wait_s", "p95_wait_s")
    classes = [
        [row["size_class"], row["runtime_class"], f"{row['jobs']:,}"]
        + ["none" if row[name] is None else duration_text(row[name]) for name in waits]
        + [_number(row["average_bounded_slowdown"])]
        for row in summary["by_class"]
    ]
    lines += [
        "",
        *fitted_table(CLASS_COLUMNS, classes, width, "  ", " "),
        "",
        f"tracehouse semantics {summary['semantics']}, engine {summary['engine']}, trace {summary['trace_sha256'][:12]}",
    ]
    return folded("\n".join(line.rstrip() for line in lines), width)


def _on_cluster_lines(summary: dict[str, Any]) -> list[str]:
    """Which scheduler of a cluster replayed, how far its runs are from each other, and what of it is not in the replay."""
    name = next((name for name in OWN_SCHEDULERS if name in summary), None)
    if name is None:
        return []
    own, waits = summary[name], sorted(summary[name]["mean_waits_s"])
    order = summary["policy"].partition(":")[2]
    decides = f"{order} in place of its own order" if order else "as it is configured"
    lines = [f"replayed: {own['scheduler']} of the cluster {own['cluster']}, {decides}"]
    lines += [own["nodes"]] if "nodes" in own else []
    if len(waits) > 1:
        lines.append(
            f"{OWN_SCHEDULERS[name]} is not deterministic: in {len(waits)} runs the mean wait is {duration_text(waits[0])} to "
            f"{duration_text(waits[-1])}. The first of them follows"
        )
    return [*lines, *(f"not in the replay: {rule}" for rule in own["not_modelled"]), *own["remarks"], ""]


def _limits(summary: dict[str, Any]) -> list[str]:
    """Which cluster's limits held jobs back, if any, and what of it is not in the replay of an order."""
    if "cluster_rules" in summary:
        about, under = summary["cluster_rules"], "an order on a row of processors, without the rules"
    elif "limits" in summary:
        about, under = summary["limits"], f"under {', '.join(summary['limits']['honoured']) or 'no limit'}"
    else:
        return []
    first = f"replayed: {under} of the cluster {about['cluster']}"
    return [first, *(f"not in the replay: {rule}" for rule in about["not_modelled"]), ""]


def _waits_in_words(summary: dict[str, Any]) -> str:
    """Mean, median, 95th percentile and maximum of the waits, in one line."""
    mean, half, most, longest = (
        duration_text(summary[f"{name}_wait_s"]) for name in ("average", "median", "p95", "max")
    )
    return (
        f"Jobs wait {mean} on average, half of them at most {half}, 95 % at most {most}. The longest wait is {longest}."
    )


def compare_text(comparison: dict[str, Any], width: int | None = None) -> str:
    """comparison: what assets.replaying.compare.compare_runs returns. width: of the terminal that it has to fit, if it has to."""
    a, b = comparison["run_a"], comparison["run_b"]
    lines = [f"{comparison['source']}: {b} (B) against {a} (A), {comparison['jobs']:,} jobs"]
    if "scored" in comparison:
        lines.append(f"compared: {comparison['scored']}, {comparison['paired_jobs']:,} jobs that started in both")
    elif comparison["paired_jobs"] < comparison["jobs"]:
        lines.append(f"{comparison['paired_jobs']:,} of them started in both")
    lines += [_line(f"{name}, A", x) + "\n" + _line(f"{name}, B", y) for name, (x, y) in comparison["settings"].items()]
    waits = comparison["paired"][0]["average_wait_s"]
    lines += [
        "",
        f"Jobs that started in both wait {duration_text(waits['b'])} on average under B, {duration_text(waits['a'])} under A.",
    ]
    lines += ["", *_verdict_lines(comparison["verdict"], "these" if "scored" in comparison else "the later", width)]
    if "metrics" in comparison:
        metrics = [[name, *_differences(row)] for name, row in comparison["metrics"].items()]
        lines += ["", *fitted_table(_compared("metric, all jobs", "B - A"), metrics, width, "  ", " ")]
    names = ("average_wait_s", "average_bounded_slowdown")
    paired = [[f"  {name}", *_differences(group[name])] for group in comparison["paired"] for name in names]
    head, *rows = fitted_table(_compared("job by job", "B - A"), paired, width, "  ", " ")
    lines += ["", head]
    for number, group in enumerate(comparison["paired"]):
        lines.append(
            f"  {group['jobs_of']}: {group['jobs']:,} jobs; under B {100 * group['better_share']:.1f} % wait less, "
            f"{100 * group['equal_share']:.1f} % as long, {100 * group['worse_share']:.1f} % longer"
        )
        lines += rows[len(names) * number : len(names) * (number + 1)]
    return folded("\n".join(line.rstrip() for line in lines), width)


def _compared(title: str, last: str) -> list[TableColumn]:
    """Columns of a comparison of A with B. title: of the names. last: what the last column is."""
    return [TableColumn(title, LABEL, right=False), *(TableColumn(each, 16) for each in ("A", "B", last))]


def _verdict_lines(verdict: dict[str, Any], which: str, width: int | None) -> list[str]:
    """verdict: what assets.replaying.compare.verdict_of_runs returns. which: jobs these are, such as "the later"."""
    if "why_none" in verdict:
        return [f"no verdict: {verdict['why_none']}"]
    word = verdict_text(verdict["word"], verdict["is_certain"])
    lines = [f"verdict on B over {which} {verdict['scored_jobs']:,} jobs: {word}"]
    lines.append(LATER_HALF if which == "the later" else "The baseline is A.")
    lines += [f"  who pays: {payer}" for payer in verdict["payers"]]
    if "pace_verdict" in verdict:
        from assets.replaying.scenarios.paced import depends_words, pace_words

        if verdict["word"] == DEPENDS:
            lines.append(f"  it depends on users: {depends_words(verdict['times_verdict'], verdict['pace_verdict'])}")
        lines.append(f"  {pace_words(verdict['following_share'], 'B / A')}")
    elif "not_paced_because" in verdict:
        lines.append(f"  not with users who keep their pace: {verdict['not_paced_because']}")
    if verdict.get("random_orders"):
        lines.append(f"  beside A, {verdict['random_orders']}. {verdict['random_orders_as_good']:.0%} are as good as B")
    label, a, b, ratio = _compared("measure, scored jobs", "B / A")
    columns = [
        label,
        replace(a, last=1),
        replace(b, last=1),
        ratio,
        *([TableColumn("keep pace", 11)] if "pace_verdict" in verdict else ()),
        TableColumn(" 95 % interval, typical block", right=False),
    ]
    rows = []
    for name, row in verdict["panel"].items():
        if row["a"] is None or "ratio" not in row:
            continue
        interval = verdict["typical_block"].get(name)
        paced = [_number(row["pace_ratio"])] if "pace_ratio" in row else []
        rows.append([name, *_cells(row, "ratio"), *paced, f" {_typical(interval)}" if interval else ""])
    lost = verdict["panel"]["lost_capacity"]
    paced = [_number(lost["pace_difference"])] if "pace_difference" in lost else []
    rows.append(["lost_capacity", *_cells(lost, "difference"), *paced, " (B - A)"])
    return [*lines, "", *fitted_table(columns, rows, width, "  ", " ")]


def _typical(interval: dict[str, Any]) -> str:
    """The ratio in the typical block with its interval, or why there is none."""
    ratio = f"{interval['ratio']:.2f}"
    if interval["why_none"]:
        return f"{ratio}, none: {interval['why_none']}"
    return f"{ratio}, {interval['low']:.2f} to {interval['high']:.2f} ({interval['blocks']} blocks)"


def _metrics(summary: dict[str, Any], prefix: str, width: int | None) -> list[str]:
    columns = [
        TableColumn("", LABEL, right=False),
        *(TableColumn(name, 14, last=k) for name, k in SHOWN_STATISTICS.items()),
    ]
    rows = [
        [value, *(_number(summary[f"{prefix}{statistic}_{value}"]) for statistic in SHOWN_STATISTICS)]
        for value in PER_JOB
    ]
    lines = fitted_table(columns, rows, width, "  ", " ")
    for title, names in GROUPS.items():
        lines += ["", title, *(_line(name, summary[f"{prefix}{name}"]) for name in names)]
    return lines


def _differences(row: dict[str, Any]) -> list[str]:
    difference = _number(row["difference"])
    sign = "" if difference.startswith("-") else "+"
    return [_number(row["a"]), _number(row["b"]), sign + difference]


def _cells(row: dict[str, Any], last: str) -> list[str]:
    return [_number(row["a"]), _number(row["b"]), _number(row[last])]


def _line(name: str, value: Any) -> str:
    return f"  {name:<{LABEL}} {_number(value)}"


def _number(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else number_text(value)


def _settings(summary: dict[str, Any]) -> list[str]:
    """Settings that are not the usual ones."""
    lines = ["settings"]
    plain = (
        "trace",
        "policy",
        "backfill",
        "inspector",
        "estimates",
        "reserve_by",
        "admit_by",
        "correction",
        "rules",
        "procs_per_node",
        "window",
        "load",
        "round_walltimes",
        "trim",
    )
    usual = {name: field.default for name, field in RunSettings.model_fields.items() if name not in ALWAYS_NAMED}
    others = [name for name in usual if name in summary and name not in (*plain, *NAMED_BELOW)]
    without = ("backfill", "estimates", "correction") if any(name in summary for name in OWN_SCHEDULERS) else ()
    for name in (name for name in (*plain, *others) if name not in without):
        if summary.get(name) and summary[name] != usual.get(name):
            lines.append(_line(name, summary[name]))
    lines += [_line("without_queue", ", ".join(summary["without_queue"]))] if summary["without_queue"] else []
    lines += [_line("partitions", partitions_text(summary["partitions"]))] if summary["partitions"] else []
    lines += [_line(name, "yes") for name in FLAGS if summary[name]]
    lines.append(_line("procs", f"{summary['procs']:,} (from the {summary['procs_from']})"))
    return lines


def _placement(placement: dict[str, Any]) -> list[str]:
    """What the nodes of the jobs cost."""
    per_node, nodes = placement["procs_per_node"], placement["tree_nodes"]
    kind = "processor" if per_node == 1 else "processors"
    lines = ["", f"on {nodes:,} nodes of {per_node} {kind}, {placement['nodes']}, placed by {placement['place']}"]
    lines += [f"  {remark}" for remark in placement["remarks"]]
    lines += [_line(name, value) for name, value in placement["metrics"].items()]
    return lines


def placements_text(comparison: dict[str, Any], width: int | None = None) -> str:
    """comparison: as assets.replaying.compare_placements.compare_placements gives it. width: of the terminal, if it has to fit one."""
    a, b = comparison["placement_a"], comparison["placement_b"]
    lines = [f"{comparison['source']}: A is {a}, B is {b}, over {comparison['paired_jobs']:,} jobs"]
    lines += [
        "",
        "settings that differ",
        *(_line(name, f"{x} | {y}") for name, (x, y) in comparison["settings"].items()),
    ]
    metrics = [[name, *_cells(values, "difference")] for name, values in comparison["metrics"].items()]
    lines += ["", *fitted_table(_compared("", "B - A"), metrics, width, "  ", " ")]
    lines.append("")
    for name, shares in comparison["paired"].items():
        text = ", ".join(f"{100 * shares[f'{word}_share']:.1f} % {word}" for word in ("lower", "equal", "higher"))
        lines.append(_line(f"{name} of a job under B", text))
    for name, ratio in comparison["typical_block"].items():
        if ratio is not None:
            interval = ratio["why_none"] or f"{ratio['low']:.3f} to {ratio['high']:.3f}"
            lines.append(_line(f"{name}, B by A, typical block", f"{ratio['ratio']:.3f} ({interval})"))
    return folded("\n".join(lines), width)
