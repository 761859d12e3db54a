"""Agents that pick or inspect: `python -m studies agents`.

Prints how many decisions of a network a CPU-second has, and what rules, hindsight and learned agents make of closed windows of Lublin-1:
50 windows of 1,000 jobs among the later half of the log, each on an empty cluster, until all its jobs have started. Agents learn from
the earlier half. Windows that begin empty flatter whoever lets jobs starve, so the longest wait stands beside the means.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.logs import timed_logs
from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from models.scheduling.hindsight import search_orders
from models.scheduling.learning.recipes import learn, rule_network
from models.scheduling.learning.training import Lessons
from models.scheduling.options import AGENT_PPO, EvolutionOptions, HindsightOptions, Recipe
from simulator.jobs.jobs import Jobs
from simulator.metrics.metrics import bounded_slowdown
from simulator.policies.agents import parse_agent
from simulator.policies.observation import layout_named
from simulator.policies.registry import Policy

LUBLIN, PROCS = "lublin_256.swf.gz", 256
TIMED = {
    "pick:by=shortest,window=64-63": "picking",
    "pick:by=shortest,guard=none,window=64-63": "picking",
    "pick:by=shortest,from=all,window=10-10": "picking",
    "inspect:accept": "inspecting",
}
RULES = {
    "FCFS + EASY": ("FCFS", "easy"),
    "EASY-SJBF": ("FCFS", "easy-sjbf"),
    "conservative": ("FCFS", "conservative"),
    "SJF + EASY": ("SJF", "easy"),
    "SAF + EASY": ("SAF", "easy"),
    "submit + 8 r sqrt(p), EASY": ("formula:-(submit + 8*estimate*sqrt(procs))", "easy"),
    "FCFS, first fit": ("FCFS", "any"),
    "SJF, first fit": ("SJF", "any"),
    "SAF, first fit": ("SAF", "any"),
    **{f"SAF, first fit, {kept} kept free": ("SAF", f"pick:from=all,keep_free={kept}") for kept in (16, 64, 96)},
}
LEARNED = ("pick:by=shortest,window=64-63", "pick:by=smallest,from=all,window=64-63")
SEEDS = (1, 2)
SEARCHED_WINDOWS, ORDERS = 12, 6000


def main() -> None:
    logs = timed_logs()
    print("decisions of a network in a CPU-second, with every choice drawn and recorded\n")
    print(f"| log | {' | '.join(TIMED)} |\n|---{'|---' * len(TIMED)}|")
    for name, (jobs, procs) in logs.items():
        print(f"| {name} | {' | '.join(f'{rate(jobs, procs, text):,.0f}' for text in TIMED)} |", flush=True)
    if LUBLIN not in logs:
        return
    jobs, _ = logs[LUBLIN]
    print(
        "\nclosed windows of Lublin-1\n\n| who decides | bounded slowdown | wait, s | longest wait, h | use |\n|---|---|---|---|---|"
    )
    windows = Windows(np.linspace(5000, len(jobs) - 1000, 50).astype(np.int64), 1000)
    for name, (policy, backfill) in RULES.items():
        arena = Arena(jobs, PROCS, parse_goal("bsld"), backfill)
        print_row(name, arena, windows, arena.starts(policy, windows))
    print_hindsight(jobs, windows.thinned(SEARCHED_WINDOWS))
    for text in LEARNED:
        for method in ("ppo", "evolution"):
            for seed in SEEDS:
                arena, policy = learned(jobs, text, method, seed)
                print_row(f"`{text}`, {method}, seed {seed}", arena, windows, arena.starts(policy, windows))


def rate(jobs: Jobs, procs: int, text: str) -> float:
    """Decisions of windows of 1,000 jobs in a CPU-second."""
    agent = parse_agent(text)
    arena = Arena(jobs, procs, parse_goal("bsld"), threads=1, agent=agent)
    network = rule_network(agent, layout_named(TIMED[text]), 10.0, 1)
    windows = Windows.spread(0, len(jobs), 1000, 50)
    arena.sample(network, windows, 1)
    begin = time.process_time()
    decisions = arena.sample(network, windows, 2).decisions
    return decisions / (time.process_time() - begin)


def print_row(name: str, arena: Arena, windows: Windows, start: np.ndarray) -> None:
    """Means over the windows."""
    where = windows.first[:, None] + np.arange(windows.jobs)
    jobs = arena.jobs
    wait, runtime = start - jobs.submit[where], jobs.runtime[where]
    slowdown = bounded_slowdown(wait.astype(np.float64), runtime).mean()
    span = (start + runtime).max(axis=1) - jobs.submit[where[:, 0]]
    use = ((runtime * jobs.procs[where]).sum(axis=1) / (span * PROCS)).mean()
    longest = wait.max(axis=1).mean() / 3600
    print(f"| {name} | {slowdown:.1f} | {wait.mean():,.0f} | {longest:.0f} | {use:.2f} |", flush=True)


def print_hindsight(jobs: Jobs, windows: Windows) -> None:
    """What annealed orders of the same jobs, which know the future, make of some of the windows, and the rule that they began with."""
    arena = Arena(jobs, PROCS, parse_goal("bsld"), "any")
    begin_with = jobs.estimate.astype(np.float64)
    orders = search_orders(arena, windows, begin_with, HindsightOptions(orders=ORDERS), 1)
    print(f"| SJF, first fit, on {len(windows)} of the windows | {orders.first_cost.mean():.1f} | | | |")
    print(
        f"| the same in the best order that {ORDERS:,} trials with hindsight give | {orders.cost.mean():.1f} | | | |",
        flush=True,
    )


def learned(jobs: Jobs, text: str, method: str, seed: int) -> tuple[Arena, Policy]:
    """An agent that has learned from closed windows of the earlier half, kept by its cost on some of them."""
    half = len(jobs) // 2
    arena = Arena(jobs, PROCS, parse_goal("bsld"), "easy", agent=parse_agent(text))
    windows = Windows.spread(0, half, 1000, 4000)
    lessons = Lessons(
        windows, windows.taken(np.arange(0)), Windows(np.linspace(0, half - 1000, 60).astype(np.int64), 1000)
    )
    recipe = Recipe(method="ppo" if method == "ppo" else "evolution", start="rule", cautious=False)
    recipe = recipe.model_copy(
        update={
            "ppo": AGENT_PPO.model_copy(update={"epochs": 40}),
            "evolution": EvolutionOptions(generations=60, windows=24),
        }
    )
    trained = learn(arena, lessons, recipe, seed)
    return arena, arena.policy_of(trained.weights)
