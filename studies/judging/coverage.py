"""How often the intervals of `models/judging` hold: `python -m studies coverage`, where the archive logs are.

Four logs are replayed from the first job to the last, with FCFS + EASY and four rivals, by requested times. The second half of
the jobs is the original series of a pair of log and rival. Each resample draws runs of neighbouring jobs from it, around the
circle and with geometric lengths (the stationary bootstrap of Politis and Romano 1994), until it has as many jobs. It is cut
into blocks and gets an interval, which should hold the target. Hop costs are those of the jobs of FCFS + EASY on the trees of
`placements`. There best fit on the tree is compared with four ways to place.

The target is computed from the original series and not drawn. It is the mean log ratio of all blocks of the original series,
one from each position around the circle, with as many jobs as a block of a resample. Resamples mix runs, so their own typical
block differs a little. The column `own` is the coverage of that one, the mean over all resamples. The old method is a
percentile bootstrap of the mean difference. Its target is the mean difference of the same blocks of the original series.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.judging.intervals import (
    BLOCKS,
    HOP_OFFSET,
    WAIT_OFFSET_S,
    block_edges,
    estimate_mean,
    log_ratios,
    plain_estimate,
)
from papers.archive import SHARED, jobs_of_file
from papers.markdown import markdown
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.metrics.metrics import bounded_slowdown
from studies.placing.placements import LOGS, placed_by_rules

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

RIVALS = {"SJF": ("SJF", "easy"), "SAF": ("SAF", "easy"), "F1": ("F1", "easy"), "EASY-SJBF": ("FCFS", "easy-sjbf")}
HOP_COST = "hop cost"
RIVALS_OF_TREE = ("first", "contiguous", "ring", "tree, 1@4h")
"""Of HOP_COST, as `placed_by_rules` names them."""
RUN_SHARES = (0.05, 0.2)
"""Mean length of a run, as a share of the judged half."""
BLOCK_COUNTS = (8, 10, 16, 40)
DRAWS = 2000
PERCENTILE_DRAWS = 400
"""Of the p99, which needs the jobs of a resample and not just their sums, and of the old method."""
POSITIONS_PER_BLOCK = 32
"""Positions of the p99's blocks of the original series; of the other metrics every job is one."""
RESAMPLES = 1000
FEWEST_CASES = 50
"""Intervals that a pair needs for its coverage to be looked at."""
ENOUGH = 0.92
"""A metric whose mean coverage is not surely as high gets no interval on pages."""
SYNTHETIC_DRAWS = 20_000


# --- series and their resamples


@dataclass(frozen=True)
class Runs:
    """One resample: int64 (runs,) each. Run k has the jobs start[k], start[k] + 1, ... of the original, around the circle."""

    start: IntArray
    length: IntArray


def draw_runs(random: np.random.Generator, num_jobs: int, mean_length: float) -> Runs:
    """Runs of geometric lengths that together have `num_jobs` jobs; the last one is cut."""
    lengths: list[int] = []
    left = num_jobs
    while left > 0:
        lengths.append(min(left, int(random.geometric(1 / mean_length))))
        left -= lengths[-1]
    return Runs(random.integers(num_jobs, size=len(lengths)), np.array(lengths, dtype=np.int64))


