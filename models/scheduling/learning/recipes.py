"""From a trace to a trained policy: the ways of learning that tracehouse knows, each with all its steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from models.judging.judge import judge, takes_over
from models.scheduling.arena import Arena, Windows
from models.scheduling.hindsight import search_orders
from models.scheduling.learning.evolution import evolve
from models.scheduling.learning.imitation import imitate
from models.scheduling.learning.ppo import train_by_ppo
from models.scheduling.learning.training import EpochReport, Lessons, TrainedPolicy
from models.scheduling.options import ImitationOptions, LearningMethod, PPOOptions, Recipe
from models.scheduling.search.priority_key import search_guarded_key, search_key, searched_jobs
from simulator.policies.agents import FIRST, NARROWEST, OLDEST, REJECT, SHORTEST, SMALLEST, UNFIT, Agent
from simulator.policies.network import KernelWeights
from simulator.policies.observation import AGENT_LAYOUTS, Layout, blank_network, layout_named
from simulator.policies.registry import Policy, network_policy, parse_policy

COPYING = ImitationOptions()
"""How the priority key is copied, however long the rest takes."""
SHARPNESS: dict[LearningMethod, float] = {"ppo": 40.0, "imitation": 40.0, "evolution": 1.0}
"""How much smallest area first counts in a network that starts from it. With 40, half the area is drawn seven times as often.
With 1, the perturbations of evolution strategies still change choices."""
VERDICT_SHARPNESS = 3.0
"""The same of an inspector's rule: one verdict in twenty is drawn against it."""
READ_BY_RULE = {OLDEST: ("wait", -1.0), SHORTEST: ("estimate", 1.0), NARROWEST: ("procs", 1.0), SMALLEST: ("area", 1.0)}
"""The input by which each picking rule decides, and whether the least (1) or the most goes first."""
NEVER_NO = 2.0
"""By how much more than the largest of those inputs no counts against itself, in units of the input."""
OF_WORKERS = ("workers", "families_done", "population", "lineage")
"""Parameters of a training on many workers that its recipe does not have."""
PPOTraining = Callable[
    [Arena, Lessons, PPOOptions, int, Callable[[EpochReport], None], Path | None, KernelWeights | None], TrainedPolicy
]
"""Trains by PPO; the arguments are the first ones of train_by_ppo."""


def learn(
    arena: Arena,
    lessons: Lessons,
    recipe: Recipe,
    seed: int,
    on_epoch: Callable[[EpochReport], None] = lambda report: None,
    checkpoint: Path | None = None,
    by_ppo: PPOTraining = train_by_ppo,
) -> TrainedPolicy:
    """Trains one policy. Same arguments and seed, same weights, also where it goes on from a checkpoint.

    by_ppo: how PPO is done, such as models.scheduling.workers.launching.OnWorkers. Raises ValueError for a recipe that cannot work.
    """
    if recipe.cautious and lessons.confirming is None:
        raise ValueError(
            "a cautious training needs jobs that confirm its choice, and the published protocols leave none: set cautious to false"
        )
    start = starting_weights(arena, lessons, recipe, seed)
    if recipe.method == "ppo":
        trained = by_ppo(arena, lessons, recipe.ppo, seed, on_epoch, checkpoint, start)
    elif recipe.method == "evolution":
        if start is None:
            raise ValueError(
                "evolution strategies improve a network that can do something: let them start from the key or from saf"
            )
        trained = evolve(arena, lessons, start, recipe.evolution, seed, on_epoch, checkpoint)
    else:
        trained = _imitate_hindsight(arena, lessons, recipe, seed, on_epoch, start)
    parameters = recipe.model_dump(include={"method", "start", "cautious", "accept_trade", recipe.method}) | {
        "seed": seed
    }
    parameters |= {name: trained.parameters[name] for name in OF_WORKERS if name in trained.parameters}
    weights, epoch, cost = trained.weights, trained.best_epoch, trained.validation_cost
    if recipe.cautious and start is not None and epoch > 0 and not is_confirmed(arena, lessons, recipe, weights, start):
        weights, epoch, cost = start, 0, float(arena.costs(start, lessons.validation).mean())
    return TrainedPolicy(weights, epoch, cost, trained.curve, parameters, trained.held_out)


def is_confirmed(arena: Arena, lessons: Lessons, recipe: Recipe, weights: KernelWeights, start: KernelWeights) -> bool:
    """Whether jobs that neither taught nor chose say that a policy is to replace the one that it started from."""
    assert lessons.confirming is not None
    ours, theirs = (arena.replayed(policy, lessons.confirming.scored) for policy in (weights, start))
    return takes_over(judge([ours], [theirs]), recipe.accept_trade, lambda: arena.chance_cloud(theirs))


