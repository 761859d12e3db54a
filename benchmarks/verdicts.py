"""What seven policies do to the second half of four logs, beside FCFS with EASY: `python -m benchmarks.verdicts`.

Every log is replayed from its first job, and jobs from the middle one on are scored. Policies with live estimates, and FCFS
beside them, are replayed from eight shifted starts. The table has the ratios of the whole log, and the least and the most of the
shifts for the two that have some.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import tracehouse
from benchmarks.run import SHARED
from models.judging.intervals import RatioInterval
from models.judging.judge import Judgement, Replayed, judge
from models.judging.panel import SHIFTS, scored_after
from models.judging.verdict import Ratios

ARCHIVE_LOGS = {
    "KTH-SP2": ("KTH-SP2-1996-2.1-cln.swf.gz", 100),
    "CTC-SP2": ("CTC-SP2-1996-3.1-cln.swf.gz", 338),
    "SDSC-SP2": ("SDSC-SP2-1998-derived.swf.gz", 128),
    "HPC2N": ("HPC2N-2002-2.2-cln.swf.gz", 240),
}


@dataclass(frozen=True)
class Rule:
    """A policy with its settings, as `tracehouse.replay` takes them."""

    name: str
    policy: str = "FCFS"
    backfill: str = "easy"
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def is_live(self) -> bool:
        """Whether it learns from its own replay."""
        return "estimates" in self.settings


LIVE = {"estimates": "live", "reserve_by": "requested"}
INCUMBENT = Rule("FCFS")
RULES = (
    Rule("SJF", "SJF"),
    Rule("SAF", "SAF"),
    Rule("F1", "F1"),
    Rule("key8", "formula:-(submit + 8*estimate*sqrt(procs))"),
    Rule("key10 live", "formula:-(submit + 10*estimate*sqrt(procs))", settings=LIVE),
    Rule("EASY-SJBF", backfill="easy-sjbf"),
    Rule("bounded", "bounded-key", settings=LIVE | {"admit_by": "requested"}),
)
COLUMNS = ("bounded_slowdown", "wait", "p99_wait", "area_wait", "wide_wait")
HEADING = (
    "| policy | bounded slowdown | mean wait | p99 wait | wait by work | wait of wide jobs | verdict | typical block: bounded "
    "slowdown | and mean wait |\n" + "| --- " * 9 + "|"
)


def main() -> None:
    if not SHARED.exists():
        sys.exit(f"{SHARED}: the archive logs are not there; name the folder above with TRACEHOUSE_SHARED")
    for name, (file, procs) in ARCHIVE_LOGS.items():
        log = tracehouse.load_log(SHARED / file, procs=procs)
        print(f"\n{name}\n\n{HEADING}")
        for rule in RULES:
            print(line(rule, judged(log, rule)), flush=True)


def judged(log: tracehouse.Log, rule: Rule) -> Judgement:
    """The rule beside FCFS, from one start or from all shifts."""
    shifts = SHIFTS if rule.is_live else SHIFTS[:1]
    ours, theirs = ([replayed(log, each, shift) for shift in shifts] for each in (rule, INCUMBENT))
    return judge(ours, theirs)


def replayed(log: tracehouse.Log, rule: Rule, shift: int) -> Replayed:
    """The replay without the first `shift` jobs. The same jobs are scored in every shift."""
    jobs = log.trace().rows.height
    run = tracehouse.replay(log, rule.policy, rule.backfill, window=(shift, jobs - shift), **rule.settings).replayed
    return Replayed(run.jobs, run.cluster, run.schedule, scored_after(jobs - shift, jobs // 2 - shift))


def line(rule: Rule, judgement: Judgement) -> str:
    """One line of the table."""
    verdict = judgement.verdict
    cells = [rule.name, *(ratio_and_spread(verdict.ratios, column) for column in COLUMNS), str(verdict)]
    return f"| {' | '.join([*cells, shown(judgement.bounded_slowdown), shown(judgement.wait)])} |"


def ratio_and_spread(ratios: Sequence[Ratios], column: str) -> str:
    """The ratio of the first shift, and its range where there are several."""
    values = [getattr(each, column) for each in ratios]
    spread = f" ({min(values):.2f} to {max(values):.2f})" if len(values) > 1 else ""
    return f"{values[0]:.3g}{spread}" if values[0] >= 10 else f"{values[0]:.2f}{spread}"


def shown(interval: RatioInterval) -> str:
    """An interval, or that there is none."""
    if interval.low is None or interval.high is None:
        return f"{interval.ratio:.2f} [none]"
    return f"{interval.ratio:.2f} [{interval.low:.2f}, {interval.high:.2f}]"


if __name__ == "__main__":
    main()
