"""Scenarios once more, with users who keep their pace: what the change of waits and the verdict are then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assets.common.progress import progress
from assets.replaying.pace import pace_of, pace_of_site
from assets.replaying.running.replayers import check_settings
from assets.replaying.running.run import ReplayRun, replay_run
from assets.replaying.running.users import UsersPace
from assets.replaying.scenarios.pairing import judge_pair, pair_jobs, paired_waits
from assets.replaying.scenarios.planning import PlannedReplay, ScenarioPlan
from models.judging.judge import Judgement
from models.judging.verdict import DOMINATES, HARMS, TRADES, WORSE, plain_word, verdict_text
from simulator.jobs.words import KEEP_PACE

LEAST_FOLLOWERS = 0.1
"""Where a smaller share of the jobs follows others, users who keep their pace change little."""
DEPENDS = "depends on users"
"""In place of a verdict that is another one where users keep their pace."""


@dataclass(frozen=True)
class Paced:
    """A scenario next to the base, with users who keep their pace. change_share: of the mean wait of the jobs in both."""

    judgement: Judgement
    wait_h: float
    change_share: float | None
    never_submitted: int


def pace_of_plan(plan: ScenarioPlan, base: ReplayRun) -> UsersPace | None:
    """The pace of the users of a plan's source. base: the replay of its base. None where too few follow, where users are not known, and
    where the base has users who keep their pace already."""
    if plan.base.settings.is_closed:
        return None
    try:
        pace = pace_of_site(plan.source, plan.trace) if plan.overridden else pace_of(base)
    except ValueError:
        return None
    return pace if pace.users > 1 and pace.share >= LEAST_FOLLOWERS else None


def paced_scenarios(
    plan: ScenarioPlan, base: ReplayRun, scenarios: Sequence[PlannedReplay], pace: UsersPace
) -> dict[str, Paced]:
    """The scenarios, by name, that can be replayed with such users, and are not so already. Jobs that a limit kept are in none of them."""
    paced = {}
    for scenario in progress(list(scenarios), "scenarios, users keep their pace"):
        settings = scenario.settings.model_copy(update={"users": KEEP_PACE})
        if scenario.settings.is_closed:
            continue
        try:
            check_settings(settings)
            run = replay_run(plan.trace, settings, scenario.policy, pace=pace)
        except ValueError:
            continue  # a way to replay, or an order, that has no rule for them
        pairs = pair_jobs(base, run, plan.scored)
        waits = paired_waits(base, run, pairs)
        before, after = (float(waits[name].to_numpy().mean()) for name in ("base_wait_s", "wait_s"))
        change = after / before - 1 if before else None
        never = run.counts.get("jobs_never_submitted", 0)
        paced[scenario.name] = Paced(judge_pair(base, run, pairs), after / 3600, change, never)
    return paced


def turns_round(word: str, paced: str) -> bool:
    """Whether the advice is another one where users keep their pace: one verdict dominates, the other one does not and is clear, or one
    trades and the other one gains nothing. word, paced: verdicts, without certainty."""
    words, bad = {word, paced}, {WORSE, HARMS}
    return (DOMINATES in words and bool(words & {TRADES, *bad})) or (TRADES in words and bool(words & bad))


def paced_columns(verdict: str | None, paced: Paced | None, judgement: Judgement | None) -> dict[str, Any]:
    """Columns of a scenario's row. verdict: at the log's times, None where there may be none. judgement: of the paced one, corrected for
    how many there are."""
    if paced is None or judgement is None:
        return {}
    row: dict[str, Any] = {"pace_wait_h": paced.wait_h, "pace_change_share": paced.change_share}
    if paced.never_submitted:
        row["pace_never_submitted"] = paced.never_submitted
    if verdict is None:
        return row
    word = judgement.verdict.word
    row |= {"times_verdict": verdict, "pace_verdict": verdict_text(word, judgement.verdict.is_certain)}
    return row | ({"verdict": DEPENDS} if turns_round(plain_word(verdict), word) else {})