def starting_weights(arena: Arena, lessons: Lessons, recipe: Recipe, seed: int) -> KernelWeights | None:
    """What training starts from, None for random weights. Raises ValueError for a layout that cannot start so."""
    _check_layout(arena, recipe)
    if arena.agent is not None:
        layout = layout_named(recipe.ppo.layout)
        sharpness = SHARPNESS[recipe.method] if arena.agent.picking.by else VERDICT_SHARPNESS
        return rule_network(arena.agent, layout, sharpness, seed) if recipe.start == "rule" else None
    starts = []
    if recipe.start in ("saf", "best"):
        starts.append(smallest_area_first(layout_named(recipe.ppo.layout), SHARPNESS[recipe.method], seed))
    if recipe.start in ("key", "best"):
        starts.append(copied_key(arena, lessons, recipe, seed))
    if recipe.start == "program":
        starts.append(program_network(layout_named(recipe.ppo.layout), SHARPNESS[recipe.method], seed))
    if len(starts) < 2:
        return starts[0] if starts else None
    few = lessons.windows.thinned(100)
    if lessons.after is not None:
        searched = searched_jobs(lessons.windows.scored.stop)
        few = Windows.blocks(searched.start, searched.stop)
    return min(starts, key=lambda weights: float(arena.costs(weights, few).mean()))


def _check_layout(arena: Arena, recipe: Recipe) -> None:
    """Raises ValueError where the network would read, or start from, what its decision does not have."""
    agents = AGENT_LAYOUTS.keys()
    if arena.agent is None and (recipe.ppo.layout in agents or recipe.start == "rule"):
        raise ValueError(
            "the layouts picking and inspecting and the start rule are for agents: choose others, or learn an agent"
        )
    if arena.agent is None:
        return
    usual = ("picking",) if arena.agent.picking.by else ("inspecting", "inspector-paper")
    if recipe.ppo.layout not in usual or recipe.start not in ("rule", "nothing"):
        raise ValueError(
            f"this agent starts from its rule, or from nothing, and reads what agents of its kind read: choose --layout {usual[0]}"
        )
    if recipe.method == "imitation":
        raise ValueError("agents learn by ppo or evolution: there is no search that could show them what to do")


def smallest_area_first(layout: Layout, sharpness: float, seed: int) -> KernelWeights:
    """A network that orders by area, smallest first.

    The first unit of every layer hands the area on. The others are as new, and count for nothing yet. Raises ValueError for a
    layout without the area.
    """
    if "area" not in layout.inputs:
        raise ValueError(
            "a network can start from saf only where it reads the area: choose --layout plain or informed, or another --start"
        )
    weights = _carrying({layout.inputs.index("area"): 1.0}, layout, seed)
    weights.w4[0] = -sharpness
    return weights


def program_network(layout: Layout, sharpness: float, seed: int) -> KernelWeights:
    """A network that orders as searched:balanced does: by the wait minus the setback, both as shares of the cap.

    The first unit of every layer hands that on, and one cap more, so that it is not negative. The others are as new, and count for
    nothing yet. Raises ValueError for another layout.
    """
    if "setback" not in layout.inputs:
        raise ValueError(
            "a network can start from a program only where it reads what the program does: choose --layout program"
        )
    weights = _carrying({layout.inputs.index("wait_of_cap"): 1.0, layout.inputs.index("setback"): -1.0}, layout, seed)
    weights.b1[0] = 1.0
    weights.w4[0] = sharpness
    return weights


def _carrying(reads: Mapping[int, float], layout: Layout, seed: int) -> KernelWeights:
    """A new network whose first unit of every layer hands a sum of inputs on, which no output counts yet."""
    import torch

    from models.scheduling.learning.networks import new_policy_network, to_weights

    torch.manual_seed(seed)
    weights = to_weights(new_policy_network("kernel", len(layout.inputs)), layout)
    layers = ((weights.w1, weights.b1), (weights.w2, weights.b2), (weights.w3, weights.b3))
    for (matrix, bias), carried in zip(layers, (reads, {0: 1.0}, {0: 1.0}), strict=True):
        matrix[:, 0], bias[0] = 0.0, 0.0
        for row, weight in carried.items():
            matrix[row, 0] = weight
    weights.w4[:] = 0.0
    return weights


