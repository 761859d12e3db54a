"""Policies judged on whole replays of a source: which of them is worth adopting where FCFS with EASY runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assets.common.progress import progress
from assets.common.trace import Trace
from models.judging.chance import ChanceCloud, OnRandomOrder, cloud_around, random_orders
from models.judging.intervals import RatioInterval
from models.judging.judge import Judgement, corrected_for_many, judge
from models.judging.panel import SHIFTS, Replayed, scored_after
from models.judging.verdict import DOMINATES
from models.runtime.estimates import Estimates
from models.runtime.live import LiveSettings, replay_live
from simulator.engine.replay import replay
from simulator.jobs.schedule import Schedule
from simulator.metrics.metrics import SEMANTICS
from simulator.policies.agents import Agent, agent_text
from simulator.policies.network import KernelWeights
from simulator.policies.registry import Policy, assisted, parse_policy

LIVE_SHIFTS = SHIFTS[:4]
"""Starts of a policy that learns from its own replay. The first is the whole log."""


@dataclass(frozen=True)
class JudgedRule:
    """A policy with the rules under which it is replayed.

    name: as it is shown. policy: as simulator.policies.registry.parse_policy takes it; "learned" needs weights. agent: decides beside
    the policy. The others are as in `tracehouse replay`.
    """

    name: str
    policy: str = "FCFS"
    backfill: str = "easy"
    estimates: str = "requested"
    reserve_by: str = "estimate"
    admit_by: str = "estimate"
    weights: KernelWeights | None = None
    agent: Agent | None = None

    @property
    def options(self) -> str:
        """What `tracehouse replay` is given for it, after the source."""
        usual = JudgedRule("")
        words = [f'--policy "{self.policy}"' if " " in self.policy else f"--policy {self.policy}"]
        if self.agent is not None and self.agent.weights is None:
            option = "backfill" if self.agent.picking.by else "inspector"
            words.append(f"--{option} {agent_text(self.agent).removeprefix('inspect:')}")
        for name in ("backfill", "estimates", "reserve_by", "admit_by"):
            if getattr(self, name) != getattr(usual, name):
                words.append(f"--{name.replace('_', '-')} {getattr(self, name)}")
        return " ".join(words)


TYPICAL = tuple(f"typical_{measure}_{what}" for measure in ("slowdown", "wait") for what in ("ratio", "low", "high"))
"""Columns of `scores_of` about the typical block."""
MAYBE_NULL = ("wide_wait_s", "wide_wait_ratio", *TYPICAL)
"""Columns of `scores_of` that may be NULL in every row."""
INCUMBENT = JudgedRule("FCFS")
PLAIN_RIVALS = (
    JudgedRule("SJF", "SJF"),
    JudgedRule("SAF", "SAF"),
    JudgedRule("F1", "F1"),
    JudgedRule("EASY-SJBF", backfill="easy-sjbf"),
)
"""Rules that anybody can have without training anything."""
BOUNDED_KEY = JudgedRule("bounded-key", "bounded-key", "easy", "live", "requested", "requested")


def rivals_with(estimates: str) -> tuple[JudgedRule, ...]:
    """The rules that a policy has to face which uses these estimates: the same estimates for all, but for the bounded key."""
    return (*(replace(rule, estimates=estimates) for rule in PLAIN_RIVALS), BOUNDED_KEY)


def judged_replays(
    trace: Trace, rules: Sequence[JudgedRule], first_scored: int, shifts: Sequence[int] = LIVE_SHIFTS
) -> Iterator[tuple[Replayed, Judgement]]:
    """For every rule its replay of the whole log, and the judgement beside FCFS with EASY and requested times.

    Jobs from position `first_scored` on are scored. shifts: jobs that are left out at the beginning, one start for each, where a
    rule learns from its own replay. The first one is 0. Raises ValueError as the replays do.
    """
    starts = [shift for shift in shifts if shift < first_scored] or [0]
    incumbents: dict[int, Replayed] = {}
    for rule in progress(list(rules), "whole replays"):
        own = starts if Estimates.parse(rule.estimates).is_live else [0]
        for shift in own:
            if shift not in incumbents:
                incumbents[shift] = _replayed(trace, INCUMBENT, shift, first_scored)
        replays = [_replayed(trace, rule, shift, first_scored) for shift in own]
        yield replays[0], judge(replays, [incumbents[shift] for shift in own])


def chance_cloud(trace: Trace, first_scored: int, on_replayed: OnRandomOrder = lambda *_: None) -> ChanceCloud:
    """What random orders reach beside FCFS with EASY and requested times, over the jobs from position `first_scored` on. on_replayed: as in
    models.judging.chance.cloud_around."""
    incumbent = _replayed(trace, INCUMBENT, 0, first_scored)

    def replay_order(policy: Policy) -> Schedule:
        return replay(incumbent.jobs, trace.cluster_procs, policy, INCUMBENT.backfill)

    orders = random_orders(len(incumbent.jobs))
    return cloud_around(incumbent, replay_order, progress(list(orders), "random orders"), on_replayed=on_replayed)


@dataclass(frozen=True)
class JudgedRules:
    """judgements: by the name of the rule, corrected for how many there are. cloud: what random orders reach."""

    judgements: dict[str, Judgement]
    cloud: ChanceCloud


def judge_rules(trace: Trace, rules: Sequence[JudgedRule], first_scored: int) -> JudgedRules:
    """The judgements of `judged_replays`, beside what random orders reach."""
    judged = [each for _, each in judged_replays(trace, rules, first_scored)]
    cloud = chance_cloud(trace, first_scored)
    judgements = corrected_for_many(judged, cloud)
    return JudgedRules({rule.name: each for rule, each in zip(rules, judgements, strict=True)}, cloud)


def scores_of(replayed: Replayed, judgement: Judgement) -> dict[str, Any]:
    """Columns of replay.period_scores and of experiments.verdicts, besides what tells which policy it is."""
    ratios = judgement.verdict.ratios[0]
    return {
        "jobs": int(replayed.scored.sum()),
        **replayed.metrics,
        "wide_wait_s": judgement.panels[0].wide_wait_s,
        "verdict": str(judgement.verdict),
        "payers": "; ".join(judgement.verdict.payers),
        "bounded_slowdown_ratio": ratios.bounded_slowdown,
        "wait_ratio": ratios.wait,
        "p99_wait_ratio": ratios.p99_wait,
        "area_wait_ratio": ratios.area_wait,
        "wide_wait_ratio": ratios.wide_wait,
        "lost_capacity_change": ratios.lost_capacity,
        **dict(zip(TYPICAL, (*_numbers(judgement.bounded_slowdown), *_numbers(judgement.wait)), strict=True)),
        "semantics": SEMANTICS,
    }


def _numbers(interval: RatioInterval) -> tuple[float, float | None, float | None]:
    return interval.ratio, interval.low, interval.high


def best_of(judgements: Mapping[str, Judgement]) -> str | None:
    """The rule that dominates FCFS with EASY by most, None where none does."""
    dominating = [name for name, judgement in judgements.items() if judgement.verdict.word == DOMINATES]
    return min(dominating, key=lambda name: judgements[name].verdict.rank_value, default=None)


def _replayed(trace: Trace, rule: JudgedRule, shift: int, first_scored: int) -> Replayed:
    """The replay without the first `shift` jobs. Jobs from position `first_scored` of the log on are scored, whatever the shift."""
    rows, estimates = trace.rows[shift:], Estimates.parse(rule.estimates)
    jobs = trace.jobs_of(rows, estimates, rule.reserve_by, rule.admit_by)
    scored = scored_after(len(jobs), first_scored - shift)
    policy = parse_policy(rule.policy, rule.weights)
    if rule.agent is not None:
        policy = assisted(policy, rule.agent)
    if estimates.is_live:
        settings = LiveSettings(estimates.detail, reserve_by=rule.reserve_by, admit_by=rule.admit_by)
        live = replay_live(jobs, rows, trace.cluster_procs, policy, rule.backfill, settings=settings)
        return Replayed(jobs, trace.cluster_procs, live.schedule, scored)
    schedule = replay(jobs, trace.cluster_procs, policy, rule.backfill)
    return Replayed(jobs, trace.cluster_procs, schedule, scored)
