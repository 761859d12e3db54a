"""Orders that may be advised once more, with users who keep their pace, next to the scheduler of the site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from assets.common.progress import progress
from assets.common.trace import Trace
from assets.policies.verdicts import INCUMBENT, JudgedRule
from assets.replay.random_orders import stored_cloud
from assets.replaying.judged_orders import JudgedOrders
from assets.replaying.pace import pace_of
from assets.replaying.running.policies import ChosenPolicy
from assets.replaying.running.run import ReplayRun, replay_run
from assets.replaying.running.settings import RunSettings
from assets.replaying.scenarios.paced import (
    Paced,
    check_length,
    enough_react,
    paced_beside,
    paced_columns,
    replay_at_pace,
)
from assets.replaying.starts import OnSite
from models.judging.judge import Judgement, corrected_for_many, judge
from models.judging.panel import Replayed
from models.judging.verdict import DOMINATES, TRADES
from simulator.policies.registry import parse_policy

MOST_PACED = 3
"""Orders that are replayed once more: those that would be advised first."""
PACE_COLUMNS = {
    "pace_change_share": pl.Float64,
    "times_verdict": pl.Utf8,
    "pace_verdict": pl.Utf8,
    "not_paced_because": pl.Utf8,
}
"""Columns of replay.period_scores with their types, NULL where nothing was replayed."""


@dataclass(frozen=True)
class PacedOrders:
    """site: of the source. trace: with the labels of its settings. first_scored: position of the first job that is scored. on_nodes: of a
    site that a cluster describes, None for a row of processors."""

    site: OnSite
    trace: Trace
    first_scored: int
    on_nodes: JudgedOrders | None

    def columns(
        self, judged: Sequence[tuple[JudgedRule, Replayed]], judgements: Sequence[Judgement], by_lot: pl.DataFrame
    ) -> list[dict[str, Any]]:
        """PACE_COLUMNS of each rule, with its verdict where that depends on users. Empty for rules that are not advised, and for all of
        them where few users react. judgements: beside the incumbent. by_lot: rows of random orders in replay.period_scores."""
        rows: list[dict[str, Any]] = [{} for _ in judged]
        rules = [rule for rule, _ in judged]
        try:
            base = self._base()
        except ValueError as error:
            for k in _advised(rules, judgements):
                rows[k] = {"not_paced_because": str(error)}
            return rows
        pace = pace_of(base)  # the base where users keep it is the same, to the second
        if not enough_react(pace):
            return rows
        incumbent = [each.schedule.start for rule, each in judged if rule == INCUMBENT]
        is_beside = self.on_nodes is not None or any(np.array_equal(each, base.schedule.start) for each in incumbent)
        beside = judgements if is_beside else self._beside(base, [each for _, each in judged], by_lot)
        scored, paced = self.trace.rows["job_index"].to_numpy()[self.first_scored :], dict[int, Paced]()
        for k in progress(_advised(rules, beside), "orders, users keep their pace"):
            try:
                run = replay_at_pace(self.trace, *self._order(rules[k]), pace, own_runs=1)
                paced[k] = paced_beside(base, run, scored)
            except ValueError as error:
                rows[k] = {"not_paced_because": str(error)}
        corrected = corrected_for_many([each.judgement for each in paced.values()])
        for (k, each), judgement in zip(paced.items(), corrected, strict=True):
            both = paced_columns(str(beside[k].verdict), each, judgement)
            names = (*PACE_COLUMNS, "verdict") if is_beside else PACE_COLUMNS  # a verdict is beside the incumbent
            rows[k] = {name: both[name] for name in names if name in both}
        return rows

    def _base(self) -> ReplayRun:
        """The site's own replay. Raises ValueError for a log that is too long for it, and where a job does not fit its machine."""
        if self.on_nodes is None:
            machine = {"procs": self.site.site.procs, "drop_wider": False}
            return replay_run(self.trace, self.site.settings.model_copy(update=machine), self.site.policy)
        check_length(self.on_nodes.settings, self.trace.rows.height)
        return self.on_nodes.present

    def _beside(self, base: ReplayRun, replays: Sequence[Replayed], by_lot: pl.DataFrame) -> list[Judgement]:
        """The judgements beside the site's scheduler, as the report has them, which is not the incumbent on every row of processors."""
        procs = self.trace.cluster_procs
        theirs = Replayed(base.jobs, base.cluster, base.schedule, replays[0].scored)
        cloud = stored_cloud(by_lot, theirs.panel(procs), procs)
        return corrected_for_many([judge([ours], [theirs], wide_of=procs) for ours in replays], cloud)

    def _order(self, rule: JudgedRule) -> tuple[RunSettings, ChosenPolicy]:
        """What replays a rule."""
        if self.on_nodes is not None:
            return self.on_nodes.order(rule)
        policy = parse_policy(rule.policy, rule.weights)
        words = {name: getattr(rule, name) for name in ("policy", "backfill", "estimates", "reserve_by", "admit_by")}
        return RunSettings.model_validate(words), ChosenPolicy(policy.name, policy)


def _advised(rules: Sequence[JudgedRule], judgements: Sequence[Judgement]) -> list[int]:
    """Places of the few that may be advised, in the report's order: what dominates, then what trades, each by both gains."""
    words = (DOMINATES, TRADES)

    def rank(k: int) -> tuple[int, float, str, str, str]:
        rule, verdict = rules[k], judgements[k].verdict
        gain = verdict.ratios[0].bounded_slowdown * verdict.ratios[0].wait
        return words.index(verdict.word), gain, rule.name, rule.estimates, rule.backfill

    return sorted((k for k, each in enumerate(judgements) if each.verdict.word in words), key=rank)[:MOST_PACED]
