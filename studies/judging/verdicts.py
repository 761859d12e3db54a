"""What rules do to the second half of four logs, beside FCFS with EASY: `python -m studies verdicts`.

Every log is replayed from its first job, and jobs from the middle one on are scored. Rules with live estimates, and FCFS beside
them, are replayed from eight shifted starts. The tables have the ratios of the whole log, and their range over the starts. Certain is
corrected for the number of rules. The first row is a lottery: orders without any knowledge, judged as all others are. The last table
has the rules that dominate on one of the logs that carry a verdict.
"""

from __future__ import annotations

from collections.abc import Sequence

import tracehouse
from assets.common.trace import Trace
from assets.policies.verdicts import BOUNDED_KEY, PLAIN_RIVALS, JudgedRule, chance_cloud, judged_replays
from assets.replay.evaluation import SEARCHED_KEY, THRESHOLD_RIVALS
from models.judging.chance import ChanceCloud
from models.judging.intervals import RatioInterval
from models.judging.judge import Judgement, corrected_for_many
from models.judging.panel import SHIFTS
from models.judging.verdict import DOMINATES, Ratios, plain_word
from papers.archive import ARCHIVE_LOGS, SHARED

RULES = (
    *PLAIN_RIVALS,
    JudgedRule("WFP3", "WFP3"),
    JudgedRule("LEXP", "LEXP"),
    JudgedRule("multifactor", "multifactor"),
    *THRESHOLD_RIVALS,
    JudgedRule("key8", "formula:-(submit + 8*estimate*sqrt(procs))"),
    JudgedRule("key10 live", "formula:-(submit + 10*estimate*sqrt(procs))", "easy", "live", "requested"),
    JudgedRule("SJF live", "SJF", "easy", "live", "requested", "requested"),
    JudgedRule("EASY-SJBF live", "FCFS", "easy-sjbf", "live", "requested", "requested"),
    BOUNDED_KEY,
    JudgedRule("bounded-key, requested", "bounded-key"),
    JudgedRule("bounded-key:factor=1, requested", "bounded-key:factor=1"),
)
SEARCHED = "key searched on the other logs"
SEARCHED_ELSEWHERE = {
    "KTH-SP2": SEARCHED_KEY.policy,
    "CTC-SP2": "formula:-(submit + min(0.00475392*estimate**1.70063*procs**1.34105, 144934))",
    "SDSC-SP2": "formula:-(submit + min(0.0133938*estimate**1.64492*procs**0.600694, 80717))",
    "HPC2N": "formula:-(submit + min(0.00887904*estimate**1.87506*procs**0.120543, 85050))",
}
"""Of `python -m studies guarded_keys`: chosen by the first halves of the five other logs, so that it is blind here. Every other rule was
fixed before these logs were looked at, but for the bounded keys, which were picked with these halves in view."""
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
    words: dict[str, dict[str, str]] = {}
    for name, (file, procs) in ARCHIVE_LOGS.items():
        print(f"\n{name}\n\n{heading()}")
        trace = tracehouse.load_log(SHARED / file, procs=procs).trace()
        cloud = chance_cloud(trace, trace.rows.height // 2)
        print(chance_line(cloud), flush=True)
        for rule, judgement in judged(trace, name, cloud).items():
            print(line(rule, judgement), flush=True)
            words.setdefault(rule, {})[name] = str(judgement.verdict)
        share = min(cloud.dominating.values())
        print(
            f"\n{name} {'carries' if cloud.carries_verdict else 'carries no'} verdict: {share:.0%} of the random orders dominate at least\n"
        )
        if not cloud.carries_verdict:
            for of_log in words.values():
                del of_log[name]
    counted = list(next(iter(words.values())))
    print(
        f"\nlogs that carry a verdict\n\n| policy | {' | '.join(counted)} | dominates |\n{'| --- ' * (len(counted) + 2)}|"
    )
    ranked = sorted(words.items(), key=lambda entry: -wins(entry[1]))
    for rule, of_log in ranked:
        if not wins(of_log):
            break
        print(f"| {rule} | {' | '.join(of_log.values())} | {wins(of_log)} of {len(of_log)} |")


def wins(of_log: dict[str, str]) -> int:
    """On how many logs a rule dominates."""
    return sum(plain_word(word) == DOMINATES for word in of_log.values())


def judged(trace: Trace, name: str, cloud: ChanceCloud) -> dict[str, Judgement]:
    """The rules beside FCFS with EASY over the second half of the jobs. name: of the log."""
    rules = (*RULES, JudgedRule(SEARCHED, SEARCHED_ELSEWHERE[name]))
    replays = [each for _, each in judged_replays(trace, rules, trace.rows.height // 2, SHIFTS)]
    return {rule.name: each for rule, each in zip(rules, corrected_for_many(replays, cloud), strict=True)}


def heading() -> str:
    """The first two lines of a table."""
    titles = [
        "policy",
        *COLUMNS.values(),
        "verdict",
        "random orders as good",
        "typical block: bounded slowdown",
        "and mean wait",
    ]
    titles += ["jobs over 1 h later", "and earlier", "users worse, better, of all", "worst class"]
    return f"| {' | '.join(titles)} |\n{'| --- ' * len(titles)}|"


def chance_line(cloud: ChanceCloud) -> str:
    """The line of the random orders: mean, and 5 to 95 %."""
    cells = []
    for column in COLUMNS:
        mean, low, high = cloud.spread(column)
        form = "+.3f" if column == "lost_capacity" else ".2f"
        cells.append(f"{mean:{form}} ({low:{form}} to {high:{form}})")
    share = sum(each.dominates for each in cloud.ratios) / len(cloud.ratios)
    return f"| random orders, {len(cloud.ratios)} | {' | '.join(cells)} | {share:.0%} of them dominate |{' |' * 7}"


def line(name: str, judgement: Judgement) -> str:
    """One line of a table."""
    verdict, paid = judgement.verdict, judgement.who_pays
    cells = [name, *(ratio_and_spread(verdict.ratios, column) for column in COLUMNS), str(verdict)]
    cells += [f"{verdict.share_as_good:.0%}", shown(judgement.bounded_slowdown), shown(judgement.wait)]
    cells += [f"{paid.later:.1%}", f"{paid.earlier:.1%}", f"{paid.users_worse}, {paid.users_better}, {paid.users}"]
    return f"| {' | '.join([*cells, f'{paid.worst_class}: {paid.worst_ratio:.2f}'])} |"


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
