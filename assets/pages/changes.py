"""What would change: the comparison of schedulers as a section of the report."""

from __future__ import annotations

from typing import Any

from assets.pages.comparison import Comparison, Grade, Scheduler
from assets.pages.look import charts
from assets.pages.page import Block, Bullets, Chart, Heading, Section, Table
from assets.pages.words import (
    BACKFILL_NAMES,
    FEW_JOBS,
    HOUR_S,
    change_text,
    count,
    duration_text,
    instead,
    jobs_of,
    share,
    size_names,
)
from assets.replay.random_orders import WaitsByLot
from assets.replaying.running.grade import LIMITS, held_back_text, is_graded
from assets.replaying.running.settings import OWN_SCHEDULERS
from assets.replaying.scenarios.columns import RANKS_ALONE, percent
from assets.replaying.scenarios.paced import depends_words, pace_words
from assets.replaying.scenarios.pairing import direction_of
from models.judging.fidelity import promise_of, reacting_text
from models.judging.verdict import BASELINE_ROW, DEPENDS

TITLE = "What would change"
MOST_SCHEDULERS = 6
"""Schedulers with a row in the section; the details have all."""
NOT_IN_THE_LOG = (
    "Partitions, and nodes that only some jobs may use.",
    "Reservations, maintenance, and nodes that were down.",
    "Jobs that were held, or that waited for another one.",
    "Weights of accounts and users (fair share), and limits of how many jobs or processors each may have.",
    "Limits by GPUs, memory and licences: the replay knows processors only.",
    "Users who react: with shorter waits they may submit more, or other jobs.",
)
"""Why a replay may differ from what happened (docs/reference/semantics.md, "Fidelity")."""
SCHEDULER_COLUMNS = (
    "mean wait",
    "change",
    "median wait",
    "95th percentile of wait",
    "started within 1 h",
    "within 24 h",
    "grade",
    "random orders as good",
    "verdict",
)
PACE_PLACE = 1 + SCHEDULER_COLUMNS.index("change") + 1
"""Of the column of changes where users keep their pace, where any row has one."""


def changes_section(comparison: Comparison, cluster_procs: int) -> Section:
    """The grade, the schedulers beside what really happened, who gains and who pays, and what the log does not tell."""
    blocks: list[Block] = [grade_sentences(comparison.grade)]
    if comparison.why_none is not None or comparison.baseline is None:
        blocks.append(comparison.why_none or "")
        return Section(TITLE, [*blocks, *_limits(comparison.grade)])
    blocks.append(_how(comparison))
    rows = list(comparison.tried) if comparison.ranks else []
    blocks.append(scheduler_table("Schedulers on the same jobs, least mean wait first", comparison, _shown(rows)))
    if not comparison.ranks:
        blocks.append(why_unranked(comparison))
    elif not comparison.has_figures:
        blocks.append(RANKS_ALONE)
    else:
        note = note_on_learning(comparison)
        blocks += [note] if note else []
        blocks += [f"{text[0].upper()}{text[1:]}." for text in pace_remarks(_shown(rows))]
        blocks += _by_size(comparison, cluster_procs)
    blocks += _saved_runs(comparison) if comparison.has_figures else []
    return Section(TITLE, [*blocks, *_limits(comparison.grade)])


def pace_remarks(rows: list[Scheduler]) -> list[str]:
    """What the column of users who keep their pace is, whose advice depends on them, and what was not replayed with them."""
    remarks = [pace_words(None)] if any(row.pace_change is not None for row in rows) else []
    for row in rows:
        if row.verdict == DEPENDS:
            remarks.append(f"{row.name}: it depends on users: {depends_words(row.times_verdict, row.pace_verdict)}")
        if row.not_paced_because is not None:
            remarks.append(f"{row.name}: not with users who keep their pace: {row.not_paced_because}")
    return remarks


