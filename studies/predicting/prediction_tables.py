"""The tables that `studies.predicting.prediction` prints, and docs/results/prediction.md has from docs/results.json."""

from __future__ import annotations

from collections.abc import Callable

from models.runtime.search import ReplayOutcome
from papers.markdown import markdown

FIRST_FIVE = ("requested", "last_two", "user_mean", "online_regression", "online_squared")
"""The predictors that learn no model of a log."""
AIMS = {
    "EASY-SJBF, clairvoyant": ("published aim for FCFS order", ("55.4", "16.4", "65", "44")),
    "SJF, clairvoyant": ("aim for any order", ("31", "19", "44", "29")),
}
"""By the row that they follow: what other studies reached or was aimed for, on KTH-SP2, CTC-SP2, SDSC-SP2 and HPC2N."""


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


def uses_table(cells: dict[str, dict[str, str]]) -> str:
    """cells: by log and rule, the slowdown on the log and the interval over shaken logs. With the aims of other studies."""
    logs = list(cells)
    lines = []
    for rule in cells[logs[0]]:
        lines.append([rule, *(cells[log][rule] for log in logs)])
        if rule in AIMS:
            label, figures = AIMS[rule]
            lines.append([label, *figures])
    return markdown(["", *logs], lines)


def chosen_uses_table(
    outcomes: dict[str, dict[str, ReplayOutcome]], ratios: dict[str, dict[str, str]], chosen: tuple[str, ...]
) -> str:
    """outcomes: by log and rule, EASY among them. ratios: by log and rule, to EASY's slowdown over resampled logs.

    chosen: the rules that were chosen on the other logs."""
    logs = list(outcomes)
    cells: dict[str, Callable[[ReplayOutcome], str]] = {
        "mean wait, h": lambda of: f"{of.wait_s / 3600:.1f}",
        "p99 of waits, h": lambda of: f"{of.p99_wait_s / 3600:.1f}",
        "jobs underestimated, %": lambda of: f"{100 * of.underestimated_share:.0f}",
        "reservations delayed, %": lambda of: f"{100 * of.delayed_share:.1f}",
        "mean delay of those, h": lambda of: f"{of.mean_delay_s / 3600:.1f}",
    }
    lines = [[f"ratio: {rule}", *(ratios[log][rule] for log in logs)] for rule in chosen]
    for label, cell in cells.items():
        for rule in ("EASY", *chosen) if "wait" in label else chosen:
            lines.append([f"{label}: {rule}", *(cell(outcomes[log][rule]) for log in logs)])
    return markdown(["", *logs], lines)
