"""Remaining times of public VASP runs at a place that was not learned from: `python -m studies repositories`.

Every repository is predicted by what was learned from all the others. Runs of one repository are by one author or centre, often of one
set of systems and with one input, so that a split by systems lets a predictor learn from sisters. Means have intervals over
systems, or over repositories where they are of all. Also judged: what the assumption on the time before the first step is worth.
Ten minutes of CPU time, and no networks.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models.remaining.evaluation import (
    REMAINING_PREDICTORS,
    REMAINING_RIVALS,
    HeldOutTrial,
    finished,
    joined_trials,
    trial_of,
    try_out,
)
from models.remaining.runs import FloatArray, IntArray, Runs, runs_of
from models.remaining.snapshots import PROGRESS_SHARES
from papers.archive import SHARED
from papers.markdown import markdown
from studies.predicting.vasp_tables import TRIED
from traces.vasp.folders import find_runs
from traces.vasp.runs import read_folder
from traces.vasp.tables import tables_of

REAL = SHARED.parent / "vasp"
SEED, FOLDS = 2, 5
FEWEST_RUNS, FEWEST_CLUSTERS = 10, 8
"""A repository with fewer runs has no line of its own, and a mean over fewer clusters has no interval."""
RESAMPLED = 4000
PREDICTORS = ("progress", "constant_share", "ends_now", "inputs_only", "constant_median")
BEST_RIVAL = "constant_share"
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Judged:
    """Finished runs, and errors of predictors on them as shares of the whole run time.

    repository: its name, (runs,). system: number, (runs,). single: one ionic step at most, (runs,). errors: by predictor, (runs, tenths).
    covered: whether the true time was between the outer quantiles of `progress`, (runs, tenths). by_system: errors of `progress` where
    only the run's system was held out. unset: the same as in `errors`, with no time before the first step."""

    repository: NDArray[np.str_]
    system: IntArray
    single: BoolArray
    errors: dict[str, FloatArray]
    covered: BoolArray
    by_system: FloatArray
    unset: FloatArray


def main() -> None:
    if not REAL.is_dir():
        sys.exit(f"{REAL} is not there: no public runs to judge")
    runs = runs_of(*tables_of([read_folder(folder) for folder in find_runs(REAL)])[:3])
    with (REAL / "INDEX.tsv").open() as index:
        repository_of = {row["run"]: row["source_repo"] for row in csv.DictReader(index, delimiter="\t")}
    judged = judge(runs, np.array([repository_of[folder] for folder in runs.keys["folder"]]))
    outside = outside_steps(runs)
    print(f"\nby repository\n\n{repositories_table(judged)}")
    print(f"\nevery predictor\n\n{every_repository_table(judged)}")
    print(f"\nby tenth\n\n{tenths_table(judged)}")
    print(f"\nbefore the first step\n\n{before_table(judged, outside)}")


def try_elsewhere(
    runs: Runs, name: str, place: IntArray, seed: int, on_place: Callable[[], None] = lambda: None
) -> HeldOutTrial:
    """A predictor or rival judged on the runs of every place, learned from those of all other places.

    place: number of each run's place, such as the repository or the centre that it comes from, (runs,). A run is seen if another place
    has its system."""
    which, parts = finished(runs), []
    for each in np.unique(place[which]):
        judged, learned = which[place[which] == each], which[place[which] != each]
        predictor = (REMAINING_PREDICTORS | REMAINING_RIVALS)[name]()
        predictor.fit(runs, learned, seed)
        parts.append(trial_of(predictor, runs, learned, judged))
        on_place()
    return joined_trials(name, parts)


def judge(runs: Runs, repository: NDArray[np.str_]) -> Judged:
    """repository: of every run."""
    place = np.unique(repository, return_inverse=True)[1].astype(np.int64)
    which = finished(runs)
    trials = {}
    for name in PREDICTORS:
        trials[name] = try_elsewhere(runs, name, place, SEED)
        print(f"{name}: judged on {len(which)} runs of {len(np.unique(place[which]))} repositories", flush=True)
    ours = trials["progress"]
    shifted = without_set_up(runs)
    return Judged(
        repository[which],
        runs.group[which],
        runs.single[which],
        {name: trial.errors(runs) for name, trial in trials.items()},
        ours.covered(runs),
        try_out(runs, "progress", FOLDS, SEED).errors(runs),
        try_elsewhere(shifted, "progress", place, SEED).errors(shifted),
    )


def set_up_s(runs: Runs) -> FloatArray:
    """Seconds from the start of each run to its first electronic step as assumed, 0 for a run without steps, (runs,)."""
    has_steps, first = np.diff(runs.step) > 0, runs.step[:-1]
    begin = np.zeros(len(runs))
    begin[has_steps] = runs.step_end_s[first[has_steps]] - runs.step_s[first[has_steps]]
    return begin


def without_set_up(runs: Runs) -> Runs:
    """The same runs as if the first step began at once, and all time in no step was after the last."""
    begin = set_up_s(runs)
    of_step, of_ionic = (np.repeat(begin, np.diff(first)) for first in (runs.step, runs.ionic))
    return replace(runs, step_end_s=runs.step_end_s - of_step, ionic_end_s=runs.ionic_end_s - of_ionic)


def outside_steps(runs: Runs) -> FloatArray:
    """Share of the run time before the first step as assumed, of finished runs, (runs,)."""
    which = finished(runs)
    return set_up_s(runs)[which] / runs.total_s[which]


