"""What rules do to the second half of four logs, beside FCFS with EASY: `python -m studies verdicts`.

Every log is replayed from its first job, and jobs from the middle one on are scored. Rules with live estimates, and FCFS beside
them, are replayed from eight shifted starts. The tables have the ratios of the whole log, and their
range over the starts. Certain is corrected for the number of rules.
"""

from __future__ import annotations

from collections.abc import Sequence

import tracehouse
from assets.policies.verdicts import BOUNDED_KEY, PLAIN_RIVALS, JudgedRule, judge_rules
from models.judging.intervals import RatioInterval
from models.judging.judge import Judgement
from models.judging.panel import SHIFTS
from models.judging.verdict import Ratios
from papers.archive import ARCHIVE_LOGS, SHARED

RULES = (
    *PLAIN_RIVALS,
    JudgedRule("key8", "formula:-(submit + 8*estimate*sqrt(procs))"),
    JudgedRule("key10 live", "formula:-(submit + 10*estimate*sqrt(procs))", "easy", "live", "requested"),
    JudgedRule("SJF live", "SJF", "easy", "live", "requested", "requested"),
    JudgedRule("EASY-SJBF live", "FCFS", "easy-sjbf", "live", "requested", "requested"),
    BOUNDED_KEY,
    JudgedRule("bounded-key, requested", "bounded-key"),
    JudgedRule("bounded-key:factor=1, requested", "bounded-key:factor=1"),
)
COLUMNS = {
    "bounded_slowdown": "bounded slowdown",
    "wait": "mean wait",
    "p99_wait": "p99 wait",
    "max_wait": "longest wait",
    "area_wait": "wait by work",
    "wide_wait": "wait of wide jobs",
    "lost_capacity": "capacity lost, difference",
}
"""Ratios of the panel, and how the tables call them."""


def main() -> None:
    for name, (file, procs) in ARCHIVE_LOGS.items():
        print(f"\n{name}\n\n{heading()}")
        log = tracehouse.load_log(SHARED / file, procs=procs)
        for rule, judgement in judged(log, RULES).items():
            print(line(rule, judgement), flush=True)


def judged(log: tracehouse.Log, rules: Sequence[JudgedRule]) -> dict[str, Judgement]:
    """The rules beside FCFS with EASY over the second half of the jobs."""
    trace = log.trace()
    return judge_rules(trace, rules, trace.rows.height // 2, SHIFTS)


def heading() -> str:
    """The first two lines of a table."""
    titles = ["policy", *COLUMNS.values(), "verdict", "typical block: bounded slowdown", "and mean wait"]
    return f"| {' | '.join(titles)} |\n{'| --- ' * len(titles)}|"


def line(name: str, judgement: Judgement) -> str:
    """One line of a table."""
    verdict = judgement.verdict
    cells = [name, *(ratio_and_spread(verdict.ratios, column) for column in COLUMNS), str(verdict)]
    return f"| {' | '.join([*cells, shown(judgement.bounded_slowdown), shown(judgement.wait)])} |"


def ratio_and_spread(ratios: Sequence[Ratios], column: str) -> str:
    """The ratio of the first start, and its range where there are several."""
    values = [getattr(each, column) for each in ratios]
    form = "+.3f" if column == "lost_capacity" else ".2f" if values[0] < 10 else ".1f"
    spread = f" ({min(values):{form}} to {max(values):{form}})" if len(values) > 1 else ""
    return f"{values[0]:{form}}{spread}"


def shown(interval: RatioInterval) -> str:
    """An interval, or that there is none."""
    if interval.low is None or interval.high is None:
        return f"{interval.ratio:.2f} [none]"
    return f"{interval.ratio:.2f} [{interval.low:.2f}, {interval.high:.2f}]"
