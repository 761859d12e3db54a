"""Predicted waits beside their best rivals, with intervals: the tables that `python -m studies prediction starts` prints.

Each statistic has the measure that it makes least: a median the mean absolute error, a mean the root mean squared error, an interval the
interval score (its length, and ten times by how much the wait is outside). The rival with the least value is chosen after the
fact, which favours rivals. Jobs of one day fare alike, so that intervals come from blocks of neighbouring jobs (Politis and Romano 1992).
Such intervals are too short where a few bursts decide. So each is tried on logs that are made of longer blocks, and its level is
raised until it holds there (iterated bootstrap, Hall 1986).

The tables that `studies.predicting.prediction` prints, and docs/results/prediction.md has from docs/results.json.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from papers.markdown import markdown

FloatArray = NDArray[np.float64]
BLOCKS, RESAMPLED, TRIED = 16, 2000, 200
"""Blocks of a resampled log, resampled logs for an interval, and logs on which intervals are tried, of blocks twice as long."""
CERTAINTY = 0.95


class Rival(NamedTuple):
    """Columns of `models.waits.scoring.predict_history`: of a median or mean, and of both ends of the interval."""

    point: str
    low: str
    high: str


RIVALS = {
    "zero": Rival("zero_s", "zero_s", "zero_s"),
    "similar jobs, median": Rival("similar_p50_s", "similar_p10_s", "similar_p90_s"),
    "similar jobs, mean": Rival("similar_mean_s", "similar_p10_s", "similar_p90_s"),
    "replays, median": Rival("replay_p50_s", "replay_p10_s", "replay_p90_s"),
    "replays, mean": Rival("replay_mean_s", "replay_p10_s", "replay_p90_s"),
    "binomial bound": Rival("binomial_p50_s", "binomial_p10_s", "binomial_p90_s"),
}
OURS = {
    "median": Rival("wait_p50_s", "wait_p10_s", "wait_p90_s"),
    "mean": Rival("wait_mean_s", "wait_p10_s", "wait_p90_s"),
    "80 % interval": Rival("wait_p50_s", "wait_p10_s", "wait_p90_s"),
}
"""By statistic."""
Loss = Callable[[pl.DataFrame, Rival], FloatArray]


def _column(rows: pl.DataFrame, name: str) -> FloatArray:
    return rows[name].to_numpy().astype(np.float64) if name != "zero_s" else np.zeros(rows.height)


def _absolute(rows: pl.DataFrame, of: Rival) -> FloatArray:
    return np.abs(_column(rows, of.point) - _column(rows, "wait_s"))


def _interval_score(rows: pl.DataFrame, of: Rival) -> FloatArray:
    low, high, wait = (_column(rows, name) for name in (of.low, of.high, "wait_s"))
    return high - low + 10 * (np.maximum(low - wait, 0) + np.maximum(wait - high, 0))


LOSSES: dict[str, Loss] = {
    "median": _absolute,
    "mean": lambda rows, of: _absolute(rows, of) ** 2,
    "80 % interval": _interval_score,
}
MEASURES = {"median": "mean absolute error", "mean": "root mean squared error", "80 % interval": "interval score"}


class Comparison(NamedTuple):
    """A statistic on one log. ours, theirs: the measure, seconds, of ours and of the best rival. low, high: interval of their ratio.
    held: how often such intervals held on logs of longer blocks."""

    statistic: str
    ours: float
    rival: str
    theirs: float
    low: float
    high: float
    held: float

    @property
    def ratio(self) -> float:
        """Ours over theirs, below 1 where ours is better."""
        return self.ours / self.theirs


def comparisons(rows: pl.DataFrame, seed: int = 1) -> Iterator[Comparison]:
    """Every statistic of one log. rows: of `predict_history`, in order of submission."""
    for statistic, loss in LOSSES.items():
        power = 0.5 if statistic == "mean" else 1.0
        losses = {name: loss(rows, rival) for name, rival in RIVALS.items()}
        best = min(losses, key=lambda name: losses[name].mean())
        pair = np.stack([loss(rows, OURS[statistic]), losses[best]])
        rng = np.random.default_rng(seed)
        places = _places(pair, rng)
        tail = float(np.quantile(places, 1 - CERTAINTY))
        low, high = np.quantile(_ratios(pair, RESAMPLED, rng), [tail, 1 - tail]) ** power
        held = float((places >= max(tail, 1e-9)).mean())
        ours, theirs = pair.mean(axis=1) ** power
        rival = best.split(",")[0] if statistic == "80 % interval" else best
        yield Comparison(statistic, ours, rival, theirs, low, high, held)


def share_interval(inside: NDArray[np.bool_], seed: int = 1) -> tuple[float, float]:
    """The interval of a share of jobs, in order of submission."""
    means = _resampled_means(inside[None].astype(np.float64), RESAMPLED, np.random.default_rng(seed))
    low, high = np.quantile(means[:, 0], [(1 - CERTAINTY) / 2, (1 + CERTAINTY) / 2])
    return float(low), float(high)


def _resampled_means(losses: FloatArray, times: int, rng: np.random.Generator) -> FloatArray:
    """Means of logs of BLOCKS blocks, drawn anywhere on the log closed to a circle. losses: (series, jobs). Returns (times, series)."""
    jobs = losses.shape[1]
    length = max(1, jobs // BLOCKS)
    sums = np.cumsum(np.concatenate([np.zeros((len(losses), 1)), losses, losses[:, :length]], axis=1), axis=1)
    first = rng.integers(0, jobs, (times, BLOCKS))
    return (sums[:, first + length] - sums[:, first]).sum(axis=2).T / (BLOCKS * length)


def _ratios(pair: FloatArray, times: int, rng: np.random.Generator) -> FloatArray:
    means = _resampled_means(pair, times, rng)
    return means[:, 0] / means[:, 1]


def _places(pair: FloatArray, rng: np.random.Generator) -> FloatArray:
    """For TRIED logs of longer blocks: the share of resampled ratios on the side of the whole log's ratio that has fewer, (TRIED,).

    An interval that leaves out a share t on either side holds on a log whose share is at least t."""
    jobs, truth = pair.shape[1], pair[0].mean() / pair[1].mean()
    shares = np.empty(TRIED)
    for k in range(TRIED):
        first = rng.integers(0, jobs, BLOCKS // 2)
        drawn = (first[:, None] + np.arange(2 * jobs // BLOCKS)).ravel() % jobs
        below = (_ratios(pair[:, drawn], RESAMPLED // 4, rng) <= truth).mean()
        shares[k] = min(below, 1 - below)
    return shares


def waits_table(logs: dict[str, pl.DataFrame]) -> str:
    """logs: by name, rows of `predict_history`. Ours and the best rival of each cell."""
    lines = []
    for log, rows in logs.items():
        for each in comparisons(rows):
            cells = [f"{each.ours:,.0f}", each.rival, f"{each.theirs:,.0f}"]
            ratio = f"{each.ratio:.2f} [{each.low:.2f}, {each.high:.2f}]"
            lines.append([log, each.statistic, *cells, ratio, _covered(rows, OURS[each.statistic], each.statistic)])
    return markdown(["log", "predicted", "ours, s", "best rival", "rival, s", "ratio", "inside, %"], lines)


def _covered(rows: pl.DataFrame, of: Rival, statistic: str) -> str:
    """How many waits are in the interval, in percent; nothing for other statistics."""
    if statistic != "80 % interval":
        return ""
    low, high, wait = (_column(rows, name) for name in (of.low, of.high, "wait_s"))
    inside = (low <= wait) & (wait <= high)
    least, most = share_interval(inside)
    return f"{100 * inside.mean():.0f} [{100 * least:.0f}, {100 * most:.0f}]"


def every_wait_table(logs: dict[str, pl.DataFrame]) -> str:
    """Every predictor by every measure, and where its interval misses."""
    lines = []
    for log, rows in logs.items():
        held = [f"{100 * each.held:.0f}" for each in comparisons(rows)]
        everyone = {"ours, median": OURS["median"], "ours, mean": OURS["mean"]} | RIVALS
        for name, of in everyone.items():
            low, high, wait = (_column(rows, column) for column in (of.low, of.high, "wait_s"))
            shares = [(wait < low).mean(), (wait > high).mean()]
            values = [loss(rows, of).mean() ** (0.5 if key == "mean" else 1.0) for key, loss in LOSSES.items()]
            cells = [f"{value:,.0f}" for value in (*values, (high - low).mean())]
            lines.append([log, str(rows.height), name, *cells, *(f"{100 * share:.1f}" for share in shares)])
        lines.append([log, str(rows.height), "how often the intervals of the ratios held, %", *held, "", "", ""])
    measures = [f"{measure}, s" for measure in MEASURES.values()]
    return markdown(["log", "jobs", "predictor", *measures, "mean length, s", "below, %", "above, %"], lines)


# --- prediction tables


FIRST_FIVE = ("requested", "last_two", "user_mean", "online_regression", "online_squared")
"""The predictors that learn no model of a log."""


def predictors_table(scores: dict[str, dict[str, dict[str, float]]], chosen: dict[str, str]) -> str:
    """scores: by log, predictor and name. chosen: by log, the predictor that is chosen on the others.

    The least mean error of a log is bold. Chosen ones are compared with the best of FIRST_FIVE."""
    logs = list(scores)
    lines = []
    for predictor in scores[logs[0]]:
        cells = []
        for log in logs:
            errors = {name: score["mean_absolute_error_s"] for name, score in scores[log].items()}
            text = f"{errors[predictor]:,.0f}"
            cells.append(f"**{text}**" if errors[predictor] == min(errors.values()) else text)
        lines.append([f"`{predictor}`" + (" (after RLSchert)" if predictor == "user_behaviour" else ""), *cells])
    lines.append(["chosen on the other three logs", *(chosen[log] for log in logs)])
    against, covered = [], []
    for log in logs:
        best = min(scores[log][name]["mean_absolute_error_s"] for name in FIRST_FIVE)
        mine = scores[log][chosen[log]]
        against.append(f"{100 * (mine['mean_absolute_error_s'] / best - 1):+.1f} %")
        covered.append(" / ".join(f"{100 * mine[f'coverage_{share}']:.1f}" for share in (50, 80, 90)))
    lines.append(["its error against the best of the first five", *against])
    lines.append(["its coverage at 50 / 80 / 90 %", *covered])
    return markdown(["predictor", *logs], lines)