def note_on_learning(comparison: Comparison) -> str | None:
    """What to know of a learned policy that is what training started from."""
    if comparison.started_from is None:
        return None
    return f"Nothing was learned: the learned policy is what training started from ({comparison.started_from})."


def grade_sentences(grade: Grade) -> str:
    """How far the replays can be trusted, in a sentence or two."""
    if grade.letter is None:
        return f"Grade: none, because {grade.why}."
    ours, theirs = duration_text(grade.logged_s or 0), duration_text(grade.replayed_s or 0)
    waits = f"The mean wait of the graded jobs is {ours} in the log and {theirs} in the replay of {_graded_scheduler(grade)}"
    held_back = held_back_text(grade.letter, grade.logged_room, grade.replayed_room)
    reacting = reacting_text(grade.letter, grade.reacting)
    said = f"Grade {grade.letter}: {promise_of(grade.letter, 'mean', grade.reacting)}. {waits}{held_back}."
    return f"{said} {reacting}." if reacting else said


def _graded_scheduler(grade: Grade) -> str:
    if grade.own_scheduler is None:
        return "the scheduler that fits it best"
    if grade.own_scheduler == LIMITS:
        return "an order under the limits that the cluster describes"
    return f"the cluster's own {OWN_SCHEDULERS[grade.own_scheduler]}"


def letter_under(grade: Grade, policy: str) -> str | None:
    """The grade of a saved run under a policy: None where that of the source is of the cluster's own scheduler."""
    return grade.letter if is_graded(policy, grade.own_scheduler) else None


def why_unranked(comparison: Comparison) -> str:
    """Why no scheduler is better than another."""
    jobs = comparison.baseline.jobs if comparison.baseline else 0
    if jobs < FEW_JOBS:
        return f"Only {count(jobs, 'job')} can be compared, which is too few to rank schedulers: at least {FEW_JOBS} are needed."
    return "Nobody waits longer than a minute under any scheduler that was tried, so there is nothing to rank."


def scheduler_table(caption: str, comparison: Comparison, tried: list[Scheduler]) -> Table:
    """A row for what really happened, one for the baseline, and one for each of `tried` and for random orders, least mean wait first."""
    logged, baseline = comparison.logged, comparison.baseline
    assert baseline is not None
    if not comparison.has_figures:
        return _rank_table(caption, baseline, tried, comparison.chance)
    rows = []
    if logged is None:
        rows.append(["What really happened", *["not in the log"] + [""] * (len(SCHEDULER_COLUMNS) - 1)])
    else:
        rows.append([logged.name, *_cells(logged, baseline, "", "")])
    letter = comparison.grade.letter or "none"
    rows.append([baseline.name, *_cells(baseline, baseline, letter, BASELINE_ROW)])
    ranked = [(row.mean_s, [full_name(row), *_cells(row, baseline, letter, row.verdict)]) for row in tried]
    chance = comparison.chance
    if chance is not None and tried:
        ranked.append((chance.mean_s, [lot_name(chance), *_lot_cells(chance, baseline, letter)]))
    rows += [cells for _, cells in sorted(ranked)]
    columns = ["scheduler", *SCHEDULER_COLUMNS]
    if paced := {full_name(row): percent(row.pace_change, "+") for row in tried if row.pace_change is not None}:
        for cells, cell in ((columns, "keep pace"), *((cells, paced.get(cells[0], "")) for cells in rows)):
            cells.insert(PACE_PLACE, cell)
    return Table(
        caption,
        columns,
        rows,
        text_columns=[len(columns) - 1],
        marked=[rows[0][0], baseline.name],
    )


def _rank_table(caption: str, baseline: Scheduler, tried: list[Scheduler], chance: WaitsByLot | None) -> Table:
    """The order by the mean wait and the direction against the baseline, where no figure is to be trusted."""
    ranked = sorted(tried, key=lambda row: row.mean_s)
    ordered = [(row.mean_s, [full_name(row), str(place)]) for place, row in enumerate(ranked, 1)]
    if chance is not None and tried:
        ordered.append((chance.mean_s, [lot_name(chance), ""]))
    rows = [[baseline.name, "", BASELINE_ROW]]
    rows += [[*cells, direction(mean, baseline)] for mean, cells in sorted(ordered)]
    return Table(caption, ("scheduler", "rank", "mean wait"), rows, text_columns=[2], marked=[baseline.name])