class MeanSeries:
    """A metric that is a mean of jobs: its sums over any run without touching the jobs.

    values: float64 (policies, jobs), the first row is the incumbent. weights: float64 (jobs,). counted: bool (jobs,), which jobs count.
    """

    draws = DRAWS

    def __init__(self, values: FloatArray, weights: FloatArray, counted: BoolArray, offset: float) -> None:
        self.jobs, self.offset = values.shape[1], offset
        rows = np.concatenate([values * weights, weights[None]])[:, counted]
        self.sums = _running_sums(np.concatenate([rows, rows], axis=1))  # (policies + 1, 2 * counted jobs + 1)
        # place of each job among those that count, so that runs of jobs become runs of those
        self.place = _running_sums(np.concatenate([counted, counted]).astype(np.int64))

    def block_means(self, runs: Runs, counts: tuple[int, ...]) -> list[FloatArray]:
        """The means of a resample, float64 (policies, blocks) for each number of blocks."""
        start, stop = self.place[runs.start], self.place[runs.start + runs.length]
        start, length = start[stop > start], (stop - start)[stop > start]
        return [self._means(start, length, count) for count in counts]

    def _means(self, start: IntArray, length: IntArray, count: int) -> FloatArray:
        begin = np.concatenate([[0], np.cumsum(length)])
        if begin[-1] < count:
            raise ValueError(f"a resample has {begin[-1]} jobs that count, too few for {count} blocks")
        edges = block_edges(int(begin[-1]), count)
        cuts = np.union1d(begin, edges)  # pieces that are within one run and one block
        run = np.searchsorted(begin, cuts[:-1], side="right") - 1
        origin = start[run] + cuts[:-1] - begin[run]
        pieces = self.sums[:, origin + np.diff(cuts)] - self.sums[:, origin]
        sums = np.add.reduceat(pieces, np.searchsorted(cuts, edges[:-1]), axis=1)
        return sums[:-1] / sums[-1]

    def originals(self, count: int) -> FloatArray:
        """The means of the blocks of the original series at every position, float64 (policies, positions)."""
        counted = (self.sums.shape[1] - 1) // 2
        size = counted // count
        sums = self.sums[:, size : size + counted] - self.sums[:, :counted]
        return sums[:-1] / sums[-1]


class PercentileSeries:
    """The 99th percentile of a value in each block. values: float64 (policies, jobs), the first row is the incumbent."""

    draws = PERCENTILE_DRAWS

    def __init__(self, values: FloatArray, offset: float) -> None:
        self.values, self.jobs, self.offset = values, values.shape[1], offset

    def block_means(self, runs: Runs, counts: tuple[int, ...]) -> list[FloatArray]:
        """The percentiles of a resample, float64 (policies, blocks) for each number of blocks."""
        drawn = np.concatenate([np.arange(a, a + n) for a, n in zip(runs.start, runs.length, strict=True)]) % self.jobs
        resample = self.values[:, drawn]
        return [
            _p99s(resample[:, a:b] for a, b in pairwise(edges))
            for edges in (block_edges(self.jobs, count) for count in counts)
        ]

    def originals(self, count: int) -> FloatArray:
        """The percentiles of the blocks of the original series, float64 (policies, positions)."""
        size, twice = self.jobs // count, np.concatenate([self.values, self.values], axis=1)
        return _p99s(twice[:, at : at + size] for at in block_edges(self.jobs, count * POSITIONS_PER_BLOCK)[:-1])


def _p99s(parts: Iterator[FloatArray]) -> FloatArray:
    return np.stack([np.percentile(part, 99, axis=1) for part in parts], axis=1)