def cluster_interval(values: FloatArray, cluster: NDArray[np.generic]) -> tuple[float, float] | None:
    """95 % interval of a mean over runs, whole clusters resampled. None with fewer than FEWEST_CLUSTERS."""
    names, code = np.unique(cluster, return_inverse=True)
    if len(names) < FEWEST_CLUSTERS:
        return None
    sums, sizes = np.bincount(code, values), np.bincount(code)
    drawn = np.random.default_rng(SEED).integers(0, len(names), (RESAMPLED, len(names)))
    low, high = np.quantile(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1), [0.025, 0.975])
    return float(low), float(high)


def _parts(judged: Judged) -> Iterator[tuple[str, BoolArray, NDArray[np.generic]]]:
    """(what a line is of, its runs, what is resampled): the largest first, then the others together, then all."""
    names, counts = np.unique(judged.repository, return_counts=True)
    large = names[counts >= FEWEST_RUNS][np.argsort(-counts[counts >= FEWEST_RUNS], kind="stable")]
    for name in large:
        yield str(name), judged.repository == name, judged.system
    others = ~np.isin(judged.repository, large)
    if others.any():
        yield f"{len(names) - len(large)} others", others, judged.repository
    yield "all", np.ones(len(judged.repository), dtype=np.bool_), judged.repository


def _mean(values: FloatArray, cluster: NDArray[np.generic], sign: str = "") -> str:
    """In percent, with its interval."""
    limits = cluster_interval(values, cluster)
    text = f"{100 * values.mean():{sign}.0f}"
    return f"{text} [{100 * limits[0]:{sign}.0f}, {100 * limits[1]:{sign}.0f}]" if limits else f"{text} [none]"


def repositories_table(judged: Judged) -> str:
    """Mean errors over the run of `progress` and its best rival, and their difference."""
    lines = []
    for name, rows, cluster in _parts(judged):
        ours, rival = (judged.errors[each][rows].mean(axis=1) for each in ("progress", BEST_RIVAL))
        cells = [_mean(ours, cluster[rows]), _mean(rival, cluster[rows]), _mean(ours - rival, cluster[rows], "+")]
        sizes = f"{rows.sum()}, {len(np.unique(judged.system[rows]))}"
        lines.append([name, sizes, *cells, f"{100 * judged.by_system[rows].mean():.0f}"])
    ours, rival = (_by_repository(judged, judged.errors[each]) for each in ("progress", BEST_RIVAL))
    each = np.arange(len(ours))
    cells = [_mean(ours, each), _mean(rival, each), _mean(ours - rival, each, "+")]
    lines.append(
        ["a repository, each counted once", "", *cells, f"{100 * _by_repository(judged, judged.by_system).mean():.0f}"]
    )
    heads = [
        "learned without",
        "runs, systems",
        "`progress`",
        f"`{BEST_RIVAL}`",
        "difference",
        "`progress`, split by system",
    ]
    return markdown(heads, lines)


def _by_repository(judged: Judged, errors: FloatArray) -> FloatArray:
    """The mean error of each repository, (repositories,)."""
    code = np.unique(judged.repository, return_inverse=True)[1]
    return np.bincount(code, errors.mean(axis=1)) / np.bincount(code)


def every_repository_table(judged: Judged) -> str:
    """Mean (median) errors over the run in percent, of every predictor and repository."""
    lines = []
    for name in (*np.unique(judged.repository).tolist(), "all"):
        rows = (judged.repository == name) | (name == "all")
        cells = []
        for predictor in PREDICTORS:
            of_run = 100 * judged.errors[predictor][rows].mean(axis=1)
            cells.append(f"{of_run.mean():,.1f} ({np.median(of_run):,.1f})")
        within = f"{100 * judged.covered[rows].mean():.0f}"
        lines.append([name, str(rows.sum()), str(len(np.unique(judged.system[rows]))), *cells, within])
    return markdown(["learned without", "runs", "systems", *(TRIED[each] for each in PREDICTORS), "within, %"], lines)


def tenths_table(judged: Judged) -> str:
    """Mean (median) errors in percent by kind of run, predictor and tenth of the steps."""
    lines = []
    kinds = {"single ionic step": judged.single, "several ionic steps": ~judged.single}
    for kind, rows in (kinds | {"all": judged.single | ~judged.single}).items():
        for predictor in PREDICTORS:
            errors = 100 * judged.errors[predictor][rows]
            cells = [f"{column.mean():,.0f} ({np.median(column):,.0f})" for column in errors.T]
            lines.append([kind, str(rows.sum()), TRIED[predictor], *cells])
    return markdown(["kind", "runs", "predictor", *(f"{100 * share:.0f} %" for share in PROGRESS_SHARES)], lines)


def before_table(judged: Judged, outside: FloatArray) -> str:
    """What the assumption on the time before the first step is worth: mean errors of `progress` with it, and without any such time."""
    lines = []
    for name, rows, _ in _parts(judged):
        shares = [f"{100 * value:.1f}" for value in np.quantile(outside[rows], [0.5, 0.9])]
        tenths = [
            f"{100 * errors[rows, k].mean():.0f}"
            for k in (0, 4, 9)
            for errors in (judged.errors["progress"], judged.unset)
        ]
        lines.append([name, *shares, *tenths])
    heads = [f"error at {share} %, {how}" for share in (10, 50, 100) for how in ("assumed", "none before")]
    return markdown(["learned without", "share before, median, %", "90th percentile, %", *heads], lines)


if __name__ == "__main__":
    main()