def direction(mean_s: float, baseline: Scheduler) -> str:
    """Which way a mean wait goes."""
    return direction_of(mean_s - baseline.mean_s, baseline.mean_s)


def full_name(row: Scheduler) -> str:
    """The name of a scheduler with those that do the same."""
    return f"{row.name} (the same: {', '.join(row.same_as)})" if row.same_as else row.name


def _cells(row: Scheduler, baseline: Scheduler, letter: str, verdict: str) -> list[str]:
    return [
        duration_text(row.mean_s),
        "" if row is baseline or row.kind == "logged" else change_text(row.mean_s, baseline.mean_s),
        duration_text(row.median_s),
        duration_text(row.p95_s),
        share(row.within_1_h),
        share(row.within_24_h),
        letter,
        "" if row.as_good is None else share(row.as_good),
        verdict,
    ]


def lot_name(chance: WaitsByLot) -> str:
    """The name of the row of random orders."""
    return f"Random order, mean of {chance.orders}"


def lot_range(chance: WaitsByLot) -> str:
    """What is in place of their verdict."""
    return f"5 to 95 %: {duration_text(chance.low_s)} to {duration_text(chance.high_s)}"


def _lot_cells(chance: WaitsByLot, baseline: Scheduler, letter: str) -> list[str]:
    mean, change = duration_text(chance.mean_s), change_text(chance.mean_s, baseline.mean_s)
    waits = [mean, change, duration_text(chance.median_s), duration_text(chance.p95_s)]
    return [*waits, "", share(chance.within_24_h), letter, "", lot_range(chance)]


def _shown(rows: list[Scheduler]) -> list[Scheduler]:
    """The best, and what most centres run."""
    return [row for k, row in enumerate(rows) if k < MOST_SCHEDULERS or row.kind == "incumbent"]


def _how(comparison: Comparison) -> str:
    baseline = comparison.baseline
    assert baseline is not None
    jobs = count(baseline.jobs, "job")
    which = "of this time" if comparison.is_of_period else "at its end"
    place = f", with {comparison.place}" if comparison.place else ""
    text = (
        f"Each scheduler replayed the whole log{place}. The rows are about {jobs} {which}, which no training has seen. "
    )
    if comparison.is_of_period:
        text += "Verdicts are of all jobs that no training has seen, since a short time has too few of them. "
    if baseline.jobs < comparison.scored:
        text += f"The log does not say how long {count(comparison.scored - baseline.jobs, 'other job')} waited. "
    text += f"The baseline is {base_words(comparison)}. Changes and verdicts are against it. "
    if comparison.chance_words and comparison.has_figures:
        text += f"Beside the baseline, {comparison.chance_words}. "
    text += f"{comparison.left_out[0].upper()}{comparison.left_out[1:]}. " if comparison.left_out else ""
    if comparison.cluster_procs != comparison.baseline_procs:
        text += f"That one fits best with {comparison.baseline_procs:,} processors, and the others had {comparison.cluster_procs:,}. "
    return f"{text}The grade is that of the replays of this log."


def base_words(comparison: Comparison) -> str:
    """The baseline and why it is that one."""
    assert comparison.baseline is not None
    return f"{comparison.baseline.name}: {comparison.base_why}"


