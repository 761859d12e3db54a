"""Scenarios once more, with users who keep their pace: what the change of waits and the verdict are then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assets.common.progress import progress
from assets.common.trace import Trace
from assets.replaying.pace import pace_of, pace_of_site
from assets.replaying.running.policies import ChosenPolicy
from assets.replaying.running.replayers import check_settings
from assets.replaying.running.run import ReplayRun, replay_run
from assets.replaying.running.settings import RunSettings
from assets.replaying.running.users import UsersPace
from assets.replaying.scenarios.pairing import judge_pair, pair_jobs, paired_waits
from assets.replaying.scenarios.planning import PlannedReplay, ScenarioPlan
from models.judging.judge import Judgement
from models.judging.verdict import (
    DEPENDS,
    DOMINATES,
    HARDLY,
    HARMS,
    NO_DIFFERENCE,
    NOT_SIGNIFICANT,
    TRADES,
    WORSE,
    plain_word,
    verdict_text,
)
from simulator.jobs.words import KEEP_PACE

LEAST_REACTING = 0.1
"""Where a smaller share of the jobs follows others or may be given up, users who keep their pace change little."""
MOST_ON_CLUSTER = 100_000
"""Jobs of a log that is replayed twice under its cluster's own scheduler."""
GIVING_UP_COUNTS = ("jobs_that_gave_up", "core_hours_given_up")
"""Of a replay with users who keep their pace."""


@dataclass(frozen=True)
class Paced:
    """A scenario next to the base, with users who keep their pace. change_share: of the mean wait of the jobs in both. gave_up: jobs that
    are cancelled since they wait for too long. core_hours_given_up: that they would have run."""

    judgement: Judgement
    wait_h: float
    change_share: float | None
    never_submitted: int
    gave_up: int
    core_hours_given_up: int


def pace_of_plan(plan: ScenarioPlan, base: ReplayRun) -> UsersPace | None:
    """The pace of the users of a plan's source. base: the replay of its base. None where too few react, where users are not known, and
    where the base has users who keep their pace already. Raises ValueError as `check_length` does."""
    if plan.base.settings.is_closed:
        return None
    check_length(plan.base.settings, len(base.jobs))
    try:
        pace = pace_of_site(plan.source, plan.trace) if plan.overridden else pace_of(base)
    except ValueError:
        return None
    return pace if enough_react(pace) else None


def check_length(settings: RunSettings, jobs: int) -> None:
    """Raises ValueError for a log of so many jobs where it is too long to be replayed twice under its cluster's own scheduler."""
    if settings.is_on_cluster and jobs > MOST_ON_CLUSTER:
        raise ValueError(f"on a cluster that is done for {MOST_ON_CLUSTER:,} jobs at most, and the log has {jobs:,}")


def enough_react(pace: UsersPace) -> bool:
    """Whether so many jobs follow others, or may be given up, that replays are made with users who keep their pace."""
    return pace.lines > 1 and pace.reacting >= LEAST_REACTING


def paced_scenarios(
    plan: ScenarioPlan, base: ReplayRun, scenarios: Sequence[PlannedReplay], pace: UsersPace
) -> tuple[dict[str, Paced], dict[str, str]]:
    """The scenarios, by name, with users who keep their pace, next to the base with such users, and why others are not among them. base: at
    the log's times, which a site's own replay has in either case."""
    paced: dict[str, Paced] = {}
    failures: dict[str, str] = {}
    if plan.overridden and scenarios:
        try:
            base = replay_at_pace(plan.trace, plan.base.settings, plan.base.policy, pace)
        except ValueError as error:
            return {}, {scenario.name: str(error) for scenario in scenarios}
    for scenario in progress(list(scenarios), "scenarios, users keep their pace"):
        try:
            run = replay_at_pace(plan.trace, scenario.settings, scenario.policy, pace)
        except ValueError as error:  # a way to replay, or an order, that has no rule for them
            failures[scenario.name] = str(error)
            continue
        paced[scenario.name] = paced_beside(base, run, plan.scored)
    return paced, failures


def paced_beside(base: ReplayRun, run: ReplayRun, scored: NDArray[np.int64]) -> Paced:
    """A replay next to a base, both with users who keep their pace. scored: job_index, ascending. Raises ValueError where no scored job is
    in both."""
    pairs = pair_jobs(base, run, scored)
    waits = paired_waits(base, run, pairs)
    before, after = (float(waits[name].to_numpy().mean()) for name in ("base_wait_s", "wait_s"))
    change = after / before - 1 if before else None
    counts = [run.counts.get(name, 0) for name in ("jobs_never_submitted", *GIVING_UP_COUNTS)]
    return Paced(judge_pair(base, run, pairs), after / 3600, change, *counts)


def replay_at_pace(
    trace: Trace, settings: RunSettings, policy: ChosenPolicy, pace: UsersPace, own_runs: int | None = None
) -> ReplayRun:
    """A replay with users who keep their pace. Arguments as those of `replay_run`. Raises ValueError where there is no rule for them."""
    settings = check_settings(settings.model_copy(update={"users": KEEP_PACE}))
    return replay_run(trace, settings, policy, own_runs=own_runs, pace=pace)


def turns_round(word: str, paced: str) -> bool:
    """Whether the advice is another one where users keep their pace: one verdict dominates and the other one does not, or one trades and
    the other one is bad. word, paced: verdicts, without certainty. One that is about random orders turns into no other."""
    words, bad = {word, paced}, {WORSE, HARMS}
    others = {TRADES, NO_DIFFERENCE, NOT_SIGNIFICANT, *bad}
    return (DOMINATES in words and bool(words & others)) or (TRADES in words and bool(words & bad))


def depends_words(times_verdict: str, pace_verdict: str) -> str:
    """The verdicts of both, where advice depends on users, for people."""
    return f"{times_verdict} where all submit at the times of the log, and {pace_verdict} where who follows an end of an own job still does"


def pace_words(share: float | None, figure: str = "the change") -> str:
    """What a figure is of with users who keep their pace, in a line. share: of the jobs that follow others, None if it is not stored."""
    many = "" if share is None else f", as {100 * share:.0f} % of the jobs were,"
    return f"keep pace: {figure} where who submitted soon after an end of an own job{many} does so after its end in the replay"


def differ(change: float | None, paced: float | None) -> bool:
    """Whether the changes of the mean wait in both are too far from each other for one figure."""
    return change is not None and paced is not None and abs(change - paced) > HARDLY


def paced_columns(verdict: str | None, paced: Paced | None, judgement: Judgement | None) -> dict[str, Any]:
    """Columns of a scenario's row. verdict: at the log's times, None where there may be none. judgement: of the paced one, corrected for
    how many there are."""
    if paced is None or judgement is None:
        return {}
    row: dict[str, Any] = {"pace_wait_h": paced.wait_h, "pace_change_share": paced.change_share}
    if paced.never_submitted:
        row["pace_never_submitted"] = paced.never_submitted
    row |= dict(
        zip((f"pace_{name}" for name in GIVING_UP_COUNTS), (paced.gave_up, paced.core_hours_given_up), strict=True)
    )
    if verdict is None:
        return row
    word = judgement.verdict.word
    row |= {"times_verdict": verdict, "pace_verdict": verdict_text(word, judgement.verdict.is_certain)}
    return row | ({"verdict": DEPENDS} if turns_round(plain_word(verdict), word) else {})