def rule_network(agent: Agent, layout: Layout, sharpness: float, seed: int) -> KernelWeights:
    """A network that picks, or inspects, as the agent's rule does. It never picks none.

    `first` picks by the longest wait, which is the first by slot where the policy is FCFS and the window has a front alone. The first
    units of every layer hand the inputs on; the others are as new, and count for nothing yet. Raises ValueError for a layout
    that lacks what the rule reads, and for a rule that no network can start from.
    """
    import torch

    from models.scheduling.learning.networks import new_policy_network, to_weights

    if agent.picking.by:
        name, sign = READ_BY_RULE[OLDEST if agent.picking.by == FIRST else agent.picking.by]
        units = [({name: sign, "answers_no": NEVER_NO}, 1.0 if sign < 0.0 else 0.0)]
    elif agent.inspecting.by == UNFIT:  # to accept what does not fit, and to reject what does
        units = [({"fits": -1.0, "answers_no": -1.0}, 1.0), ({"fits": 1.0, "answers_no": 1.0}, -1.0)]
    else:
        units = [({"answers_no": -1.0}, 1.0)] if agent.inspecting.by == REJECT else [({"answers_no": 1.0}, 0.0)]
    missing = [name for reads, _ in units for name in reads if name not in layout.inputs]
    if missing:
        raise ValueError(
            f"a network can start from this rule only where it reads {', '.join(missing)}: choose another layout"
        )
    torch.manual_seed(seed)
    weights = to_weights(new_policy_network("kernel", len(layout.inputs)), layout)
    weights.w4[:] = 0.0
    for unit, (reads, bias) in enumerate(units):
        for matrix, biases in ((weights.w1, weights.b1), (weights.w2, weights.b2), (weights.w3, weights.b3)):
            matrix[:, unit], biases[unit] = 0.0, 0.0
            matrix[unit, unit] = 1.0
        weights.w1[unit, unit], weights.b1[unit] = 0.0, bias
        for name, weight in reads.items():
            weights.w1[layout.inputs.index(name), unit] = weight
        weights.w4[unit] = -sharpness
    return weights


def copied_key(arena: Arena, lessons: Lessons, recipe: Recipe, seed: int) -> KernelWeights:
    """A network that makes the choices of the priority key that is best on the jobs to learn from."""
    rng = np.random.default_rng([seed, 0])
    if lessons.after is None:
        key = search_key(arena, lessons.windows.some(rng, recipe.key.windows), recipe.key, seed).best
    else:
        key = search_guarded_key(arena.on_processors, searched_jobs(lessons.windows.scored.stop), recipe.key, seed).best
    shown = lessons.windows.some(rng, recipe.shown_windows)
    if lessons.after is not None:
        shown = arena.with_backlogs(_accounting(key.policy, recipe), shown, lessons.after)
    return imitate(arena, [shown], [key.scores(arena.jobs)], layout_named(recipe.ppo.layout), COPYING, seed)


def _accounting(policy: str | Policy, recipe: Recipe) -> Policy:
    """The policy, in whose replay users' usage is kept if the network reads it: what shows a network states must know them all."""
    reads = network_policy(blank_network(layout_named(recipe.ppo.layout)))
    return replace(parse_policy(policy) if isinstance(policy, str) else policy, half_life_s=reads.half_life_s)


def _imitate_hindsight(
    arena: Arena,
    lessons: Lessons,
    recipe: Recipe,
    seed: int,
    on_epoch: Callable[[EpochReport], None],
    start: KernelWeights | None,
) -> TrainedPolicy:
    """Shows the half of the windows that hindsight improves most. The others teach nothing."""
    rng = np.random.default_rng([seed, 1])
    windows = lessons.windows.some(rng, recipe.hindsight_windows)
    windows = Windows(np.unique(windows.first), windows.jobs)
    if lessons.after is not None:  # the backlog of the order that the search begins with
        windows = arena.with_backlogs(_accounting("SAF", recipe), windows, lessons.after)
    jobs = arena.jobs
    area = jobs.estimate.astype(np.float64) * jobs.procs
    orders = search_orders(arena, windows, area, recipe.hindsight, seed)
    gain = (orders.first_cost - orders.cost) / np.maximum(np.abs(orders.first_cost), 1e-9)
    shown, teachers = [], []
    for k in np.sort(np.argsort(-gain, kind="stable")[: max(len(windows) // 2, 1)]):
        scores = np.zeros(len(jobs))
        besides, scores_besides = orders.others[k]
        scores[besides] = scores_besides
        scores[windows.first[k] : windows.first[k] + windows.jobs] = orders.score[k]
        shown.append(windows.taken(np.array([k])))
        teachers.append(scores)
    curve: list[EpochReport] = []

    def on_pass(loss: float, share: float) -> None:
        curve.append(EpochReport(len(curve) + 1, "all", 0, loss, None, 0.0, 0.0, 1))
        on_epoch(curve[-1])

    weights = imitate(arena, shown, teachers, layout_named(recipe.ppo.layout), recipe.imitation, seed, on_pass, start)
    cost = float(arena.costs(weights, lessons.validation).mean())
    return TrainedPolicy(weights, len(curve), cost, curve, {})
