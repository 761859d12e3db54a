"""Does a grade keep its promise where users react? `python -m studies reacting_grades`.

Clusters of reacting users are replayed from their logs, by their own scheduler and by ones that are slightly wrong. Each replay has the
letters that the product would give it. The changes that it predicts, open and closed, are compared with what the users and the cluster
really do. Bounds of letters were set on clusters of other seeds: `--fit` prints what promises keep there without bounds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.common.progress import progress
from models.judging.fidelity import (
    FEW_GAVE_UP,
    FIGURE_WORDS,
    GRADES,
    WITHIN,
    Agreement,
    Reacting,
    agreement_of,
    capped,
    change_error,
    reacting_of,
)
from papers.markdown import markdown
from studies.planted.calibration import TRIVIAL_S, error_over_clusters
from studies.planted.ranges import percent
from studies.planted.reacting import Happened, Rules, reacting_users, run_by
from studies.planted.users_react import BASE, PLANTED_CHANGES, PlantedLog, closed_jobs_of, replayed_by

IntArray = NDArray[np.int64]

SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
GIVING_UP = (0.0, 0.0, 0.25, 1.0)
"""Shares of jobs that follow, and of users who give up."""
FIT_EDGES = (0.0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
FITTING, FRESH = range(3000, 3256), range(4000, 4256)
"""Clusters by which the caps were set, and those that are published. They take turns in SHARES and GIVING_UP."""
MODELS = {"its own scheduler": 1.0, "2 % more processors": 1.02, "5 % more": 1.05, "5 % fewer": 0.95}
"""What replays the log: the factor of the cluster's processors."""
OPEN, CLOSED, PROMISED, NO_CHANGE = "open", "closed", "promised", "no change"
"""The promise is about the closed replay for the mean, and about the open one for other figures: what answers have of each."""
FIGURES = {"mean": np.mean, "median": np.median, "p95": lambda waits: np.quantile(waits, 0.95)}


