"""Orders judged in the place of a site's own, in replays of its whole log: the same nodes, limits and rivals by lot for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from assets.common.progress import progress
from assets.common.trace import Trace
from assets.policies.verdicts import JudgedRule, JudgedRules
from assets.replaying.own.alternatives import MOST_REPLAYED
from assets.replaying.own.way import ORDERS_THAT_CHANGE
from assets.replaying.running.policies import ChosenPolicy
from assets.replaying.running.run import ReplayRun, replay_run
from assets.replaying.running.settings import RunSettings
from models.judging.chance import CAPS_S, FEW_ORDERS_OF_A_CAP, ChanceCloud, OnRandomOrder, RandomOrder, cloud_around
from models.judging.judge import Judgement, corrected_for_many, judge
from models.judging.panel import Replayed
from models.judging.verdict import DOMINATES
from simulator.jobs.schedule import Schedule
from simulator.policies.registry import Policy, parse_policy
from simulator.slurm.variants.orders import is_fixed_order


@dataclass(frozen=True)
class JudgedOrders:
    """settings, policy: of the site's own replays. trace: with the labels of the settings. first_scored: position of the first job that is
    scored. cluster: whose nodes, or limits, the replays have, by its name. own_runs: of the site's scheduler, the others have one. Of a
    long log MOST_REPLAYED last jobs are replayed, from what ran and waited before them on, and of the scored ones those among them
    count."""

    settings: RunSettings
    policy: ChosenPolicy
    trace: Trace
    first_scored: int
    cluster: str
    own_runs: int = 1

    @property
    def incumbent(self) -> JudgedRule:
        """The site's own scheduler."""
        return JudgedRule(self.settings.policy, self.settings.policy, self.settings.portable_backfill)

    def takes(self, rule: JudgedRule) -> bool:
        """Whether the rule can be in the place of the site's order: it is one, of the site's backfilling, which may change while jobs wait
        in Slurm alone."""
        if rule.policy == self.settings.policy:
            return True
        policy = parse_policy(rule.policy, rule.weights)
        changes = self.settings.own_scheduler in ORDERS_THAT_CHANGE and policy.plug_in is None
        return rule.agent is None and (is_fixed_order(policy) or changes)

    @cached_property
    def rows(self) -> pl.DataFrame:
        """Of the trace, the jobs that its replays have."""
        return self.present.rows

    @cached_property
    def _settings(self) -> RunSettings:
        jobs = self.trace.rows.height
        if jobs <= MOST_REPLAYED:
            return self.settings
        window = {"window": f"{jobs - MOST_REPLAYED}:{MOST_REPLAYED}", "warm_start": True}
        return self.settings.model_copy(update=window)

    @cached_property
    def present(self) -> ReplayRun:
        """The site's own replay."""
        return replay_run(self.trace, self._settings, self.policy, own_runs=self.own_runs)

    def order(self, rule: JudgedRule) -> tuple[RunSettings, ChosenPolicy]:
        """What replays a rule."""
        chosen = self.policy
        if rule.policy != self.settings.policy:
            policy = parse_policy(rule.policy, rule.weights)
            chosen = replace(chosen, text=policy.name, policy=policy)
        return self._settings.model_copy(update={"estimates": rule.estimates}), chosen

    def replayed(self, rule: JudgedRule) -> Replayed:
        """The whole log under a rule. Raises ValueError as replay_run does."""
        run = self.present
        if rule != self.incumbent:
            run = replay_run(self.trace, *self.order(rule), own_runs=1)
        first = self.trace.rows["job_index"][self.first_scored]
        return Replayed(run.jobs, run.cluster.procs, run.schedule, (run.rows["job_index"] >= first).to_numpy())

    def judged(self, rules: Sequence[JudgedRule]) -> Iterator[tuple[JudgedRule, Replayed, Judgement]]:
        """Each rule that the site takes with its replay and the judgement beside the incumbent, which comes first. Jobs that one of both
        never starts do not count."""
        theirs = self.replayed(self.incumbent)
        kept = [rule for rule in rules if self.takes(rule) and rule != self.incumbent]
        for rule in progress([self.incumbent, *kept], "whole replays"):
            ours = theirs if rule == self.incumbent else self.replayed(rule)
            both = ours.scored & ours.schedule.started & theirs.schedule.started
            yield rule, ours, judge([replace(ours, scored=both)], [replace(theirs, scored=both)])

    def judged_rules(self, rules: Sequence[JudgedRule], others: Mapping[str, Judgement] | None = None) -> JudgedRules:
        """The judgements of those that the site takes, without the incumbent, corrected for how many there are, next to what random orders
        reach. others: judgements that come first."""
        judged = {rule.name: each for rule, _, each in self.judged(rules) if rule != self.incumbent}
        judgements = {**(others or {}), **judged}
        cloud = self.cloud(list(judgements.values()))
        corrected = corrected_for_many(list(judgements.values()), cloud)
        return JudgedRules(dict(zip(judgements, corrected, strict=True)), cloud)

    def other_phase(self) -> Judgement:
        """Of a scheduler that is not deterministic: the second of its own runs beside the first, which says how far it is from itself."""
        theirs = self.replayed(self.incumbent)
        ours = replace(theirs, schedule=self.present.others[0].part(self.present.of_rows))
        both = theirs.scored & ours.schedule.started & theirs.schedule.started
        return judge([replace(ours, scored=both)], [replace(theirs, scored=both)])

    def cloud(self, judgements: Sequence[Judgement], on_replayed: OnRandomOrder = lambda *_: None) -> ChanceCloud:
        """What random orders reach in the place of the site's own: one of each cap, and more until for each rule that would dominate one of
        them does as well. on_replayed: as in models.judging.chance.cloud_around."""
        incumbent = self.replayed(self.incumbent)
        incumbent = replace(incumbent, scored=incumbent.scored & incumbent.schedule.started)

        def replay_order(policy: Policy) -> Schedule:
            chosen = replace(self.policy, text=policy.name, policy=policy)
            return replay_run(self.trace, self._settings, chosen, own_runs=1).schedule

        cloud = ChanceCloud((), ())
        for seed in progress(range(FEW_ORDERS_OF_A_CAP), "random orders"):
            orders = [RandomOrder(cap_s, seed) for cap_s in CAPS_S]
            more = cloud_around(incumbent, replay_order, orders, on_replayed=on_replayed)
            cloud = ChanceCloud((*cloud.orders, *more.orders), (*cloud.ratios, *more.ratios))
            if not any(_is_beyond(judgement, cloud) for judgement in judgements):
                break
        return cloud


def _is_beyond(judgement: Judgement, cloud: ChanceCloud) -> bool:
    """Whether a rule would dominate, and none of the random orders does as well."""
    verdict = judgement.verdict
    as_good = cloud.share_as_good(verdict.ratios[0]) * (1 + len(cloud.ratios))
    return verdict.word == DOMINATES and bool(np.round(as_good) < 2)
