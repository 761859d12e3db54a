"""Trials of RLSchert's experiment: every heuristic and every trained scheduler on the same sequences, and their comparison.

Training of all schedulers of an experiment, side by side on all cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from models.scheduling.arena import Windows
from models.scheduling.comparison import paired_difference
from models.side_by_side import work_side_by_side
from papers.rlschert.cluster import Setting, SlotOutcome, cost_of, run_heuristic_on, take_sequences
from papers.rlschert.plan import SWEEP_SEED, TEST_SEED, TRAINED, LadderTask, RLSchertPlan, Scheduler
from papers.rlschert.rules import Sequences
from papers.rlschert.view import HEURISTICS, WHOLE_QUEUE_HEURISTICS
from papers.rlschert.workload import draw_sequences

if TYPE_CHECKING:
    from papers.rlschert.training import IterationReport, RLSchertPolicy


@dataclass(frozen=True)
class TrainedScheduler:
    """A scheduler that has learned, and its training curve. name, kill: see `plan.Scheduler`."""

    experiment: str
    name: str
    kill: str
    seed: int
    policy: RLSchertPolicy
    curve: list[IterationReport]

    def describe(self) -> str:
        """A line for a log."""
        costs = [report.validation for report in self.curve if report.validation is not None]
        course = f"validation {costs[0]:.2f} to {min(costs):.2f}"
        return f"{self.experiment}, {self.name}, kill {self.kill}, seed {self.seed}: {course}"


def train_side_by_side(tasks: list[LadderTask], on_progress: Callable[[int], None]) -> Iterator[TrainedScheduler]:
    """Trains everything, and yields it in the order of the tasks. on_progress: gets how many iterations are done."""
    done = 0

    def count(task: LadderTask, report: IterationReport) -> None:
        nonlocal done
        done += 1
        on_progress(done)

    for trained in work_side_by_side(train_ladder, tasks, count):
        yield from trained


def train_ladder(task: LadderTask, on_iteration: Callable[[IterationReport], None]) -> list[TrainedScheduler]:
    """Trains all schedulers of a task. The one that learns to kill has RLSchert without killing as its teacher."""
    from papers.rlschert.training import train_rlschert

    policies: dict[Scheduler, RLSchertPolicy] = {}
    trained = []
    for (name, kill), setting in task.settings.items():
        teacher = policies["RLSchert", "none"] if kill == "learned" else None
        policy, curve = train_rlschert(
            task.pool, task.validation, setting, task.options, task.seed, teacher, on_iteration
        )
        policies[name, kill] = policy
        trained.append(TrainedScheduler(task.experiment, name, kill, task.seed, policy, curve))
    return trained


# --- trials


LADDER: tuple[Scheduler, ...] = (
    ("RLSchert", "learned"),
    ("RLSchert", "rule"),
    ("RLSchert", "none"),
    ("DeepRM", "none"),
)
WHOLE_QUEUE: Scheduler = ("SJF, whole queue", "none")
STOPPED: Scheduler = ("SJF, whole queue", "stopping")
STOPPED_HEURISTICS = ("SJF", "SAF", *WHOLE_QUEUE_HEURISTICS)
"""Heuristics that take short jobs first, for which others can make way."""


@dataclass(frozen=True)
class Trials:
    """What became of the same sequences under several schedulers.

    setting: what the experiment varies. part: "test", or "training" for sequences of the training pool. outcomes: by name,
    kind of killing and seed.
    """

    experiment: str
    setting: float
    part: str
    outcomes: dict[tuple[str, str, int], SlotOutcome]


@dataclass(frozen=True)
class SchedulerComparison:
    """Mean cost of one scheduler, and how much more or less it is than a rival's on the same sequences, with a 95 % interval.

    low, high: None where there are too few sequences for an interval.
    """

    scheduler: Scheduler
    rival: Scheduler
    cost: float
    difference: float
    low: float | None
    high: float | None


def try_everything(plan: RLSchertPlan, trained: Sequence[TrainedScheduler]) -> Iterator[Trials]:
    """All trials of the plan, one group after the other; schedulers are not trained again."""
    schedulers = [one for one in trained if one.experiment == "main"]
    rate, test = plan.workload.job_rate, plan.test()
    pool = plan.pool()
    seen = take_sequences(pool, np.arange(min(plan.test_sequences, len(pool.arrive))))
    yield Trials("main", rate, "training", _try_all(plan, schedulers, seen))
    yield Trials("main", rate, "test", _try_all(plan, schedulers, test))
    yield from _sweeps(plan, schedulers, test)
    if plan.completion_seeds:
        for_completion = [one for one in trained if one.experiment == "completion"]
        yield Trials("completion", rate, "test", _try_all(plan, for_completion, test))
    if plan.network_iterations:
        yield Trials("networks", rate, "test", _try_networks(plan, trained, test))


def _sweeps(plan: RLSchertPlan, schedulers: list[TrainedScheduler], test: Sequences) -> Iterator[Trials]:
    """Figures 10 and 11, Tables 9 and 11, and what a kill costs."""
    count = plan.test_sequences
    for rate in plan.job_rates:
        sequences = draw_sequences(replace(plan.workload, job_rate=rate), count, SWEEP_SEED)
        yield Trials("load", rate, "test", _try_all(plan, schedulers, sequences))
    for procs in plan.cluster_sizes:
        yield Trials("resources", procs, "test", _try_all(plan, schedulers, test, procs=procs))
    for cost in plan.preemption_costs:
        yield Trials("preemption", cost, "test", _try_all(plan, schedulers, test, preemption_cost=cost))
    for share in plan.predictable_shares:
        sequences = draw_sequences(replace(plan.workload, predictable_share=share), count, TEST_SEED)
        yield Trials("predictable", share, "test", _try_all(plan, schedulers, sequences))
    mixed = replace(plan.workload, predictable_share=0.5, other_error=plan.other_error)
    sequences = draw_sequences(mixed, count, TEST_SEED)
    yield Trials("mixed", 0.5, "test", _try_all(plan, schedulers, sequences))


def _try_all(
    plan: RLSchertPlan, schedulers: list[TrainedScheduler], sequences: Sequences, **changes: int
) -> dict[tuple[str, str, int], SlotOutcome]:
    """Every heuristic, without and with killing by rule, some with the stopping rule, and every trained scheduler. changes: of
    the plan's cluster."""
    outcomes: dict[tuple[str, str, int], SlotOutcome] = {}
    for name in HEURISTICS + WHOLE_QUEUE_HEURISTICS:
        of_name = {"with_remaining": name in WHOLE_QUEUE_HEURISTICS}
        for kill in ("none", "rule"):
            setting = _setting(plan, changes | of_name | {"kill_by_rule": kill == "rule"})
            outcomes[name, kill, 1] = run_heuristic_on(sequences, setting, name)
        if name in STOPPED_HEURISTICS:
            setting = _setting(plan, changes | _stopping(plan))
            outcomes[name, "stopping", 1] = run_heuristic_on(sequences, setting, name)
    for one in schedulers:
        scheduler = (one.name, one.kill)
        kinds = {one.kill: TRAINED[scheduler]}
        if scheduler == ("RLSchert", "none"):
            kinds["stopping"] = _stopping(plan)
        for kill, rules in kinds.items():
            outcome = one.policy.run(sequences, _setting(plan, changes | rules), plan.options.max_actions)
            outcomes[one.name, kill, one.seed] = outcome
    return outcomes


