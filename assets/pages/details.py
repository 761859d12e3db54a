"""The last sections of the report: how a policy was learned, and where the numbers come from, for those who want to know."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from assets.common.learnable import why_no_model
from assets.pages.changes import full_name, lot_name, lot_range
from assets.pages.comparison import Comparison
from assets.pages.logged import LoggedSystem
from assets.pages.look import charts
from assets.pages.page import Block, Bullets, Chart, Heading, Section, Table, TermList
from assets.pages.words import NAMES_EXPLAINED, amount, count, duration_text, share, size_names
from assets.policies.held_out import RANDOM, FloatArray, SeenLearning, read_seen
from assets.replay.random_orders import incumbent_of, stored_cloud, with_share_as_good
from assets.replaying.limits.unhonoured import origin_words
from assets.replaying.own.way import ORDERS_THAT_CHANGE
from assets.replaying.running.settings import OWN_SCHEDULERS
from assets.replaying.scenarios.paced import depends_words
from assets.replaying.site import site_of
from models.judging.fidelity import FEWEST_WAITING
from models.judging.verdict import DEPENDS, DOMINATES, NOBODY_PAYS_MORE, VERDICT_MEANING, plain_word
from models.scheduling.comparison import Difference
from simulator.metrics.metrics import SEMANTICS
from warehouse import Warehouse

_QUERIES = {
    "lines": "SELECT * FROM marts.ingest_summary WHERE source = $source",
    "about": "SELECT format, time_zone_from FROM core.sources WHERE source = $source",
    "findings": "SELECT finding, found, unit, share, example FROM marts.trace_health WHERE source = $source AND found > 0 ORDER BY finding",
    "parts": (
        "SELECT part, value, jobs, grade, logged_wait_s, replayed_wait_s, alike, rank_correlation FROM replay.fidelity "
        "WHERE source = $source AND part <> 'all' AND logged_wait_s IS NOT NULL ORDER BY part DESC, value"
    ),
    "predictors": (
        "SELECT predictor, jobs, median_absolute_error_s, mean_absolute_error_s, underestimated_share FROM predictions.runtime_scores "
        "WHERE source = $source AND user_class = 'all users' ORDER BY mean_absolute_error_s, predictor"
    ),
}


def read_details(warehouse: Warehouse, source: str) -> dict[str, pl.DataFrame]:
    """The rows of _QUERIES, by name, and why there is no run-time model where no predictor has scores."""
    with warehouse.read() as connection:
        rows = {name: connection.sql(query, params={"source": source}).pl() for name, query in _QUERIES.items()}
    lacking = [why_no_model(warehouse, source)] if rows["predictors"].is_empty() else []
    return rows | {"no_model": pl.DataFrame({"because": lacking}, schema={"because": pl.Utf8})}


def details_section(logged: LoggedSystem, comparison: Comparison, rows: dict[str, pl.DataFrame]) -> Section:
    """Facts about the log, its faults, all schedulers, grades of parts, predicted run times, and what the names mean."""
    blocks: list[Block] = [Heading("The log"), TermList(_facts(logged, comparison, rows)), *_findings(rows["findings"])]
    blocks += _all_schedulers(comparison)
    blocks += _grades(logged, rows["parts"].to_dicts())
    blocks += _predictors(rows["predictors"].to_dicts(), rows["no_model"]["because"].to_list())
    blocks += [
        Heading("What the names of schedulers mean"),
        Bullets([f"{name}: {text}" for name, text in NAMES_EXPLAINED.items()]),
    ]
    blocks += [
        Heading("What the verdicts mean"),
        Bullets([f"{name}: {text}" for name, text in VERDICT_MEANING.items()]),
    ]
    blocks.append(
        "Requested times are those that users ask for. Predicted times are those of a model that knew only jobs which had ended. Live "
        f"estimates are the same within the replay. Rules and metrics are semantics {SEMANTICS} of docs/reference/semantics.md."
    )
    return Section("Details", blocks)


def _facts(logged: LoggedSystem, comparison: Comparison, rows: dict[str, pl.DataFrame]) -> list[tuple[str, str]]:
    about = rows["about"].row(0, named=True)
    facts = [
        ("format", about["format"]),
        ("cluster", f"{logged.extent.cluster_procs:,} processors (from the {logged.extent.cluster_procs_from})"),
    ]
    if logged.extent.clock.has_dates:
        nobody = about["format"] != "swf" and about["time_zone_from"] == "assumed"
        assumed = ", assumed: give the right one with `tracehouse ingest --time-zone`" if nobody else ""
        facts.append(("time zone", f"{logged.extent.clock.name}{assumed}"))
    else:
        facts.append(("dates", "none: the log counts from a second that it does not tell"))
    for line in rows["lines"].to_dicts():
        ends = f"{line['accepted']:,} accepted, {line['kept']:,} other records, {line['ignored']:,} ignored, {line['rejected']:,} rejected"
        facts.append(("lines", f"{line['lines']:,} in {count(line['files'], 'file')}: {ends}"))
    facts.append(("rules that hold jobs back", origin_words(logged.extent.source)))
    if comparison.scored:
        facts.append(("compared", f"schedulers on the last {count(comparison.scored, 'job')} that can be replayed"))
    return facts


def _findings(findings: pl.DataFrame) -> list[Block]:
    heading = Heading("What looks wrong in the log")
    if findings.is_empty():
        return [heading, "Nothing was found."]
    rows = [
        [
            row["finding"],
            count(row["found"], row["unit"].removesuffix("s")),
            share(row["share"]) if row["share"] is not None else "",
            row["example"] or "",
        ]
        for row in findings.to_dicts()
    ]
    return [
        heading,
        Table("Nothing of this was taken out", ("finding", "how many", "of all", "example"), rows, text_columns=[3]),
    ]


def _all_schedulers(comparison: Comparison) -> list[Block]:
    if not comparison.ranks or not comparison.has_figures:
        return []
    baseline = comparison.baseline
    assert baseline is not None
    rows = []
    chance = comparison.chance
    if chance is not None:
        numbers = [duration_text(chance.mean_s), duration_text(chance.longest_s), f"{chance.slowdown:,.1f}"]
        rows.append([lot_name(chance), *numbers, lot_range(chance), ""])
    for row in (comparison.logged, baseline, *comparison.tried):
        if row is not None:
            is_tried = row.kind in ("tried", "incumbent") and row is not baseline
            pays = (row.payers or NOBODY_PAYS_MORE) if is_tried else ""
            numbers = [duration_text(row.mean_s), duration_text(row.longest_s), f"{row.slowdown:,.1f}"]
            rows.append([full_name(row), *numbers, row.verdict if is_tried else "", pays])
    columns = ("scheduler", "mean wait", "longest wait", "mean bounded slowdown", "verdict", "who pays")
    caption = "All that were tried, by verdict, below random orders. Bounded slowdown: how many times longer a job took than it ran."
    return [Heading("All schedulers"), Table(caption, columns, rows, text_columns=[4, 5])]


def _grades(logged: LoggedSystem, parts: list[dict[str, Any]]) -> list[Block]:
    if not parts:
        return []
    names = size_names(logged.extent.cluster_procs)
    order = list(names)
    parts = sorted(parts, key=lambda row: order.index(row["value"]) if row["value"] in order else len(order))
    rows = []
    for row in parts:
        waits = [duration_text(row[name]) for name in ("logged_wait_s", "replayed_wait_s")]
        rows.append(
            [
                names.get(row["value"], row["value"]),
                f"{row['jobs']:,}",
                *waits,
                share(row["alike"]),
                row["grade"] or "none",
            ]
        )
    columns = ("part", "jobs", "mean wait in the log", "in the replay", "waits alike", "grade")
    caption = (
        "Second half of the log by size, class of users, queue and month. Waits are alike within a minute or a tenth. "
        f"No grade: fewer than {FEWEST_WAITING} of them waited."
    )
    return [Heading("How well the replay fits, part by part"), Table(caption, columns, rows)]


def _predictors(predictors: list[dict[str, Any]], no_model_because: list[str]) -> list[Block]:
    heading = Heading("How well run times are predicted")
    if not predictors:
        return [heading, f"There is no run-time model: {no_model_because[0]}."]
    rows = [
        [
            row["predictor"],
            duration_text(row["median_absolute_error_s"]),
            duration_text(row["mean_absolute_error_s"]),
            share(row["underestimated_share"]),
        ]
        for row in predictors
    ]
    caption = f"Errors over {amount(predictors[0]['jobs'])} jobs, each predicted from jobs that had ended before"
    return [
        heading,
        Table(caption, ("predictor", "median error", "mean error", "jobs that ran longer"), rows),
    ]


def learning_section(warehouse: Warehouse, source: str) -> Section | None:
    """How training went on held-out windows, beside heuristics, and the verdict in the steady state. None where nothing is stored."""
    seen = read_seen(warehouse, source)
    if seen is None:
        return None
    columns = ("order", _goal(seen), "minus FCFS", f"minus {seen.best_fixed}, the best heuristic")
    rows = [[f"learned, seed {seed}", *_beside(seen, costs)] for seed, costs in seen.learned.items()]
    rows.append(["learned, all seeds", *_beside(seen, seen.all_seeds)])
    rows += [[name, *_beside(seen, costs)] for name, costs in seen.fixed.items()]
    blocks: list[Block] = [f"{learning_sentences(seen)} {site_of(source).row_words}".rstrip(), *_learning_chart(seen)]
    blocks.append(Table("On the held-out windows, with 95 % intervals of the differences", columns, rows))
    steady = steady_sentences(warehouse, source)
    return Section("How a policy was learned", [*blocks, *([steady] if steady else [])])


def learning_note(warehouse: Warehouse, source: str) -> str | None:
    """The section in a few lines, for the command line."""
    seen = read_seen(warehouse, source)
    if seen is None:
        return None
    said = (learning_sentences(seen), site_of(source).row_words, steady_sentences(warehouse, source))
    return " ".join(filter(None, said))


def learning_sentences(seen: SeenLearning) -> str:
    """How far the training came on the held-out windows."""
    best, seeds, goal = seen.best_fixed, len(seen.learned), _goal(seen)
    begun = [curve[0] for curve in seen.curves.values() if curve]
    came = f"{np.mean(begun):.1f} with random weights, " if begun else ""
    lots = f", random orders {seen.fixed[RANDOM].mean():.1f}" if RANDOM in seen.fixed else ""
    return (
        f"{goal} on {len(seen.windows)} windows of later jobs: {came}{seen.all_seeds.mean():.1f} after training ({seen.method.upper()}), "
        f"FCFS {seen.fixed['FCFS'].mean():.1f}{lots}, best heuristic {seen.fixed[best].mean():.1f} ({best}). Seeds better than FCFS: "
        f"{len(seen.better_than_fcfs)} of {seeds}. Seeds not certainly worse than {best}: {len(seen.reaching_best)} of {seeds}."
    )


def _goal(seen: SeenLearning) -> str:
    return "Bounded slowdown" if seen.goal == "bsld" else f"The goal {seen.goal}"


def steady_sentences(warehouse: Warehouse, source: str) -> str:
    """The verdict on the champion in a replay of the whole log, and where it is not confirmed, which effect would have been. Empty before
    it was replayed."""
    with warehouse.read() as connection:
        scores = connection.sql("FROM replay.period_scores WHERE source = $source", params={"source": source}).pl()
        newest = connection.execute(
            "SELECT newest FROM policies.learned_policies WHERE source = ? AND champion AND learns = 'order'", [source]
        ).fetchone()
    learned = scores.filter(policy="learned", estimates="requested")
    if learned.is_empty():
        return ""
    incumbent = incumbent_of(scores)["policy"]
    present = OWN_SCHEDULERS.get(
        incumbent, f"{incumbent} under the limits" if learned["cluster"][0] else "FCFS with EASY"
    )
    cloud = stored_cloud(scores)
    row = with_share_as_good(learned, cloud).row(0, named=True)
    by_lot = row["random_orders_as_good"]
    chance = "" if by_lot is None else f" {_lots(by_lot, len(cloud.ratios) if cloud else 0)}"
    whose = "" if newest is None or newest[0] else ", of the champion, which an earlier training made"
    beside = present.removesuffix(" with EASY")
    text = (
        f"In a replay of the whole log{whose}, which decides: {row['verdict']} over {present}. Bounded slowdown "
        f"{row['bounded_slowdown_ratio']:.2f} and mean wait {row['wait_ratio']:.2f} of those of {beside}.{chance}"
    )
    if row["verdict"] == DEPENDS:
        return f"{text} It is {depends_words(row['times_verdict'], row['pace_verdict'])}."
    if plain_word(row["verdict"]) == DOMINATES:
        return text
    low, high = row["typical_slowdown_low"], row["typical_slowdown_high"]
    if high is not None and high < 1:
        paid = (row["payers"] or "").partition("; ")[0]
        return f"{text} The gain is beyond chance{f', but this is worse: {paid}' if paid else ''}. Not to be adopted as it is."
    if low is not None and high is not None:
        text += f" Only a gain of {share(1 - math.sqrt(low / high))} or more in the typical block would have been confirmed."
    is_learned_there = learned["cluster"][0] is None or incumbent in ORDERS_THAT_CHANGE
    train = f", or tracehouse train {source}, which learns in such replays" if is_learned_there else ""
    return f"{text} Not to be adopted. To try: a longer log{train}."


def _lots(share_as_good: float, orders: int) -> str:
    """share_as_good: with the policy itself, as `ChanceCloud.share_as_good` counts."""
    if orders and round(share_as_good * (orders + 1)) <= 1:
        return f"None of {orders} random orders does as well."
    return f"{share(share_as_good)} of random orders do as well."


def _beside(seen: SeenLearning, costs: FloatArray) -> list[str]:
    rivals = ("FCFS", seen.best_fixed)
    return [f"{costs.mean():.2f}", *(_difference(seen.beside(costs, rival)) for rival in rivals)]


def _difference(apart: Difference) -> str:
    if apart.low is None or apart.high is None:
        return f"{apart.mean:+.2f}"
    return f"{apart.mean:+.2f} ({apart.low:+.2f} to {apart.high:+.2f})"


def _learning_chart(seen: SeenLearning) -> list[Block]:
    curves = np.array(list(seen.curves.values()))
    if not curves.size:
        return []
    lines = {
        f"learned, mean of {len(curves)} seeds": curves.mean(axis=0).tolist(),
        "best seed": curves.min(axis=0).tolist(),
        "worst seed": curves.max(axis=0).tolist(),
    }
    for name in ("FCFS", seen.best_fixed):
        lines[name] = [float(seen.fixed[name].mean())] * curves.shape[1]
    caption = (
        "What the policy costs on held-out windows that would be kept if training ended after an epoch. Less is better"
    )
    return [Chart("learning", caption, charts.by_epoch(lines, _goal(seen)))]
