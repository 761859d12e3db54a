"""How wrong predicted changes are, by what the grade looks at, and the thresholds of letters that follow."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.judging.fidelity import OFFSET_S, WITHIN, LetterRule, letter_of, times_off
from studies.planted.keeping import PlantedResult

KEPT_SHARE = 0.9
"""Each letter keeps its promise in so many cases."""
OFFS = (1.02, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.4, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0)
RANKS = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98)
DISTANCES = (0.02, 0.05, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 1.0)
DEVIATIONS = 1.28
"""So many standard errors of the share that keeps a promise must lie above what is promised. Cases of one cluster are no other clusters."""
TRIVIAL_S = 60.0
"""A figure below this, before and after the change, is in no case: nobody asks for it, and it is always right."""


def cases_of(results: Iterable[PlantedResult]) -> pl.DataFrame:
    """The rows of effects with the cluster's number and kind, and of each case `off`, `error` and `letter`."""
    tables = [
        each.effects.with_columns(number=pl.lit(each.facts["number"]), kind=pl.lit(each.facts["kind"]))
        for each in results
    ]
    return with_errors(pl.concat(tables))


def with_errors(effects: pl.DataFrame) -> pl.DataFrame:
    """Cases with `off`, `letter`, and `error`: the factor by which the predicted change is off, 1 for not at all. `no_change`: the same of
    the prediction that nothing changes."""
    shown = effects.filter((pl.col("logged_s") > TRIVIAL_S) | (pl.col("true_s") > TRIVIAL_S))
    true, predicted = _change("true_s", "logged_s"), _change("predicted_s", "replayed_s")
    cases = list(shown.select("figure", "logged_s", "replayed_s", "rank", "distance").iter_rows())
    letters = [letter_of(figure, (logged, now), rank, distance) for figure, logged, now, rank, distance in cases]
    return shown.with_columns(
        pl.Series("off", [times_off(logged, now) for _, logged, now, _, _ in cases], dtype=pl.Float64),
        pl.Series("letter", letters, dtype=pl.Utf8),
        (predicted.log() - true.log()).abs().exp().alias("error"),
        true.log().abs().exp().alias("no_change"),
    )


def _change(after: str, before: str) -> pl.Expr:
    return (pl.col(after) + OFFSET_S) / (pl.col(before) + OFFSET_S)


def fitted_rules(cases: pl.DataFrame) -> dict[str, dict[str, LetterRule]]:
    """Thresholds of each figure for the promises of WITHIN: those that give most cases the letter, or a better one, while those that have
    it keep its promise by DEVIATIONS more than promised. A letter asks for no more than a better one."""
    return {figure: _rules_of(cases.filter(figure=figure)) for figure in cases["figure"].unique(maintain_order=True)}


def _rules_of(cases: pl.DataFrame) -> dict[str, LetterRule]:
    left = np.ones(cases.height, dtype=np.bool_)
    rules: dict[str, LetterRule] = {}
    for letter, within in WITHIN.items():
        if within is not None:
            better = list(rules.values())[-1] if rules else LetterRule(1.0, 1.0, 0.0)
            rules[letter] = _fitted(cases, left, within, better)
            left &= ~_has(cases, rules[letter])
    return rules


def _fitted(cases: pl.DataFrame, left: NDArray[np.bool_], within: float, better: LetterRule) -> LetterRule:
    kept = cases["error"].to_numpy() <= within
    cluster = cases["number"].to_numpy()
    groups = [np.ones(cases.height, dtype=np.bool_), cases["part"].to_numpy() == "all"]
    best, most = better, 0
    for off, rank, distance in itertools.product(OFFS, RANKS, DISTANCES):
        if off < better.off or rank > better.rank or distance < better.distance:
            continue
        tried = LetterRule(off, rank, distance)
        has = _has(cases, tried) & left
        count = int(has.sum())
        if count > most and all(_surely_kept(kept[has & of], cluster[has & of]) for of in groups):
            best, most = tried, count
    return best


def _surely_kept(kept: NDArray[np.bool_], cluster: NDArray[np.int64]) -> bool:
    """Whether the share that is kept is above KEPT_SHARE by its standard error over clusters."""
    if not len(kept):
        return True
    return bool(kept.mean() - DEVIATIONS * error_over_clusters(kept, cluster) >= KEPT_SHARE)


def error_over_clusters(kept: NDArray[np.bool_], cluster: NDArray[np.int64]) -> float:
    """The standard error of a share of cases, of which those of one cluster are alike. Both (cases,)."""
    off = np.bincount(cluster, weights=kept - kept.mean())
    return float(np.sqrt((off**2).sum()) / len(kept))


def _has(cases: pl.DataFrame, rule: LetterRule) -> NDArray[np.bool_]:
    rank = cases["rank"].fill_null(0.0).to_numpy()
    off, distance = cases["off"].to_numpy(), cases["distance"].to_numpy()
    return (off <= rule.off) & (rank >= rule.rank) & (distance <= rule.distance)


def rows_by_letter(cases: pl.DataFrame) -> list[list[str]]:
    """A row for each letter: cases, share that keeps the promise, error that 9 of 10 cases do not pass, and the same of no change."""
    rows = []
    for letter, within in WITHIN.items():
        of = cases.filter(letter=letter)
        if not of.height:
            rows.append([letter, "0", "", "", "", ""])
            continue
        error = of["error"]
        kept = "" if within is None else _percent(float((error <= within).mean()))  # type: ignore[arg-type]
        rows.append(
            [
                letter,
                f"{of.height:,}",
                str(of["number"].n_unique()),
                kept,
                f"{error.quantile(KEPT_SHARE):.2f}",
                f"{of['no_change'].quantile(KEPT_SHARE):.2f}",
            ]
        )
    return rows


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
