"""The tables of studies.more_data.training, from the files of its folder."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.judging.intervals import WAIT_OFFSET_S
from models.scheduling.arena import Windows
from models.scheduling.comparison import paired_difference
from models.scheduling.policy_file import policy_from_bytes
from papers.ddppo.ddppo_transfer import PAPER_RULES
from papers.markdown import markdown
from papers.rlscheduler.ten_windows import PUBLISHED_LENGTH, PUBLISHED_WINDOWS
from studies.more_data import training as more_data
from studies.more_data.training import METRICS, Part, Study, judged_file, policy_file

FloatArray = NDArray[np.float64]

PAPER_WINDOWS = Windows(np.array(PUBLISHED_WINDOWS, dtype=np.int64), PUBLISHED_LENGTH)
SHOWN_RULES = ("FCFS", "SAF")
"""Policies that have learned nothing, beside which the others are shown."""
LEAST_SLOWDOWN = 1.1
"""Of FCFS. Where it has less, hardly a job waits, and policies cannot differ."""


@dataclass(frozen=True)
class Judged:
    """What a policy or the seeds of a part cost on a log: windows float64 (seeds, 10), replays float64 (seeds,) by metric."""

    windows: FloatArray
    replays: dict[str, FloatArray]


def judged_of(folder: Path, log: str, names: Sequence[str]) -> Judged:
    """The costs of these policies, which are seeds of one part."""
    costs = [json.loads(judged_file(folder, log, name).read_text()) for name in names]
    replays = {metric: np.array([each[metric] for each in costs]) for metric in METRICS}
    return Judged(np.array([each["windows"] for each in costs]), replays)


def seeds_ratio(ours: FloatArray, theirs: FloatArray) -> tuple[float, float, float]:
    """The ratio of two parts, and its 95 % interval over the seeds, which are pairs: by the t distribution of the logarithms.

    ours, theirs: float64 (seeds,) or (logs, seeds), above 0. Of several logs it is the geometric mean.
    """
    from scipy.special import stdtrit

    logs = np.atleast_2d(np.log(ours) - np.log(theirs)).mean(axis=0)
    margin = float(stdtrit(len(logs) - 1, 0.975) * logs.std(ddof=1) / np.sqrt(len(logs)))
    mean = float(logs.mean())
    return float(np.exp(mean)), float(np.exp(mean - margin)), float(np.exp(mean + margin))


def label_of(study: Study, part: Part, jobs: int) -> str:
    """The jobs of a part in millions, and the log where it is not that of the first part."""
    size = f"{jobs / 1e6:.3g} million"
    return size if part.model == study.parts[0].model else f"{part.model}, {size}"


def ratio_text(ratio: float, low: float, high: float) -> str:
    """A ratio with its interval."""
    return f"{ratio:.2f} [{low:.2f}, {high:.2f}]"


def cards_of(folder: Path, study: Study, part: Part) -> list[dict[str, Any]]:
    """The cards of the policies of one part, by seed."""
    return [policy_from_bytes(policy_file(folder, part, seed).read_bytes())[1] for seed in study.seeds]


def learned_table(folder: Path, study: Study) -> str:
    """What each part has taught, mean over the seeds."""
    lines = []
    for part in study.parts:
        cards = cards_of(folder, study, part)

        def mean(name: str, cards: list[dict[str, Any]] = cards) -> float:
            return float(np.mean([card[name] for card in cards]))

        decisions = [card["decisions"] / 1e6 for card in cards]
        spread = f"{np.mean(decisions):.2f} ({min(decisions):.2f} to {max(decisions):.2f})"
        means = (f"{mean('days'):,.0f}", f"{mean('windows'):,.0f}", spread, f"{mean('best_epoch'):.1f}")
        peak = f"{max(card['peak_mib'] for card in cards):,.0f}"
        lines.append([part.model, f"{cards[0]['trained_jobs']:,}", str(len(cards)), *means, peak])
    titles = ["log", "jobs", "seeds", "days", "windows to draw from", "decisions, millions", "epoch chosen", "peak MiB"]
    return markdown(titles, lines)


def all_judged(folder: Path, study: Study) -> dict[str, dict[Part, Judged]]:
    """By log and part, what its seeds cost."""
    return {
        log: {part: judged_of(folder, log, [part.policy(seed) for seed in study.seeds]) for part in study.parts}
        for log in more_data.JUDGING_LOGS
    }


def rivals_of(study: Study) -> list[tuple[Part, Part]]:
    """Each part with what it is compared with."""
    return [(part, rival) for part in study.parts if (rival := study.rival(part)) is not None]


def windows_table(folder: Path, study: Study, labels: dict[Part, str], judged: dict[str, dict[Part, Judged]]) -> str:
    """Bounded slowdowns of the ten windows, mean over windows and seeds, and paired differences."""
    pairs, lines = rivals_of(study), []
    for log, of_part in judged.items():
        costs = [judged_of(folder, log, [rule]).windows for rule in SHOWN_RULES]
        costs += [of_part[part].windows for part in study.parts]
        cells = [f"{each.mean():.1f}" for each in costs]
        for part, rival in pairs:
            gap = paired_difference(of_part[part].windows, of_part[rival].windows, PAPER_WINDOWS, 1)
            cells.append(f"{gap.mean:+.1f} [{gap.low:+.1f}, {gap.high:+.1f}]")
        lines.append([log, *cells])
    gaps = [f"{labels[part]} minus {labels[rival]}" for part, rival in pairs]
    return markdown(["judged on", *SHOWN_RULES, *labels.values(), *gaps], lines)


def replays_table(folder: Path, study: Study, labels: dict[Part, str], judged: dict[str, dict[Part, Judged]]) -> str:
    """Bounded slowdowns of continuous replays, geometric mean over the seeds, and ratios."""
    pairs, lines = rivals_of(study), []
    for log, of_part in judged.items():
        slowdowns = {part: of_part[part].replays[METRICS[0]] for part in study.parts}
        cells = [f"{judged_of(folder, log, [rule]).replays[METRICS[0]][0]:.1f}" for rule in SHOWN_RULES]
        for values in slowdowns.values():
            cells.append(f"{np.exp(np.log(values).mean()):.1f} ({values.min():.1f} to {values.max():.1f})")
        cells += [ratio_text(*seeds_ratio(slowdowns[part], slowdowns[rival])) for part, rival in pairs]
        lines.append([log, *cells])
    gaps = [f"{labels[part]} by {labels[rival]}" for part, rival in pairs]
    return markdown(["judged on", *SHOWN_RULES, *labels.values(), *gaps], lines)


def rules_table(folder: Path) -> str:
    """Bounded slowdowns of continuous replays under rules that have learned nothing."""
    lines = [
        [log, *(f"{judged_of(folder, log, [rule]).replays[METRICS[0]][0]:.1f}" for rule in PAPER_RULES)]
        for log in more_data.JUDGING_LOGS
    ]
    return markdown(["judged on", *(rule.replace("-", " ") for rule in PAPER_RULES)], lines)


def verdicts_table(folder: Path, study: Study, labels: dict[Part, str]) -> str:
    """How many seeds have which verdict against FCFS with EASY, in one replay of each log."""

    def verdicts(log: str, names: Sequence[str]) -> Counter[str]:
        return Counter(json.loads(judged_file(folder, log, name).read_text())["verdict"] for name in names)

    rules = [rule for rule in PAPER_RULES if rule != "FCFS"]
    lines = []
    for log in more_data.JUDGING_LOGS:
        cells = [next(iter(verdicts(log, [rule]))) for rule in rules]
        for part in study.parts:
            of_seeds = verdicts(log, [part.policy(seed) for seed in study.seeds])
            cells.append(", ".join(f"{count} {word}" for word, count in sorted(of_seeds.items())))
        lines.append([log, *cells])
    return markdown(["judged on", *(rule.replace("-", " ") for rule in rules), *labels.values()], lines)


def together_table(folder: Path, labels: dict[Part, str], judged: dict[str, dict[Part, Judged]]) -> str:
    """Ratios of parts, and to SAF, in all logs together whose jobs wait: geometric means over the logs, with intervals over the seeds."""
    logs = [log for log in judged if judged_of(folder, log, ["FCFS"]).replays[METRICS[0]][0] >= LEAST_SLOWDOWN]
    of_name = {label: [judged[log][part] for log in logs] for part, label in labels.items()}
    of_name["SAF"] = [judged_of(folder, log, ["SAF"]) for log in logs]

    def costs(name: str, measure: str) -> FloatArray:
        """float64 (logs, seeds)."""
        if measure == "windows":
            return np.array([each.windows.mean(axis=1) for each in of_name[name]])
        means = np.array([each.replays[measure] for each in of_name[name]])
        return means + (WAIT_OFFSET_S if measure == METRICS[1] else 0.0)

    measures = {
        "windows": "bounded slowdown, ten windows",
        METRICS[0]: "bounded slowdown, continuously",
        METRICS[1]: "mean wait, continuously",
    }
    names = list(labels.values())
    pairs = [(later, earlier) for k, later in enumerate(names) for earlier in names[:k]]
    pairs += [(name, "SAF") for name in names]
    lines = [
        [f"{a} by {b}", *(ratio_text(*seeds_ratio(costs(a, measure), costs(b, measure))) for measure in measures)]
        for a, b in pairs
    ]
    return markdown([f"{len(logs)} logs together", *measures.values()], lines)


def print_tables(folder: Path, study: Study) -> None:
    """Prints what came out."""
    labels = {part: label_of(study, part, cards_of(folder, study, part)[0]["trained_jobs"]) for part in study.parts}
    judged = all_judged(folder, study)
    for title, table in {
        "together": together_table(folder, labels, judged),
        "ten windows": windows_table(folder, study, labels, judged),
        "continuous replays": replays_table(folder, study, labels, judged),
        "continuous replays of rules": rules_table(folder),
        "verdicts": verdicts_table(folder, study, labels),
        "what was learned from": learned_table(folder, study),
    }.items():
        print(f"\n{title}\n\n{table}")
