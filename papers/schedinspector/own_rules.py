"""SchedInspector's own protocol: its rules, its inputs and its reward, on windows that begin on an empty cluster. Only the windows that
test are later than all that was learned from, where the paper draws them from the whole log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from assets.common.trace import Trace
from assets.experiments.tables import ExperimentEntry, comparisons, costs_of, trained_entries
from assets.policies.training import PolicyTask, TrainingSetup
from models.scheduling.arena import Windows
from models.scheduling.learning.training_run import Split
from models.scheduling.options import PAPER_INSPECTOR, Recipe
from simulator.policies.agents import parse_agent
from simulator.policies.registry import assisted

if TYPE_CHECKING:
    import dagster as dg

LEARNED_JOBS, TESTED_JOBS = 128, 256
"""Jobs in a window to learn from, and in one that chooses or tests; the paper's."""
CHOOSING_WINDOWS, TESTING_WINDOWS = 20, 100


@dataclass(frozen=True)
class InspectorTrials:
    """What is trained. bases: names in papers.rlscheduler.inspecting.INSPECTOR_BASES. epochs, seeds: of each training."""

    bases: list[str]
    epochs: int
    seeds: list[int]
    goal: str = "bsld"


def own_split(jobs: int) -> Split:
    """The windows of a log of so many jobs: the first 40 % teach, 10 % choose, and the later half tests."""
    chosen, tested = int(0.4 * jobs), int(0.5 * jobs)
    return Split(
        Windows.spread(0, chosen, min(LEARNED_JOBS, chosen // 2), 4000),
        Windows.spread(chosen, tested, min(TESTED_JOBS, (tested - chosen) // 2), CHOOSING_WINDOWS),
        None,
        Windows.spread(tested, jobs, min(TESTED_JOBS, (jobs - tested) // 2), TESTING_WINDOWS),
        tested,
    )


def inspectors_by_own_rules(
    context: dg.AssetExecutionContext, trace: Trace, trials: InspectorTrials
) -> tuple[pl.DataFrame, pl.DataFrame, list[dict[str, Any]]]:
    """Trains inspectors from random weights and tests them beside their base, the rule that rejects what does not fit, and the same
    base under the standard rules. Returns rows of experiments.window_costs, of experiments.comparisons and of experiments.policies."""
    split = own_split(trace.rows.height)
    recipe = Recipe(start="nothing", cautious=False, ppo=PAPER_INSPECTOR).with_epochs(trials.epochs)
    costs, differences, stored = [], [], []
    for backfill in ("none", "easy"):
        entries: list[ExperimentEntry] = []
        for name in trials.bases:
            task = PolicyTask(trials.goal, backfill, rules="rlscheduler", agent="inspect:accept", base=name)
            setup = TrainingSetup.on_split(trace, task, split)
            arena = setup.arena
            standard = replace(arena, rules="standard", agent=None)
            rule = assisted(arena.base, parse_agent("inspect:unfit"))
            for policy, values in (
                (name, arena.costs(arena.base, split.judge)),
                (f"{name}, inspect:unfit", arena.costs(rule, split.judge)),
                (f"{name}, standard rules", standard.costs(arena.base, split.judge)),
            ):
                entries.append(ExperimentEntry(policy, "requested", None, None, values))
            learned, policies = trained_entries(context, setup, "inspector", [recipe], trials.seeds)
            entries += learned
            stored += policies
        labels = {"experiment": "inspector", "rules": "rlscheduler", "backfill": backfill, "goal": trials.goal}
        rivals = [(entry.policy, entry.estimates) for entry in entries if entry.seed is None]
        costs.append(costs_of(entries, split.judge, labels))
        differences.append(comparisons(entries, split.judge, labels, rivals))
    return pl.concat(costs), pl.concat(differences), stored
