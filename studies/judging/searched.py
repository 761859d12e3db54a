"""Searched policies on jobs that did not choose them: `python -m studies searched`.

The second halves of the three logs whose first halves chose them, and three logs that the search never read. All rivals and 200 random
orders with the same cap are judged on the same jobs, next to FCFS with EASY. The last tables have one test over the logs together, what a
search in hindsight would gain, and each policy as PBS takes it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assets.policies.verdicts import JudgedRule, judged_replays
from assets.replay.evaluation import with_threshold
from models.judging.chance import ChanceCloud, RandomOrder, cloud_around
from models.judging.judge import Judgement, beside_cloud, block_intervals, corrected_for_many
from models.judging.panel import Replayed, scored_after
from models.judging.verdict import Ratios
from papers.archive import LOGS
from papers.markdown import markdown
from simulator.engine.replay import replay
from simulator.policies.registry import SEARCHED
from studies.judging.search_policies import LIMITS, STARTS
from studies.judging.searched_logs import LEARNED_FROM, requested_jobs, whole_trace
from studies.judging.verdicts import SEARCHED_ELSEWHERE, shown
from studies.searching.evolution import Kept, Search, SearchOptions
from studies.searching.learning_logs import JITTER_S, LearningLog, with_submissions
from studies.searching.programs import pbs_formula

UNSEEN = ("HPC2N", "Lublin-1", "Lublin-2")
FIRST_FORMULA = JudgedRule(
    "first formula",
    "formula:-(submit + min(37439*(estimate/14400)**0.976*(procs/sqrt(cluster))**(-0.274), 43200))",
)
"""The best of 2,000 random formulas on the same first halves, which was there before the search."""
ROUNDED = JudgedRule("first formula, rounded", STARTS[0].formula)
"""The same with two digits, as the search began with it. It shows what a digit does."""
RIVALS = (
    FIRST_FORMULA,
    ROUNDED,
    JudgedRule("bounded-key:factor=1", "bounded-key:factor=1"),
    JudgedRule("WFP3", "WFP3"),
    JudgedRule("SJF", "SJF"),
    JudgedRule("SAF", "SAF"),
    with_threshold("SJF", "estimate", 12),
    with_threshold("SAF", "estimate * procs", 12),
    with_threshold("fewest processors", "procs", 12),
)
ORDERS = 200
RIVALS_CAP_S = 12 * 3600
"""Of the random orders next to which rivals are judged."""
COPIES = 8
HINDSIGHT = SearchOptions(generations=9, children=30, tuning=30)
CAP = re.compile(r", (\d+)\)\)?$")
TITLES = ("bounded slowdown", "mean wait", "p99", "longest", "by work", "wide")


def main() -> None:
    ours = [JudgedRule(name, name) for name in SEARCHED]
    caps = {name: cap_of(formula) for name, formula in SEARCHED.items()}
    points: list[list[str]] = []
    gains: dict[str, dict[str, float]] = {}
    lottery: dict[int, dict[str, list[float]]] = {cap_s: {} for cap_s in (RIVALS_CAP_S, *caps.values())}
    for name in (*LEARNED_FROM, *UNSEEN):
        trace = whole_trace(name)
        clouds = {cap_s: cloud_within(name, cap_s) for cap_s in lottery}
        for cap_s, cloud in clouds.items():
            lottery[cap_s][name] = [gain_of(ratios) for ratios in cloud.ratios]
        rules = [*ours, *RIVALS]
        if name in SEARCHED_ELSEWHERE:
            rules.append(JudgedRule("key searched on the other logs", SEARCHED_ELSEWHERE[name]))
        judged = [judgement for _, judgement in judged_replays(trace, rules, trace.rows.height // 2)]
        of_rule = dict(zip((rule.name for rule in rules), corrected_for_many(judged), strict=True))
        print(
            f"\n{'log' if name in LEARNED_FROM else 'unseen'} {name}\n\n{table_of_log(of_rule, clouds, caps)}",
            flush=True,
        )
        if name in LEARNED_FROM:
            points += [summary(name, rule, of_rule[rule], clouds[cap_s]) for rule, cap_s in caps.items()]
        for rule, judgement in of_rule.items():
            gains.setdefault(rule, {})[name] = gain_of(judgement.verdict.ratios[0])
    titles = ["log", "policy", "bounded slowdown", "mean wait", "worst guard", "verdict", "random orders as good"]
    print(f"\nthree points\n\n{markdown(titles, points)}", flush=True)
    print(f"\nmoved copies\n\n{on_moved_copies([*ours, *RIVALS])}", flush=True)
    print(f"\nall logs together\n\n{together(gains, lottery, caps)}")
    print(f"\nin hindsight\n\n{in_hindsight(gains)}")
    print(f"\nas PBS takes them, on 512 processors\n\n{as_pbs()}")


def cap_of(formula: str) -> int:
    """The cap of a searched formula, seconds."""
    match = CAP.search(formula)
    assert match, formula
    return int(match.group(1))


def gain_of(ratios: Ratios) -> float:
    """The mean of the logarithms of bounded slowdown and wait over FCFS, below 0 where they fall."""
    return (math.log(ratios.bounded_slowdown) + math.log(ratios.wait)) / 2


def cloud_within(name: str, cap_s: int, orders: int = ORDERS) -> ChanceCloud:
    """What so many random orders within a cap reach on the second half of a log, next to FCFS with EASY."""
    incumbent = second_half(name, "FCFS")
    return cloud_around(
        incumbent,
        lambda policy: replay(incumbent.jobs, incumbent.cluster, policy, "easy"),
        (RandomOrder(cap_s, seed) for seed in range(orders)),
    )


def table_of_log(judged: dict[str, Judgement], clouds: dict[int, ChanceCloud], caps: dict[str, int]) -> str:
    """One line a policy, then one for each cap of random orders: their mean, and the smallest 2.5 % in brackets."""
    lines = []
    for rule, judgement in judged.items():
        verdict = beside_cloud(judgement, clouds[caps.get(rule, RIVALS_CAP_S)]).verdict
        ratios, paid = verdict.ratios[0], judgement.who_pays
        lines.append(
            [
                rule,
                *(f"{value:.2f}" for value in panel_ratios(ratios)),
                f"{paid.worst_ratio:.2f}",
                f"{paid.users_worse}, {paid.users_better}, {paid.users}",
                str(verdict),
                f"{verdict.share_as_good:.1%}",
                shown(judgement.wait),
            ]
        )
    for cap_s, cloud in clouds.items():
        spreads = np.array([panel_ratios(ratios) for ratios in cloud.ratios])
        low, mean = np.quantile(spreads, 0.025, axis=0), spreads.mean(axis=0)
        cells = [f"{a:.2f} ({b:.2f})" for a, b in zip(mean, low, strict=True)]
        lines.append([f"{len(cloud.ratios)} random orders within {cap_s / 3600:.1f} h", *cells, "", "", "", "", ""])
    titles = ["policy", *TITLES, "worst class", "users worse, better, all", "verdict", "random orders as good"]
    return markdown([*titles, "typical block: wait"], lines)


def summary(name: str, rule: str, judgement: Judgement, cloud: ChanceCloud) -> list[str]:
    """A line of one policy on one log: both averages, and the guard that grows most."""
    verdict = beside_cloud(judgement, cloud).verdict
    slowdown, wait, *guards = panel_ratios(verdict.ratios[0])
    worst = max(range(len(guards)), key=guards.__getitem__)
    averages = [f"{slowdown:.2f}", f"{wait:.2f}"]
    return [
        name,
        rule,
        *averages,
        f"{guards[worst]:.2f} ({TITLES[2 + worst]})",
        str(verdict),
        f"{verdict.share_as_good:.1%}",
    ]


def panel_ratios(ratios: Ratios) -> list[float]:
    """In the order of TITLES. Without a wide job, 1."""
    wide = 1.0 if ratios.wide_wait is None else ratios.wide_wait
    return [ratios.bounded_slowdown, ratios.wait, ratios.p99_wait, ratios.max_wait, ratios.area_wait, wide]


def together(
    gains: dict[str, dict[str, float]], lottery: dict[int, dict[str, list[float]]], caps: dict[str, int]
) -> str:
    """The mean gain over the logs that were learned from, over all, and the share of random orders whose mean over all is as good.

    An order of one seed is one order on all logs, so that this is one test with one error rate.
    """
    lines = []
    for rule, of_log in gains.items():
        learned, every = (
            float(np.mean([of_log[name] for name in names if name in of_log]))
            for names in (LEARNED_FROM, tuple(of_log))
        )
        cells = ["", ""]
        if rule in caps:
            random = np.mean([lottery[caps[rule]][name] for name in of_log], axis=0)
            share = (1 + int((random <= every).sum())) / (1 + len(random))
            cells = [f"{math.exp(float(random.min())):.3f}", f"{share:.1%}"]
        lines.append([rule, f"{math.exp(learned):.3f}", f"{math.exp(every):.3f}", str(len(of_log)), *cells])
    titles = ["policy", "mean ratio, the three logs", "all logs", "logs", "best random order", "random orders as good"]
    return markdown(titles, lines)


def in_hindsight(gains: dict[str, dict[str, float]]) -> str:
    """What the same search reaches where the judged half itself chooses: a bound for programs of this kind, and for what learns on top.

    The interval is of the typical block's wait under the program chosen in hindsight over ours. Half its width is what a comparison on
    these jobs can just see.
    """
    lines = []
    for name in LEARNED_FROM:
        log = judged_half(name)
        for point, limit in LIMITS.items():
            search = Search([[log]], {point: limit}, HINDSIGHT, Kept([log]))
            best = search.run(1, STARTS)[point][0]
            outcome = search.kept.outcome(best, log)
            reached = (math.log(outcome.slowdown) + math.log(outcome.wait)) / 2
            ours = gains[f"searched:{point}"][name]
            interval = block_intervals(second_half(name, best.formula), second_half(name, f"searched:{point}"))
            ratios = [f"{math.exp(each):.3f}" for each in (ours, reached, reached - ours)]
            lines.append([name, point, *ratios, shown(interval.wait)])
    titles = [
        "log",
        "point",
        "ours",
        "chosen in hindsight",
        "hindsight over ours",
        "typical block: wait, hindsight over ours",
    ]
    return markdown(titles, lines)


def second_half(name: str, policy: str) -> Replayed:
    """A whole replay of a log of which the second half is scored."""
    log = judged_half(name)
    schedule = replay(log.jobs, log.procs, policy, "easy")
    return Replayed(log.jobs, log.procs, schedule, scored_after(len(log.jobs), len(log.jobs) // 2))


def on_moved_copies(rules: Sequence[JudgedRule]) -> str:
    """Each policy on COPIES of each log whose submissions are moved by up to half an hour: geometric means, and the range in brackets.

    One replay is one course of events, and a small change of an order, or of the log, leads to another one.
    """
    lines = []
    for name in LEARNED_FROM:
        copies = [moved_copy(name, seed) for seed in range(1, COPIES + 1)]
        for rule in rules:
            outcomes = np.array([copy.outcome(rule.policy)[:7] for copy in copies])
            mean, low, high = np.exp(np.log(outcomes).mean(axis=0)), outcomes.min(axis=0), outcomes.max(axis=0)
            cells = [f"{mean[k]:.2f} ({low[k]:.2f} to {high[k]:.2f})" for k in range(2)]
            lines.append([name, rule.name, *cells, *(f"{each:.2f}" for each in mean[2:7])])
    titles = ["log", "policy", "bounded slowdown", "mean wait", "p99", "longest", "by work", "wide", "worst class"]
    return markdown(titles, lines)


def moved_copy(name: str, seed: int) -> LearningLog:
    """A log whose submissions are moved, of which the second half is scored."""
    log = judged_half(name)
    shifts = np.random.default_rng(seed).integers(-JITTER_S, JITTER_S + 1, len(log.jobs))
    return replace(log, jobs=with_submissions(log.jobs, np.maximum(log.jobs.submit + shifts, 0)))


def judged_half(name: str) -> LearningLog:
    """A whole log of which the second half is scored."""
    jobs = requested_jobs(name)
    return LearningLog(name, jobs, LOGS[name][1], first_scored=len(jobs) // 2)


def as_pbs(procs: int = 512) -> str:
    """The formulas, and the same for PBS."""
    lines = [[name, f"`{formula}`", f"`{pbs_formula(formula, procs)}`"] for name, formula in SEARCHED.items()]
    return markdown(["policy", "as a formula", "as `job_sort_formula`"], lines)
