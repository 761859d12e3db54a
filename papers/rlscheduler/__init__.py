"""RLScheduler (Zhang et al., SC 2020): the rules of its code, its tables and figures.

`rules.py` replays by them, with `loop.py`, `scores.py`, `windows.py` and `inspecting.py`; `way.py` is `--rules rlscheduler`. The assets are
`published.py`, `transfer.py` and `curves.py`, on `ten_windows.py`. The studies are `study.py` and `as_published.py`.
"""

from __future__ import annotations

from typing import Any

from papers.paper_tables import MEANS, PaperStep, PaperTable, printed_table

_PAPER = "RLScheduler"
_CURVES = "FROM experiments.curves WHERE source = $source AND experiment = "


def _published(goal: str, backfill: str) -> PaperStep:
    made = (
        "SELECT count(*) FROM experiments.comparisons WHERE source = $source AND experiment = 'published' "
        f"AND goal = '{goal}' AND backfill = '{backfill}' AND policy LIKE 'ppo%'"
    )
    return PaperStep("experiments/published", made, {"goals": [goal], "backfills": [backfill]})


def _table(name: str, shows: str, goal: str) -> PaperTable:
    return PaperTable(
        name,
        _PAPER,
        f"{shows}: heuristics, tuned key and learned policies on ten windows",
        "10 minutes",
        (_published(goal, "none"), _published(goal, "easy")),
        MEANS.format(experiment="published", goal=goal),
        goes_on="after each of two backfilling rules",
    )


def _figure(name: str, shows: str, expected: str, experiment: str, config: dict[str, Any]) -> PaperTable:
    rows = f"{_CURVES}'{experiment}'"
    return PaperTable(
        name,
        _PAPER,
        shows,
        expected,
        (PaperStep("experiments/curves", f"SELECT count(*) {rows}", config),),
        f"SELECT variant, epoch, avg(validation_cost) AS validation_cost, count(*) AS seeds {rows} GROUP BY ALL ORDER BY ALL",
    )


TABLES = (
    _table("table5", "Table V, bounded slowdown", "bsld"),
    _table("table6", "Table VI, utilisation", "utilisation_as_coded"),
    PaperTable(
        "table7",
        _PAPER,
        "Table VII, policies of other logs on this one: give several sources",
        "10 minutes a source",
        (
            _published("bsld", "none"),
            _published("bsld", "easy"),
            PaperStep(
                "experiments/transfer",
                "SELECT count(*) FROM experiments.comparisons WHERE source = $source AND experiment = 'transfer'",
            ),
        ),
        MEANS.format(experiment="transfer", goal="bsld"),
        goes_on="after each source and backfilling rule",
    ),
    _table("table8", "Table VIII, bounded slowdown of the worst user", "bsld:max_user"),
    _table("table10", "Table X, slowdown", "slowdown"),
    _table("table11", "Table XI, wait", "wait"),
    printed_table(
        "rules",
        _PAPER,
        "Tables V, VI, VIII, X and XI, rules alone beside the column RL",
        "1 minute",
        "rlscheduler.study",
    ),
    printed_table(
        "as-published",
        _PAPER,
        "Tables V, VI, VII, X and XI, column RL, and Figures 8 to 13, from kept trainings",
        "1 minute",
        "rlscheduler.as_published",
    ),
    _figure("figure8", "Figure 8, networks", "8 minutes", "networks", {"filtering": False}),
    _figure("figure9", "Figure 9, with and without the filter", "not measured", "filtering", {"networks": []}),
)