def _setting(plan: RLSchertPlan, changes: dict[str, Any]) -> Setting:
    return Setting(**{"procs": plan.procs, "preemption_cost": plan.preemption_cost} | changes)


def _stopping(plan: RLSchertPlan) -> dict[str, Any]:
    return {"stop_within": plan.stop_within, "stop_ratio": plan.stop_ratio}


def _try_networks(
    plan: RLSchertPlan, trained: Sequence[TrainedScheduler], test: Sequences
) -> dict[tuple[str, str, int], SlotOutcome]:
    """Table 3: RLSchert without killing, by network and algorithm."""
    setting = _setting(plan, TRAINED["RLSchert", "none"])
    networks = [one for one in trained if one.experiment == "networks"]
    return {(one.name, one.kill, one.seed): one.policy.run(test, setting) for one in networks}


def compare_schedulers(trials: Trials) -> list[SchedulerComparison]:
    """Each step of the ladder against the next, its last against the best heuristic of the paper, with the rule or without, and
    all against SAF. Then the rivals that see the whole queue: all against them, and one against the other."""
    goal = "completion" if trials.experiment == "completion" else "slowdown"
    costs: dict[Scheduler, list[np.ndarray]] = {}
    for (name, kill, _), outcome in trials.outcomes.items():
        costs.setdefault((name, kill), []).append(cost_of(outcome, goal))
    means = {scheduler: float(np.mean(values)) for scheduler, values in costs.items()}
    of_the_paper = [(name, kill) for name, kill in means if name in HEURISTICS and kill != "stopping"]
    best = min(of_the_paper, key=means.__getitem__)
    ladder = [scheduler for scheduler in LADDER if scheduler in costs]
    pairs = list(zip(ladder, [*ladder, best][1:], strict=True)) + [(one, ("SAF", "none")) for one in ladder]
    pairs += [(one, rival) for one in ladder for rival in (WHOLE_QUEUE, STOPPED)]
    pairs += [(STOPPED, WHOLE_QUEUE), (WHOLE_QUEUE, best), (WHOLE_QUEUE, ("SAF, whole queue", "none"))]
    if ("RLSchert", "stopping") in costs:
        pairs += [(("RLSchert", "learned"), ("RLSchert", "stopping")), (("RLSchert", "stopping"), STOPPED)]
    windows = Windows(np.arange(len(costs[best][0])), 1)
    comparisons = []
    for one, rival in dict.fromkeys(pairs):
        apart = paired_difference(np.stack(costs[one]), np.stack(costs[rival]), windows, 1)
        comparisons.append(SchedulerComparison(one, rival, means[one], apart.mean, apart.low, apart.high))
    return comparisons
