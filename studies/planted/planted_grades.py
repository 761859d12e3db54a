"""How wrong can a what-if be? The grade, calibrated on planted clusters: `python -m studies planted_grades`.

For each planted cluster some changes are made, such as more nodes. What they do is replayed on the hidden cluster. What the product says
that they do is replayed on the cluster that it identified, and on one of FCFS with EASY alone. Thresholds of letters were set on the
first series. The second has other seeds. Pairs of recorded runs of Slurm and OpenPBS are the third. `--fit` prints fitted thresholds, and
`--kept` takes what a stopped study has so far.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import polars as pl

from models.judging.fidelity import FIGURE_WORDS, GRADES, LETTER_RULES, WITHIN
from papers.markdown import markdown
from studies.planted.calibration import cases_of, fitted_rules, rows_by_letter, with_errors
from studies.planted.golden_pairs import golden_cases
from studies.planted.keeping import KEPT, planted_results
from studies.planted.planting import CLUSTERS

FRESH_SERIES, FRESH = 1, 50
LETTERS = ["grade", "cases", "clusters", "promise kept", "error of 9 in 10", "of no change"]


def threshold_rows() -> Iterator[list[str]]:
    """What each letter asks for, by figure."""
    for figure, rules in LETTER_RULES.items():
        for letter, rule in rules.items():
            yield [FIGURE_WORDS[figure], letter, f"{rule.off:g}", f"{rule.rank:g}", f"{rule.distance:g}"]


def rows_by_group(cases: pl.DataFrame, column: str) -> Iterator[list[str]]:
    """A row for each value of a column: the share of cases with each letter, and what of the first three keeps its promise."""
    for value in cases[column].unique(maintain_order=True).to_list():
        of = cases.filter(pl.col(column) == value)
        shares = [f"{100 * (of['letter'] == letter).mean():.0f} %" for letter in GRADES]  # type: ignore[operator]
        kept = []
        for letter, within in WITHIN.items():
            error = of.filter(letter=letter)["error"]
            if within is not None:
                kept.append(f"{100 * (error <= within).mean():.0f} %" if len(error) else "")  # type: ignore[operator]
        yield [FIGURE_WORDS.get(value, value), f"{of.height:,}", *shares, *kept]


def pair_rows(cases: pl.DataFrame) -> Iterator[list[str]]:
    """A row for each pair of recorded runs: mean waits, and the factor by which the change multiplies them, true and predicted."""
    for row in cases.filter(figure="mean").iter_rows(named=True):
        true, predicted = row["true_s"] / row["logged_s"], row["predicted_s"] / row["replayed_s"]
        yield [
            f"{row['predictor']}: {row['change']}",
            row["letter"],
            f"{row['rank']:.2f}",
            *(f"{row[name]:,.0f}" for name in ("logged_s", "replayed_s", "true_s", "predicted_s")),
            f"{true:.2f}",
            f"{predicted:.2f}",
            f"{row['error']:.2f}",
        ]


def main() -> None:
    """Prints the tables."""
    kept_alone = KEPT in sys.argv[1:]
    cases = cases_of(planted_results(0, range(CLUSTERS), CLUSTERS, kept_alone))
    if "--fit" in sys.argv[1:]:
        for figure, rules in fitted_rules(cases).items():
            print(figure, rules)
        return
    fresh = cases_of(planted_results(FRESH_SERIES, range(FRESH), FRESH, kept_alone))
    print(
        "thresholds\n\n"
        + markdown(["figure", "grade", "off at most", "rank at least", "distance at most"], threshold_rows())
    )
    for title, table in (("clusters of calibration", cases), ("fresh clusters", fresh)):
        print(f"\n{title}\n\n" + markdown(LETTERS, rows_by_letter(table)))
    groups = ["cases", *GRADES, "A kept", "B kept", "C kept"]
    for column in ("figure", "part", "change", "predictor"):
        print(f"\nfresh by {column}\n\n" + markdown([column, *groups], rows_by_group(fresh, column)))
    pairs = with_errors(golden_cases().with_columns(number=pl.lit(0), kind=pl.lit("recorded")))
    print("\nrecorded runs\n\n" + markdown(LETTERS, rows_by_letter(pairs)))
    heading = [
        "change",
        "grade",
        "rank",
        "before, s",
        "replay",
        "after, s",
        "predicted",
        "true factor",
        "predicted factor",
        "error",
    ]
    print("\nrecorded pairs\n\n" + markdown(heading, pair_rows(pairs)))


if __name__ == "__main__":
    main()
