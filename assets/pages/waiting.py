"""Why jobs waited, and what requests for too much time cost, as sections of the report."""

from __future__ import annotations

from assets.pages.look import charts
from assets.pages.page import Block, Chart, Heading, Section, Table, unique_labels
from assets.pages.words import duration_text, share
from assets.replaying.own.over_asking import over_asking
from assets.replaying.own.wait_causes import MOST_EXPLAINED_JOBS, WaitCauses, stored_causes, wait_causes
from assets.usage.cluster_check import described_cluster
from simulator.slurm.waiting.words import CAUSE_WORDS
from warehouse import Warehouse, first_row

LONGEST_REPLAYED = 20_000
"""Jobs of a log whose replays with better requests the report waits for: `tracehouse who --waste` has those of longer ones."""
MOST_EXPLAINED = 8
FEWEST_SHARE = 0.005
"""Causes of less than this part of all waiting are left out of the picture."""
_COUNTED = "SELECT count(*), count(*) FILTER (wait_s > 0) FROM core.jobs WHERE source = ?"


def causes_of_log(warehouse: Warehouse, source: str) -> WaitCauses | str | None:
    """What kept the jobs of a source, as it is stored, or found now before that, or why nobody can say it. None for a source whose cluster
    nobody has described, and where nobody has waited."""
    with warehouse.read() as connection:
        jobs, waited = first_row(connection, _COUNTED, [source]) or (0, 0)
    if not waited or described_cluster(warehouse, source) is None:
        return None
    stored = stored_causes(warehouse, source)
    if stored is not None:
        return stored
    if jobs > MOST_EXPLAINED_JOBS:
        return f"No causes are stored of so long a log: `tracehouse why {source}` finds them."
    try:
        return wait_causes(warehouse, source)
    except ValueError as error:
        return f"Nobody can say it: {error}."


def waiting_section(causes: WaitCauses | str | None) -> Section | None:
    """None where nothing can be said. causes: of `causes_of_log`."""
    if causes is None:
        return None
    if isinstance(causes, str):
        return Section("Why jobs waited", [causes])
    return Section("Why jobs waited", waiting_blocks(causes))


def waiting_blocks(causes: WaitCauses) -> list[Block]:
    """What kept jobs, by cause, and most for whom."""
    hours = float(causes.jobs["wait_s"].sum()) / 3600
    table = causes.of().sort("hours", descending=True)
    rows = [
        [CAUSE_WORDS[cause], f"{each:,.1f}", share(each / hours), f"{jobs:,}"]
        for cause, each, jobs in table.iter_rows()
    ]
    blocks: list[Block] = [
        f"Jobs waited {hours:,.0f} hours in all, until they started or left the queue, from the log's own starts, by {causes.basis}.",
        Table("Hours of waiting by cause", ("what kept them", "hours", "of all", "jobs"), rows),
    ]
    shown = table.filter(table["hours"] >= FEWEST_SHARE * hours)
    if shown.height:
        labels = [CAUSE_WORDS[cause] for cause in shown["cause"]]
        blocks.append(
            Chart(
                "waiting-by-cause",
                "Hours of waiting by cause",
                charts.bars(labels, {"hours": shown["hours"].to_list()}, "", "hours"),
            )
        )
    blocks += _by_group(causes)
    limits = causes.limits(causes.jobs).head(MOST_EXPLAINED)
    if limits.height:
        rows = [[limit, f"{each:,.1f}", f"{jobs:,}"] for limit, jobs, each in limits.iter_rows()]
        blocks += [
            Heading("Limits"),
            Table("Hours of waiting by limit", ("limit", "hours", "jobs"), unique_labels(rows)),
        ]
    blocks.append(
        "The causes of a job add up to its wait. Where no rule is known, a job could have started: there is a rule that the cluster's "
        "description lacks. `tracehouse why` has the same for one job, a user, a queue or a period."
    )
    return blocks


def requests_section(warehouse: Warehouse, source: str) -> Section | None:
    """The waits if requested times had been right. None without requests above run times, and for a long log."""
    with warehouse.read() as connection:
        jobs = first_row(connection, "SELECT count(*) FROM core.jobs WHERE source = ?", [source])
    if jobs is None or not 0 < jobs[0] <= LONGEST_REPLAYED:
        return None
    try:
        result = over_asking(warehouse, source, most=0, copies=1)
    except ValueError:
        return None  # no job ran, or none can be replayed, which other sections say
    if not result.waits:
        return None
    asked, better, right = (result.waits["all"][name][0] for name in ("asked", "better", "right"))
    blocks: list[Block] = [
        f"With the requested times of the log jobs wait {duration_text(3600 * asked)} on average in a replay under {result.basis}. With "
        f"requests that are 20 % better they would wait {duration_text(3600 * better)}, and with right ones {duration_text(3600 * right)}."
    ]
    for kind in ("user", "account"):
        groups = result.waits[kind]
        if groups.height > 1:
            rows = [
                [
                    row["value"],
                    f"{row['jobs']:,}",
                    *(duration_text(3600 * row[name]) for name in ("asked", "better", "right")),
                ]
                for row in groups.head(MOST_EXPLAINED).iter_rows(named=True)
                if None not in row.values()
            ]
            columns = (kind, "jobs", "mean wait as asked", "20 % better", "right")
            blocks.append(Table(f"Mean waits with better requests, by {kind}", columns, unique_labels(rows)))
    blocks.append(
        "One replay each: small differences are accidents. `tracehouse who --waste` repeats them, and says who costs the others most."
    )
    return Section("What too long requests cost", blocks)


def _by_group(causes: WaitCauses) -> list[Block]:
    blocks: list[Block] = []
    for kind in ("user", "queue"):
        groups = causes.by_group(causes.jobs, kind)
        if groups.height > 1:
            rows = [
                [
                    str(row["value"]),
                    duration_text(3600 * row["hours"] / row["jobs"]),
                    CAUSE_WORDS[row["cause"]],
                    share(row["share"]),
                ]
                for row in groups.head(MOST_EXPLAINED).iter_rows(named=True)
            ]
            columns = (kind, "mean wait of those that waited", "most for", "of its hours")
            blocks.append(Table(f"What kept jobs, by {kind}", columns, unique_labels(rows), text_columns=(2,)))
    return [Heading("For whom"), *blocks] if blocks else []