def _running_sums(rows: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([np.zeros_like(rows[..., :1]), np.cumsum(rows, axis=-1)], axis=-1)


def series_of(log: str) -> dict[str, MeanSeries | PercentileSeries]:
    """The judged half of a log, by metric; policies are the incumbent and then its rivals."""
    jobs, procs = jobs_of_file(SHARED / LOGS[log].file), LOGS[log].procs
    starts = [replay(jobs, procs, *rules).start for rules in (("FCFS", "easy"), *RIVALS.values())]
    judged = slice(len(jobs) // 2, None)
    wait = (np.array(starts) - jobs.submit)[:, judged].astype(np.float64)
    runtime, width = jobs.runtime[judged], jobs.procs[judged]
    one, every = np.ones(len(runtime)), np.ones(len(runtime), dtype=np.bool_)
    area = (runtime * width).astype(np.float64)
    return {
        "bounded slowdown": MeanSeries(bounded_slowdown(wait, runtime), one, every, 0.0),
        "mean wait": MeanSeries(wait, one, every, WAIT_OFFSET_S),
        "area-weighted wait": MeanSeries(wait, area, every, WAIT_OFFSET_S),
        "wide jobs' wait": MeanSeries(wait, one, width > procs / 4, WAIT_OFFSET_S),
        "p99 of wait": PercentileSeries(wait, WAIT_OFFSET_S),
        HOP_COST: MeanSeries(hop_costs(log, jobs)[:, judged], one, every, HOP_OFFSET),
    }


def hop_costs(log: str, jobs: Jobs) -> FloatArray:
    """Of all jobs under best fit on the tree and under RIVALS_OF_TREE, float64 (1 + rivals, jobs)."""
    placed = placed_by_rules(LOGS[log], jobs, ("tree", "first", "contiguous", "ring"), ("1@4h",))
    return np.stack([placed[name][2].hop_cost for name in ("tree", *RIVALS_OF_TREE)])


def rivals_of(metric: str) -> tuple[str, ...]:
    """Who is compared with the incumbent."""
    return RIVALS_OF_TREE if metric == HOP_COST else tuple(RIVALS)


# --- how often intervals hold


@dataclass(frozen=True)
class Outcome:
    """Of the cases of one pair of log and rival, or of one synthetic series.

    cases: how many have an interval. holds: share of the intervals that hold the target. too_low: that lie below it as a
    whole, which may call a rival better by mistake. own: that hold the mean of all resamples. All three are nan with fewer
    than FEWEST_CASES intervals. width: mean of ln high - ln low. none: share of the cases without an interval. old: coverage
    of the percentile bootstrap of the mean difference. unjoined: cases without an interval if pairs are not joined. joined:
    how many of them get one. joined_hold: how many of those hold."""

    pair: str
    cases: int
    holds: float
    too_low: float
    own: float
    width: float
    none: float
    old: float
    unjoined: int
    joined: int
    joined_hold: int


def outcome(pair: str, series: FloatArray, target: float, old: float) -> Outcome:
    """series: log ratios, float64 (draws, blocks). target: what intervals should hold. old: coverage of the old method."""
    estimate, plain = estimate_mean(series), plain_estimate(series)
    has, joined = estimate.has_interval, estimate.blocks < series.shape[1]
    error, margin = estimate.mean - target, estimate.margin
    holds = np.abs(error) <= margin

    def share(cases: BoolArray) -> float:
        return float(cases[has].mean()) if has.sum() >= FEWEST_CASES else float("nan")

    return Outcome(
        pair,
        int(has.sum()),
        share(holds),
        share(error < -margin),
        share(np.abs(estimate.mean - series.mean()) <= margin),
        float(2 * margin[has].mean()) if has.any() else float("nan"),
        float(1 - has.mean()),
        old,
        int((~plain.has_interval).sum()),
        int(joined.sum()),
        int((holds & joined).sum()),
    )


def percentile_coverage(values: FloatArray, target: float) -> float:
    """How often the 95 % percentile bootstrap of the mean holds the target. values: float64 (draws, blocks).

    This is what `models.scheduling.comparison` computes for windows that share no job, but all draws use the same resamples."""
    blocks = values.shape[1]
    picks = np.random.default_rng(blocks).multinomial(blocks, np.full(blocks, 1 / blocks), RESAMPLES)
    low, high = np.percentile(values @ (picks.T / blocks), [2.5, 97.5], axis=1)
    return float(((low <= target) & (target <= high)).mean())


def pair_outcome(pair: str, means: FloatArray, originals: FloatArray, offset: float) -> Outcome:
    """means: float64 (2, draws, blocks), incumbent and rival. originals: float64 (2, positions)."""
    differences = (means[1] - means[0])[:PERCENTILE_DRAWS]
    old = percentile_coverage(differences, float((originals[1] - originals[0]).mean()))
    target = float(log_ratios(originals[1], originals[0], offset).mean())
    return outcome(pair, log_ratios(means[1], means[0], offset), target, old)


def resampled(series: MeanSeries | PercentileSeries, share: float) -> list[FloatArray]:
    """The block means of all resamples, float64 (policies, draws, blocks) for each of BLOCK_COUNTS."""
    random = np.random.default_rng(1)
    runs = (draw_runs(random, series.jobs, share * series.jobs) for _ in range(series.draws))
    return [
        np.stack(means, axis=1) for means in zip(*(series.block_means(run, BLOCK_COUNTS) for run in runs), strict=True)
    ]


Outcomes = dict[tuple[str, int, float], list[Outcome]]
"""The outcomes of all pairs, by metric, number of blocks and mean length of the runs."""


def study(log: str, outcomes: Outcomes) -> None:
    """Adds the outcomes of a log."""
    for metric, series in series_of(log).items():
        originals = {count: series.originals(count) for count in BLOCK_COUNTS}
        for share in RUN_SHARES:
            for count, means in zip(BLOCK_COUNTS, resampled(series, share), strict=True):
                pairs = outcomes.setdefault((metric, count, share), [])
                for k, rival in enumerate(rivals_of(metric), start=1):
                    both = means[[0, k]], originals[count][[0, k]]
                    pairs.append(pair_outcome(f"{log} {rival}", *both, series.offset))


def synthetic(name: str, draws: int, blocks: int) -> tuple[FloatArray, float]:
    """Series of blocks as such, float64 (draws, blocks), and their true mean."""
    random = np.random.default_rng(blocks)
    noise = random.normal(size=(draws, blocks))
    if name == "lognormal":
        return np.exp(noise), float(np.exp(0.5))
    if name == "AR(1) .5":
        for k in range(1, blocks):
            noise[:, k] = 0.5 * noise[:, k - 1] + np.sqrt(0.75) * noise[:, k]
    if name == "bursts":
        begin, end, height = 0.05, 0.4, 3.0  # chances at each block, and what a burst adds
        often = begin / (begin + end)
        bursting = random.random(draws) < often
        for k in range(blocks):
            noise[:, k] += height * bursting
            bursting = random.random(draws) < np.where(bursting, 1 - end, begin)
        return noise, height * often
    return noise, 0.0


# --- tables


def synthetic_table() -> str:
    """Coverage on series whose mean is known, of the cases that have an interval."""
    lines = []
    for name in ("normal", "lognormal", "AR(1) .5", "bursts"):
        cells, old = [], ""
        for count in BLOCK_COUNTS:
            series, mean = synthetic(name, SYNTHETIC_DRAWS, count)
            row = outcome(name, series, mean, percentile_coverage(series[:DRAWS], mean))
            cells.append(f"{row.holds:.3f}, {row.none:.3f}")
            old = f"{row.old:.3f}" if count == BLOCKS else old
        lines.append([name, *cells, old])
    return markdown(["series", *_blocks(), f"percentile bootstrap, {BLOCKS}"], lines)


def pairs_table(outcomes: Outcomes) -> str:
    """How often the intervals of BLOCKS blocks hold, over the pairs of log and policy."""
    lines = []
    for (metric, count, share), pairs in outcomes.items():
        if count != BLOCKS:
            continue
        holds, old = [pair.holds for pair in pairs], [pair.old for pair in pairs]
        worst = int(np.nanargmin(holds))
        below = sum(value < ENOUGH for value in holds)
        cells = [f"{np.nanmean(holds):.3f}", f"{holds[worst]:.3f}", pairs[worst].pair, str(below)]
        cells += [f"{np.mean([pair.none for pair in pairs]):.3f}", f"{np.nanmean(old):.3f}, {np.nanmin(old):.3f}"]
        cells += [
            f"{np.nanmean([pair.own for pair in pairs]):.3f}",
            f"{np.nanmean([pair.too_low for pair in pairs]):.3f}",
        ]
        lines.append([metric, f"{share:.0%}".replace("%", " %"), *cells])
    titles = [
        "metric",
        "runs",
        "holds, mean",
        "worst pair",
        "which pair",
        f"pairs below {100 * ENOUGH:.0f} %",
        "no interval",
    ]
    titles += ["percentile bootstrap, mean and worst", "own, mean", "whole interval too low, mean"]
    return markdown(titles, lines)


def counts_table(outcomes: Outcomes) -> str:
    """Coverage, mean and worst pair, by the number of blocks, with the longer runs; and cases without an interval."""
    metrics = list(dict.fromkeys(metric for metric, *_ in outcomes))
    of = {(metric, count): pairs for (metric, count, share), pairs in outcomes.items() if share == RUN_SHARES[-1]}
    lines = []
    for metric in metrics:
        holds = [[pair.holds for pair in of[metric, count]] for count in BLOCK_COUNTS]
        lines.append([metric, *(f"{np.nanmean(values):.3f}, {np.nanmin(values):.3f}" for values in holds)])
    none = [f"{np.mean([pair.none for pair in of[metrics[0], count]]):.3f}" for count in BLOCK_COUNTS]
    lines.append([f"cases without an interval, {metrics[0]}", *none])
    return markdown(["metric", *_blocks()], lines)


def joined_table(outcomes: Outcomes) -> str:
    """What joining pairs of blocks does where a case of BLOCKS blocks has no interval without it."""
    lines = []
    for metric in dict.fromkeys(metric for metric, *_ in outcomes):
        pairs = [pair for share in RUN_SHARES for pair in outcomes[metric, BLOCKS, share]]
        unjoined, joined = sum(pair.unjoined for pair in pairs), sum(pair.joined for pair in pairs)
        hold = sum(pair.joined_hold for pair in pairs) / max(joined, 1)
        lines.append([metric, f"{unjoined:,}", f"{joined:,}", f"{hold:.3f}"])
    return markdown(["metric", "without an interval", "joined", "of them hold"], lines)


def _blocks() -> list[str]:
    return [f"{count} blocks" for count in BLOCK_COUNTS]


def print_verdict(outcomes: Outcomes) -> None:
    """Which metrics get an interval on pages: those whose mean coverage of BLOCKS blocks reaches ENOUGH for both lengths of runs,
    less two standard errors of the study. Pairs of one log share its resamples, so each draw of a log counts once."""
    reaches: dict[str, bool] = {}
    for (metric, count, _), pairs in outcomes.items():
        if count == BLOCKS:
            mean = float(np.nanmean([pair.holds for pair in pairs]))
            cases = sum(pair.cases for pair in pairs) / len(rivals_of(metric))
            reaches[metric] = reaches.get(metric, True) and mean - 2 * np.sqrt(mean * (1 - mean) / cases) >= ENOUGH
    for text, which in (
        (f"mean coverage of {BLOCKS} blocks reaches {ENOUGH:.0%}", True),
        ("no interval on pages", False),
    ):
        print(f"{text}: {', '.join(metric for metric, value in reaches.items() if value == which) or 'none'}")


def main() -> None:
    print(f"coverage, and cases without an interval, of series whose mean is known\n\n{synthetic_table()}", flush=True)
    outcomes: Outcomes = {}
    for log, placed in LOGS.items():
        if (SHARED / placed.file).exists():
            study(log, outcomes)
    if not outcomes:
        print(f"no real logs at {SHARED}: name the folder with TRACEHOUSE_SHARED")
        return
    for title, table in {
        f"{BLOCKS} blocks": pairs_table(outcomes),
        "other numbers of blocks": counts_table(outcomes),
        "joined blocks": joined_table(outcomes),
    }.items():
        print(f"\n{title}\n\n{table}")
    print_verdict(outcomes)