class Replayed(NamedTuple):
    """A log, replayed by a model of its cluster before a change."""

    log: PlantedLog
    factor: float
    base: Happened
    agreement: Agreement

    @classmethod
    def of(cls, log: PlantedLog, factor: float) -> Replayed:
        """With the letters of its later half. factor: of MODELS."""
        base = replayed_by(log.jobs, _scaled(BASE, factor))
        true = log.happened.start[log.order]
        graded = (true >= 0) & (base.start >= 0)
        graded[: len(graded) // 2] = False
        waits = (each[graded] - log.jobs.submit[graded] for each in (true, base.start))
        return cls(log, factor, base, agreement_of(*waits, log.jobs.runtime[graded]))

    def cases(self, reacting: Reacting) -> Iterator[dict[str, object]]:
        """A row for each change and figure: `letter`, and the errors of what is predicted."""
        paced = closed_jobs_of(self.log.jobs, self.base)
        true_before = Happened(self.log.jobs.submit, self.log.happened.start[self.log.order])
        for change, rules in PLANTED_CHANGES.items():
            happened = run_by(self.log.users, rules)
            true_after = Happened(happened.submit[self.log.order], happened.start[self.log.order])
            true = _figures(true_before, true_after)
            predicted = {
                name: _figures(self.base, replayed_by(jobs, _scaled(rules, self.factor)))
                for name, jobs in ((OPEN, self.log.jobs), (CLOSED, paced))
            }
            for figure, letter in (self.agreement.grades or {}).items():
                if max(true[figure]) > TRIVIAL_S:
                    errors = {name: change_error(true[figure], each[figure]) for name, each in predicted.items()}
                    errors[PROMISED] = errors[CLOSED if figure == "mean" else OPEN]
                    errors[NO_CHANGE] = change_error(true[figure], (1.0, 1.0))
                    yield {
                        "change": change,
                        "figure": figure,
                        "resemblance": letter,
                        "letter": capped(letter, figure, reacting),
                        **reacting._asdict(),
                        **errors,
                    }


def _scaled(rules: Rules, factor: float) -> Rules:
    return replace(rules, procs=round(factor * rules.procs))


def _figures(before: Happened, after: Happened) -> dict[str, tuple[float, float]]:
    """Each figure of the waits before and after, seconds, of the jobs of the later half that start in both."""
    both = (before.start >= 0) & (after.start >= 0)
    both[: len(both) // 2] = False
    waits = [(each.start - each.submit)[both] for each in (before, after)]
    return {name: (float(of(waits[0])), float(of(waits[1]))) for name, of in FIGURES.items()}


def cases_of(clusters: range) -> pl.DataFrame:
    """All cases of some clusters, with cluster, share, gives_up and model."""
    rows: list[dict[str, object]] = []
    for seed in progress(clusters, "clusters of reacting users"):
        share, gives_up = SHARES[seed % len(SHARES)], GIVING_UP[seed // len(SHARES) % len(GIVING_UP)]
        log = PlantedLog.of(reacting_users(seed, share, gives_up))
        started = log.happened.start[log.order]
        end = np.where(started >= 0, started + log.jobs.runtime, log.jobs.cancel)
        given_up_s = np.where(started < 0, log.jobs.cancel - log.jobs.submit, -1)
        reacting = reacting_of(log.jobs.user, log.jobs.submit, end, given_up_s)
        for model, factor in MODELS.items():
            about = {"cluster": seed, "share": share, "gives_up": gives_up, "model": model}
            rows += [about | case for case in Replayed.of(log, factor).cases(reacting)]
    return pl.DataFrame(rows, infer_schema_length=None)


KEPT_TITLES = [f"{letter}{what}" for letter in GRADES[:-1] for what in ("", " kept", " kept, no change")]


def kept_cells(cases: pl.DataFrame) -> list[str]:
    """Of some cases: how many, and what KEPT_TITLES say: the share with each letter, and of these the shares that keep its promise, with
    their standard errors over clusters."""
    cells = [f"{cases.height:,}"]
    for letter in GRADES[:-1]:
        of = cases.filter(letter=letter)
        cells.append(percent(of.height / cases.height))
        cells += [kept_share(of, name, letter) for name in (PROMISED, NO_CHANGE)]
    return cells


def kept_share(cases: pl.DataFrame, name: str, letter: str) -> str:
    """The share of the cases in which an error is within what a letter promises, "" for no case."""
    kept = (cases[name] <= (WITHIN[letter] or np.inf)).to_numpy()
    if not len(kept):
        return ""
    return f"{percent(kept.mean())} ± {100 * error_over_clusters(kept, cases['cluster'].to_numpy()):.0f}"


def tables_of(cases: pl.DataFrame) -> Iterator[str]:
    """The tables of the published clusters, each below its title."""
    shares = (("follow", "share", cases.filter(gives_up=0.0)), ("users who give up", "gives_up", cases))
    for title, column, of in (*shares, ("figure", "figure", cases), ("model", "model", cases)):
        rows = []
        for value in of[column].unique(maintain_order=True).to_list() if column == "model" else sorted(set(of[column])):
            name = FIGURE_WORDS.get(value, value) if isinstance(value, str) else percent(value)
            rows.append([name, *kept_cells(of.filter(pl.col(column) == value))])
        yield f"by {title}\n\n" + markdown([title, "cases", *KEPT_TITLES], rows)


def fit_rows(cases: pl.DataFrame) -> Iterator[list[str]]:
    """By figure, and by `Reacting.following` without users who give up or for those who do: what each promise would keep where a letter
    has no bound. cases: of replays that resemble the log as A asks."""
    for figure in FIGURES:
        of = cases.filter(pl.col("figure") == figure)
        parts = {
            f"from {percent(low)}": of.filter(pl.col("following").is_between(low, high, "left"), gives_up=0.0)
            for low, high in pairwise((*FIT_EDGES, np.inf))
        }
        parts["given up"] = of.filter(pl.col("gave_up") >= FEW_GAVE_UP)
        for name, part in parts.items():
            yield [
                FIGURE_WORDS[figure],
                name,
                f"{part.height}",
                *(kept_share(part, PROMISED, each) for each in GRADES[:-1]),
            ]


def main() -> None:
    """Prints the tables."""
    if "--fit" in sys.argv[1:]:
        alike = cases_of(FITTING).filter(resemblance="A")
        print(
            markdown(["figure", "following", "cases", *(f"{each} kept" for each in GRADES[:-1])], list(fit_rows(alike)))
        )
        return
    print("\n\n".join(tables_of(cases_of(FRESH))))


if __name__ == "__main__":
    main()
