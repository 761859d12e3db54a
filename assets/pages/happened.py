"""What happened on the real system, as a section of the report: waits, backlog, use, failures, requests."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import polars as pl

from assets.pages.logged import LoggedSystem, left_sentence
from assets.pages.look import charts
from assets.pages.page import Block, Chart, Heading, Section, Table, unique_labels
from assets.pages.words import (
    DAY_S,
    FEW_JOBS,
    HOUR_S,
    MINUTE_S,
    amount,
    count,
    duration_text,
    named,
    sentence_list,
    share,
    size_names,
)
from assets.usage.waits_and_waste import UNUSED, WaitsAndWaste, part_of_whole
from traces.common.ends import END_STATES

FEWEST_FOR_P95 = 20
FEWEST_MONTHS = 3
"""Of fewer months there is no chart by month."""
MOST_ROWS, MOST_COLOURS = 12, 6
"""Queues and accounts with a row of their own, and those with a colour."""
COLUMNS_OF_WAITS = (
    "jobs",
    "mean wait",
    "median wait",
    "95 % wait at most",
    "started within 1 h",
    "started within 24 h",
)
MOST_GROUPS = 8
"""Users and accounts with a row of their own."""
UNUSED_WORDS = {
    "unused_core_hours": "of the core-hours that were requested, {share} were after the end of the job",
    "idle_core_hours": "of the core-hours whose CPU time the log has, {share} did not use the CPU",
    "unused_memory_gib_hours": "of the memory that was requested, {share} was not used",
}
UNUSED_COLUMNS = {
    "unused_core_hours": "unused time, core-hours",
    "idle_core_hours": "idle core-hours",
    "unused_memory_gib_hours": "unused memory, GiB hours",
}


def happened_section(logged: LoggedSystem) -> Section:
    """What happened, in the order of the questions that people ask."""
    blocks: list[Block] = []
    if logged.extent.jobs < FEW_JOBS:
        called, few = logged.extent.called, count(logged.extent.jobs, "job")
        blocks.append(f"{called[0].upper()}{called[1:]} has {few} only. Shares and percentiles of so few say little.")
    for part in (_waits, _backlog, _use, _failures, _requests, waste_blocks, _reacting):
        blocks += part(logged)
    return Section("What happened", blocks)


def size_rows(logged: LoggedSystem) -> list[tuple[str, dict[str, Any]]]:
    """Labels and waits of the sizes that have jobs, smallest first."""
    by_size = {row["value"]: row for row in logged.waits.filter(part="size").to_dicts()}
    names = {**size_names(logged.extent.cluster_procs), "unknown": "unknown size"}
    return [(label, by_size[name]) for name, label in names.items() if name in by_size]


def _wait_cells(row: dict[str, Any]) -> list[str]:
    """Cells of COLUMNS_OF_WAITS."""
    return [
        f"{row['jobs']:,}",
        duration_text(row["mean_s"]),
        duration_text(row["median_s"]),
        duration_text(row["p95_s"]) if row["jobs"] >= FEWEST_FOR_P95 else "too few",
        share(row["within_1_h"]),
        share(row["within_24_h"]),
    ]


def _waits(logged: LoggedSystem) -> list[Block]:
    heading, waits = Heading("How long jobs waited"), logged.all_waits
    if waits is None:
        return [heading, "The log does not say when its jobs started, so it has no waits."]
    blocks: list[Block] = [heading]
    if logged.nobody_waited:
        blocks.append("Nobody waited longer than a minute.")
    rows = [["all jobs", *_wait_cells(waits)], *([label, *_wait_cells(row)] for label, row in size_rows(logged))]
    blocks.append(Table("Waits by size of the job", ("jobs of", *COLUMNS_OF_WAITS), rows, marked=["all jobs"]))
    queues = logged.waits.filter(part="queue").to_dicts()
    if [row["value"] for row in queues] == ["unknown"]:
        blocks.append("The log names no queues.")
    else:
        shown = [[named(row["value"]), *_wait_cells(row)] for row in queues[:MOST_ROWS]]
        blocks.append(Table("Waits by queue, the busiest first", ("queue", *COLUMNS_OF_WAITS), unique_labels(shown)))
    blocks += [left] if (left := left_sentence(logged)) else []
    never = logged.extent.jobs - waits["jobs"] - logged.groups.whole["left_jobs"]
    if never:
        blocks.append(f"{count(never, 'job')} whose start the log does not know are not counted.")
    return blocks if logged.nobody_waited else [*blocks, _curve(logged), *_waits_by_month(logged)]


def _curve(logged: LoggedSystem) -> Block:
    curves = {}
    for name, label in size_names(logged.extent.cluster_procs).items():
        rows = logged.curve.filter(size_class=name)
        if rows["jobs"].sum() < FEWEST_FOR_P95:
            continue
        steps = rows["step"].to_numpy()
        jobs = np.zeros(steps.max() + 1)
        jobs[steps] = rows["jobs"].to_numpy()
        seconds = [MINUTE_S * 2 ** (k / 2) for k in range(len(jobs))]
        curves[label] = (seconds, (np.cumsum(jobs) / jobs.sum()).tolist())
    if not curves:
        return f"No size of job has {FEWEST_FOR_P95} jobs, which a curve of waits needs."
    return Chart("started-within", "Jobs that had started after so long, by size", charts.started_within(curves))


def _waits_by_month(logged: LoggedSystem) -> list[Block]:
    months = logged.waits.filter(part="month").sort("value")
    if not logged.extent.clock.has_dates or months.height < FEWEST_MONTHS:
        return []
    columns = {"median wait": "median_s", "mean wait": "mean_s", "95 % wait at most": "p95_s"}
    hours = {name: (months[column] / HOUR_S).round(3).to_list() for name, column in columns.items()}
    firsts, unfinished = list(map(date.fromisoformat, months["value"])), logged.extent.unfinished_months
    figure = charts.by_month(firsts, hours, "wait, hours", unfinished)
    return [Chart("waits-by-month", f"Waits by month of the submission{_note_on(unfinished)}", figure)]


def _note_on(unfinished: dict[date, str]) -> str:
    """What the caption of a chart by month says of months that the log covers in part."""
    words = [f"{month:%B %Y} ({part})" for month, part in unfinished.items()]
    return f". Lighter or dashed: the log covers {sentence_list(words)} in part" if words else ""


def _backlog(logged: LoggedSystem) -> list[Block]:
    heading, backlog, extent = Heading("Use and backlog over time"), logged.backlog, logged.extent
    if not backlog.height:
        return [heading, "The log does not say when its jobs started, so nobody knows what was in use and what waited."]
    used, waiting = backlog["used"].to_numpy() / extent.cluster_procs, backlog["waiting"].to_numpy()
    hours = backlog["work"].to_numpy() / extent.cluster_procs
    lead = backlog.height - logged.complete_backlog.height  # steps before the log has all jobs
    dates, top = extent.clock.has_dates, lead + int(hours[lead:].argmax())
    at = extent.moments(backlog["at_s"].to_list())
    days = ((backlog["at_s"] - extent.first_s) / DAY_S).round(3).to_list()
    series = {
        "in use, %": (100 * used).round(2).tolist(),
        "jobs waiting": waiting.round(2).tolist(),
        "work waiting, hours": hours.round(3).tolist(),
    }
    text = (
        f"On average {share(used[lead:].mean())} of the processors were in use, and {waiting[lead:].mean():,.1f} jobs waited. Their "
        f"work would have kept the whole cluster busy for {duration_text(HOUR_S * hours[lead:].mean())}."
    )
    if lead:
        begin = f"{at[lead]:%-d %B %Y}" if dates else f"day {days[lead]:.0f}"
        text += (
            f" This is from {begin} on: jobs that ended earlier are not in the log, so before that it shows too little."
        )
    if hours[top] * HOUR_S >= MINUTE_S:
        when = f"{at[top]:%-d %B %Y}" if dates else f"day {days[top]:.0f}"
        text += f" The backlog was largest around {when}, with {duration_text(HOUR_S * hours[top])} of work for the whole cluster."
    figure = charts.panels_over_time(at if dates else days, series)
    caption = "Use, jobs waiting, and their work in hours of the whole cluster"
    return [heading, text, Chart("backlog", caption, figure, 460, whole=True)]


def _use(logged: LoggedSystem) -> list[Block]:
    heading, payer = Heading("Who used the cluster"), logged.payer
    if payer is None:
        return [heading, "The log names neither accounts nor groups nor users."]
    total = float(logged.use["core_hours"].sum())
    if not total:
        return [heading, "The log does not say how long jobs ran, so there are no core-hours."]
    largest, others = logged.use.head(MOST_ROWS), logged.use.slice(MOST_ROWS)
    rows = [_use_row(str(row["who"]), row, total) for row in largest.to_dicts()]
    if others.height:
        rest = {name: others[name].sum() for name in ("core_hours", "jobs", "failed")}
        rows.append(_use_row(f"all other {payer}s ({others.height:,})", rest, total))
    blocks: list[Block] = [heading]
    if payer != "account":
        blocks.append(f"The log tells no accounts apart, so {payer}s are shown.")
    columns = [payer, "core-hours", "of all", "jobs", "failed or cut short"]
    if set(logged.statuses["status"]) == {"unknown"}:
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    blocks.append(Table(f"Core-hours by {payer}, most first", columns, unique_labels(rows)))
    return [*blocks, *_use_by_month(logged, largest["who"].head(MOST_COLOURS).to_list())]


def _use_row(label: str, row: dict[str, Any], total: float) -> list[str]:
    failed = share(row["failed"] / max(row["jobs"], 1))
    return [label, amount(row["core_hours"]), share(row["core_hours"] / total), f"{row['jobs']:,}", failed]


def _use_by_month(logged: LoggedSystem, largest: list[str]) -> list[Block]:
    months = logged.months["month"].unique().sort()
    if not logged.extent.clock.has_dates or len(months) < FEWEST_MONTHS:
        return []
    other = f"all other {logged.payer}s"
    who = pl.when(pl.col("who").is_in(largest)).then("who").otherwise(pl.lit(other))
    table = logged.months.group_by("month", who).agg(pl.col("core_hours").sum())
    series = {}
    for name in [*largest, other]:
        part = pl.DataFrame({"month": months}).join(table.filter(who=name), on="month", how="left").sort("month")
        if part["core_hours"].sum():
            series[name] = part["core_hours"].fill_null(0).round(1).to_list()
    unfinished = logged.extent.unfinished_months
    figure = charts.by_month(months.to_list(), series, "core-hours a month", unfinished, stacked=True)
    return [Chart("use-by-month", f"Core-hours a month by {logged.payer}{_note_on(unfinished)}", figure, 320)]


def _failures(logged: LoggedSystem) -> list[Block]:
    heading = Heading("Jobs that did not complete")
    totals = logged.statuses.group_by("status").agg(pl.col("jobs", "core_hours", "requeued").sum())
    by_status = {row["status"]: row for row in totals.to_dicts()}
    if by_status.keys() == {"unknown"}:
        return [heading, "The log does not say how its jobs ended."]
    rows = []
    for name in END_STATES:
        if name in by_status:
            row = by_status[name]
            hours = share(row["core_hours"] / logged.core_hours) if logged.core_hours else "none"
            rows.append(
                [
                    END_STATES[name],
                    f"{row['jobs']:,}",
                    share(row["jobs"] / logged.extent.jobs),
                    amount(row["core_hours"]),
                    hours,
                ]
            )
    blocks: list[Block] = [
        heading,
        Table("How jobs ended", ("end", "jobs", "of all jobs", "core-hours", "of all core-hours"), rows),
    ]
    requeued = float(totals["requeued"].sum())
    if requeued:
        blocks.append(f"Attempts that ended in a requeue used {amount(requeued)} core-hours more.")
    lost = [name for name in END_STATES if name in by_status and name not in ("completed", "unknown")]
    return [*blocks, *_failures_by_month(logged, lost)]


def _failures_by_month(logged: LoggedSystem, lost: list[str]) -> list[Block]:
    of_all = logged.statuses.group_by("month").agg(all_jobs=pl.col("jobs").sum())
    if not (logged.extent.clock.has_dates and of_all.height >= FEWEST_MONTHS and lost):
        return []
    series = {}
    for name in lost:
        part = of_all.join(logged.statuses.filter(status=name), on="month", how="left").sort("month")
        series[END_STATES[name]] = (100 * part["jobs"].fill_null(0) / part["all_jobs"]).round(2).to_list()
    unfinished = logged.extent.unfinished_months
    title = f"{END_STATES[lost[0]]}, % of jobs" if len(lost) == 1 else "% of jobs"
    figure = charts.by_month(of_all["month"].sort().to_list(), series, title, unfinished)
    words = f"Jobs that did not complete, by how they ended and by month{_note_on(unfinished)}"
    return [Chart("failures", words, figure, 260)]


def _requests(logged: LoggedSystem) -> list[Block]:
    heading, asked = Heading("Requested time against used time"), logged.asked
    if asked is None:
        return [heading, "The log has no requested times."]
    jobs = np.zeros(21)
    jobs[logged.requests["step"].to_numpy()] = logged.requests["jobs"].to_numpy()
    figure = charts.shares_used((100 * jobs / jobs.sum()).round(3).tolist())
    text = (
        f"The median job used {share(asked['median'])} of the time that it requested. {share(asked['little'])} of the jobs used less than "
        f"a quarter. Of all core-hours requested, {share(asked['unused'])} were not used."
    )
    return [heading, text, Chart("requests", "Share of the requested time that jobs used", figure, 260)]


def waste_blocks(logged: LoggedSystem) -> list[Block]:
    """Two tables for accounts, and two for users, where the log tells several of them."""
    groups = logged.groups
    tables = [
        table
        for kind in ("account", "user")
        if groups.are_named(kind) and groups.groups(kind).height > 1
        for table in (_waited(kind, groups), _wasted(kind, groups))
        if table is not None
    ]
    return [Heading("Who waited, and who wasted"), *_words(groups), *tables] if tables else []


def _words(groups: WaitsAndWaste) -> list[Block]:
    whole = groups.whole
    parts = {name: part_of_whole(whole[name], whole[of]) for name, of in UNUSED.items()}
    words = [UNUSED_WORDS[name].format(share=share(part)) for name, part in parts.items() if part is not None]
    lost = part_of_whole(whole["lost_core_hours"], whole["core_hours"])
    sentences = []
    if lost is not None:
        sentences.append(
            f"{share(lost)} of the core-hours went to jobs that did not complete, or to attempts that ended in a requeue."
        )
    if words:
        text = sentence_list(words)
        sentences.append(f"{text[0].upper()}{text[1:]}.")
    if groups.memory and parts["unused_memory_gib_hours"] is not None:
        sentences.append(groups.memory)
    return [" ".join(sentences)] if sentences else []


def _waited(kind: str, groups: WaitsAndWaste) -> Table | None:
    whole = groups.whole
    if not whole["waited_h"]:
        return None
    rows = [
        [
            named(row["value"]),
            f"{row['known_waits']:,}",
            *(_duration(row[name]) for name in ("mean_wait_h", "p95_wait_h", "max_wait_h")),
            share(row["waited_h"] / whole["waited_h"]),
        ]
        for row in groups.groups(kind, "waited_h").head(MOST_GROUPS).to_dicts()
    ]
    columns = (kind, "jobs", "mean wait", "95th percentile", "longest wait", "of all waiting")
    return Table(f"Waits by {kind}, most waiting first{_more(kind, groups)}", columns, unique_labels(rows))


def _wasted(kind: str, groups: WaitsAndWaste) -> Table | None:
    lost, unused = bool(groups.losses()), groups.unused()
    if not lost and not unused:
        return None
    order = "lost_core_hours" if lost else next(iter(unused))
    rows = [
        [
            named(row["value"]),
            amount(row["core_hours"]),
            *([_part(row, "lost_core_hours", "core_hours")] if lost else []),
            *(_part(row, name, of) for name, of in unused.items()),
        ]
        for row in groups.groups(kind, order).head(MOST_GROUPS).to_dicts()
    ]
    columns = (kind, "core-hours", *(["lost"] if lost else []), *(UNUSED_COLUMNS[name] for name in unused))
    what = "Core-hours lost, and what was not used," if lost else "What was requested and not used,"
    return Table(f"{what} by {kind}, most first{_more(kind, groups)}", columns, unique_labels(rows))


def _part(row: dict[str, Any], name: str, of: str) -> str:
    """How much, and its share of what the group had."""
    part = part_of_whole(row[name], row[of])
    return "not in the log" if part is None else f"{amount(row[name])} ({share(part)})"


def _more(kind: str, groups: WaitsAndWaste) -> str:
    count = groups.groups(kind).height
    return f" ({MOST_GROUPS} of {count:,})" if count > MOST_GROUPS else ""


def _duration(hours: float | None) -> str:
    return "not in the log" if hours is None else duration_text(hours * HOUR_S)


def _reacting(logged: LoggedSystem) -> list[Block]:
    """Who submits after own jobs have ended: nothing where nobody does."""
    users = logged.habits
    if not users.following:
        return []
    text = ""
    if users.longest_think_s is not None and (following := users.following - users.by_name):
        text = (
            f"{share(following / users.jobs)} of the jobs came at most {duration_text(users.longest_think_s)} after the end of an own job, "
            f"half of these within {duration_text(users.median_think_s)}, and follow it. If it ended later, they would come later. "
        )
    if users.depending:
        text += f"{users.depending:,} named jobs that had to end before them. Of these {users.by_name:,} came later and follow them."
    follow = users.by_user.filter(pl.col("following") > 0).sort("following", "user", descending=[True, False])
    rows = [
        [
            named(row["user"]),
            f"{row['jobs']:,}",
            share(row["share"]),
            "none" if row["median_think_s"] is None else duration_text(row["median_think_s"]),
            f"{row['gave_up']:,}",
        ]
        for row in follow.head(MOST_GROUPS).to_dicts()
    ]
    columns = ("user", "jobs", "that follow", "median think time", "cancelled while waiting")
    more = f" ({MOST_GROUPS} of {follow.height:,})" if follow.height > MOST_GROUPS else ""
    return [
        Heading("Who waits for own jobs"),
        text.strip(),
        Table(f"Users whose jobs follow own ones, most first{more}", columns, unique_labels(rows)),
    ]
