"""The page of `tracehouse what-if` (look/scenarios.html): one file, nothing loaded from anywhere."""

from __future__ import annotations

from assets.pages.look.templates import fill
from assets.replaying.running.run import engine_version
from assets.replaying.scenarios.columns import (
    CHANGE_COLUMNS,
    RANK_COLUMNS,
    RANKS_ALONE,
    by_rank,
    hours,
    wait_columns,
    with_random_orders,
)
from assets.replaying.scenarios.pairing import most_changed
from assets.replaying.scenarios.results import ScenarioResults
from simulator.metrics.metrics import SEMANTICS

TOP = 5
"""Groups of a kind that the page shows for each scenario."""


def scenario_page(results: ScenarioResults) -> str:
    """The whole document; the same results give the same bytes."""
    plan, groups = results.plan, results.groups
    rows = with_random_orders(results.rows.to_dicts(), results.spread_of_random_orders)
    jobs = [results.scored_words, *([results.left_out_words] if results.left_out_words else [])]
    names = list(groups["scenario"].unique(maintain_order=True)) if plan.configuration.has_figures else []
    return fill(
        "scenarios.html",
        plan=plan,
        facts={
            "base": [results.base_words],
            "jobs": jobs,
            "trust": plan.configuration.trust,
            **({"users": [results.following_words]} if results.following_words else {}),
            "scenarios": results.scenario_words,
        },
        rows=rows,
        wait_columns=wait_columns(plan.configuration.letters),
        longest=max(row["average_wait_h"] or 0.0 for row in rows) or 1.0,
        compared=[row for row in rows if row["verdict"] is not None or row["failed_because"] is not None],
        change_columns=CHANGE_COLUMNS,
        ranked=by_rank(rows),
        rank_columns=RANK_COLUMNS,
        ranks_alone=RANKS_ALONE,
        remarks=results.remarks,
        most_changed={name: most_changed(groups.filter(scenario=name), TOP) for name in names},
        hours=hours,
        version=engine_version(),
        semantics=SEMANTICS,
    )