def _by_size(comparison: Comparison, cluster_procs: int) -> list[Block]:
    baseline = comparison.baseline
    assert baseline is not None
    names = size_names(cluster_procs)
    sizes = [name for name in names if name in baseline.by_size]
    shown = [row for row in (comparison.logged, baseline, comparison.best) if row is not None]
    shown += [row for row in comparison.tried if row.kind == "incumbent" and row not in shown]
    short = {"logged": "the log", "fitted": "best fit to the log"}
    series = {short.get(row.kind, row.name): [round(row.by_size[name] / HOUR_S, 3) for name in sizes] for row in shown}
    labels = [names[name].replace(" processors", "").replace(" processor", "") for name in sizes]
    caption = "Mean wait by size of the job"
    if not any(value for values in series.values() for value in values):
        return []
    figure = charts.bars(labels, series, "processors of the job", "mean wait, hours")
    return [Heading("Who gains, and who pays"), Chart("waits-by-size", caption, figure, 340)]


def _saved_runs(comparison: Comparison) -> list[Block]:
    """What-if runs that were saved by name, over all jobs of the log."""
    if not comparison.runs:
        return []
    means = comparison.all_jobs_s
    beside = means.get("baseline")
    rows = []
    if "logged" in means:
        rows.append(
            [
                "the log",
                "what really happened" if comparison.grade.has_real_waits else "not of a real cluster",
                f"{comparison.cluster_procs:,}",
                duration_text(means["logged"]),
                "",
                "",
                "",
            ]
        )
    if beside is not None and comparison.baseline is not None:
        rows.append(
            [
                "baseline",
                comparison.baseline.name.rpartition(": ")[2],
                f"{comparison.baseline_procs:,}",
                duration_text(beside),
                "",
                "",
                comparison.grade.letter or "none",
            ]
        )
    else:
        beside = next((run["average_wait_s"] for run in comparison.runs if run["run"] == "fcfs-easy"), None)
    rows += [_run_row(run, beside, comparison.grade) for run in comparison.runs]
    columns = ("run", "settings", "processors", "mean wait", "change", "95th percentile of wait", "grade")
    than = "the baseline" if "baseline" in means else "the run fcfs-easy"
    caption = f"Saved what-if runs, over all jobs of the log that can be replayed. Changes are against {than}."
    return [Heading("What-if runs that were saved"), Table(caption, columns, rows, text_columns=[1])]


def _run_row(run: dict[str, Any], beside: float | None, grade: Grade) -> list[str]:
    extras = [run["inspector"] and f"inspector {run['inspector']}", run["has_outages"] and "outages"]
    settings = ", ".join(
        [
            run["policy"],
            BACKFILL_NAMES.get(run["backfill"], run["backfill"]),
            f"{run['estimates']} times",
            *filter(None, extras),
        ]
    )
    difference = change_text(run["average_wait_s"], beside) if beside is not None else ""
    return [
        run["run"],
        settings,
        f"{run['procs']:,}",
        duration_text(run["average_wait_s"]),
        difference,
        duration_text(run["p95_wait_s"]),
        letter_under(grade, run["policy"]) or "none",
    ]


def _limits(grade: Grade) -> list[Block]:
    """What the log does not tell, where the grade is poor or missing."""
    if grade.letter in ("A", "B") or grade.is_described:
        return []
    return [
        Heading("What this log does not tell"),
        "A replay has only what is in the log. These things decide about waits on a real cluster, and no replay here has them:",
        Bullets(NOT_IN_THE_LOG),
    ]


def who_pays(ours: Scheduler, baseline: Scheduler, cluster_procs: int) -> str | None:
    """Whose mean wait grows most, such as "jobs over 64 processors wait 1.2 h longer (4.4 h instead of 3.2 h)". None where none
    grows by more than a tenth and six minutes."""
    names = size_names(cluster_procs)
    grown = {
        name: ours.by_size[name] - wait
        for name, wait in baseline.by_size.items()
        if name in ours.by_size and ours.by_size[name] - wait > max(0.1 * wait, HOUR_S / 10)
    }
    if not grown:
        return None
    worst = max(grown, key=lambda name: grown[name])
    return f"{jobs_of(names[worst])} wait {duration_text(grown[worst])} longer ({instead(ours.by_size[worst], baseline.by_size[worst])})"
