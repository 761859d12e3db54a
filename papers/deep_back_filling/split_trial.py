"""What the study of split windows trains and tests, kept in a folder: agents with each window, and the paper's rivals."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from models.scheduling.learning.recipes import learn
from models.scheduling.learning.training import Lessons
from models.scheduling.options import AGENT_PPO, PAPER_INSPECTOR, Recipe
from papers.deep_back_filling.options import DeepBackFillingOptions
from papers.deep_back_filling.protocol import (
    RIVALS,
    ProtocolMetrics,
    Rival,
    protocol_metrics,
    protocol_starts,
    try_rival,
    window_splits,
)
from papers.deep_back_filling.study import PROCS
from papers.deep_back_filling.trials import trial_starts
from papers.markdown import markdown
from papers.rlscheduler.inspecting import inspector_base
from simulator.agents.batch import WindowRules, replay_windows
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import CANCELLED
from simulator.policies.agents import parse_agent
from simulator.policies.registry import Policy, assisted

PAPER = DeepBackFillingOptions()
"""Episodes as in the paper, behind what is learned from."""
SLOTS = (8, 10, 16, 20, 32, 64, 127)
"""The paper's M. A network of ours sees 127 jobs at most, where the paper has 128."""
SEEDS = (1, 2, 3, 4, 5)
EPOCHS, INSPECTOR_EPOCHS = 15, 25
LESSON_JOBS, CHOOSING_WINDOWS = 1000, 16
CLOSED_JOBS = 128
"""Jobs in a window of SchedInspector's training, and in its closed test."""
INSPECTED = ("SJF", "F1")
JOB_SLOTS, JOB_EPISODES = 10, 1000
"""Of figure 7."""
PROC_CLASSES = {"1 to 8": 8, "9 to 32": 32, "33 to 128": 128, "over 128": PROCS}
"""Classes of processors and the most that each has."""
Episodes = dict[str, Any]
"""Of each metric the values of all episodes."""


class SplitTrial:
    """Everything that the tables and pictures need, kept in a folder where one is given."""

    def __init__(
        self,
        jobs: Jobs,
        folder: Path | None,
        seeds: tuple[int, ...] = SEEDS,
        slots: tuple[int, ...] = SLOTS,
        options: DeepBackFillingOptions = PAPER,
    ) -> None:
        """jobs: the trace. options: how long its episodes are, and where they begin."""
        self.jobs, self.seeds, self.slots = jobs, seeds, slots
        self._folder, self._options = folder, options
        self._inspectors: dict[tuple[str, int], Policy] = {}
        self.first = trial_starts(len(jobs), options)

    def rivals(self) -> dict[str, list[Episodes]]:
        """The paper's rivals by name: rules, and of inspectors each seed. Those by RLScheduler's rules are tested online and closed."""
        rows = {name: [self._kept(f"rival-{name}", partial(self._rival, rival))] for name, rival in RIVALS.items()}
        for base in INSPECTED:
            for where in ("online", "closed"):
                test = partial(self._by_own_rules, is_closed=where == "closed")
                name = f"{base}, RLScheduler's rules, {where}"
                rows[name] = [self._kept(name, partial(test, partial(inspector_base, base)))]
                name = f"inspector on {base}, {where}"
                rows[name] = [
                    self._kept(f"{name}, {seed}", partial(test, partial(self._inspector, base, seed)))
                    for seed in self.seeds
                ]
        return rows

    def agents(self) -> dict[str, list[Episodes]]:
        """By window: the rule's episodes, and those of each seed of the agent."""
        rows: dict[str, list[Episodes]] = {}
        for slots in self.slots:
            for front, back in window_splits(slots).values():
                rows[f"{front}-{back}, rule"] = [self.window(front, back, None)]
                rows[f"{front}-{back}, agent"] = [self.window(front, back, seed) for seed in self.seeds]
        return rows

    def window(self, front: int, back: int, seed: int | None) -> Episodes:
        """Test episodes of the agent with this window, or of its rule where the seed is None. Under `start` are the start times of all
        jobs in one continuous replay, seconds."""

        def made() -> Episodes:
            policy = self.policy(front, back, seed)
            start = self._starts(policy, self.first)
            tested = protocol_metrics(self.jobs, PROCS, self.first, start, self._options.placed, front + back)
            return lists_of(tested) | {"start": replay(self.jobs, PROCS, policy).start.tolist()}

        return self._kept(f"{front}-{back}-{seed or 'rule'}", made)

    def policy(self, front: int, back: int, seed: int | None) -> Policy:
        """The agent, or the rule that it starts from."""
        agent = parse_agent(f"pick:by=shortest,from=all,window={front}-{back}")
        if seed is None:
            return assisted("FCFS", agent)
        half = len(self.jobs) // 2
        arena = Arena(self.jobs, PROCS, parse_goal("wait"), "easy", agent=agent)
        windows = Windows.spread(0, half, LESSON_JOBS, 4000)
        choosing = Windows.spread(0, half, LESSON_JOBS, CHOOSING_WINDOWS)
        recipe = Recipe(method="ppo", start="rule", cautious=False, ppo=AGENT_PPO).with_epochs(EPOCHS)
        trained = learn(arena, Lessons(windows, windows.taken(np.arange(0)), choosing), recipe, seed)
        return arena.policy_of(trained.weights)

    def classes(self, front: int, back: int, seed: int | None) -> dict[str, list[list[float]]]:
        """Figure 7: of each class of processors, for each job that arrived: processors, run time, times placed, summed wait."""

        def made() -> dict[str, list[list[float]]]:
            first = protocol_starts(len(self.jobs), len(self.jobs) // 2, JOB_EPISODES, self._options.later)
            start = self._starts(self.policy(front, back, seed), first)
            return {"jobs": placed_by_job(self.jobs, first, start, self._options.placed)}

        return self._kept(f"classes-{front}-{back}-{seed or 'rule'}", made)

    def classes_table(self) -> str:
        """Mean waits of placed jobs, and the share of arrived jobs that are placed, by class of processors."""
        lines = []
        for front, back in window_splits(JOB_SLOTS).values():
            for name, seed in (("rule", None), ("agent, seed 1", 1)):
                rows = np.array(self.classes(front, back, seed)["jobs"])
                cells, least = [], 0
                for most in PROC_CLASSES.values():
                    part = rows[(rows[:, 0] > least) & (rows[:, 0] <= most)]
                    placed = part[:, 2].sum()
                    cells.append(
                        f"{part[:, 3].sum() / max(placed, 1) / 3600:,.1f}; {placed / max(part[:, 4].sum(), 1):.2f}"
                    )
                    least = most
                lines.append([f"{front}-{back}, {name}", *cells])
        return markdown(["window", *(f"{width} processors" for width in PROC_CLASSES)], lines)

    def _rival(self, rival: Rival) -> Episodes:
        return lists_of(try_rival(rival, self.jobs, PROCS, self.first, self._options.placed, self._options.later))

    def _inspector(self, base: str, seed: int) -> Policy:
        """SchedInspector with its own rules, inputs, rewards and hyper-parameters, from random weights. It is tested twice."""
        if (base, seed) not in self._inspectors:
            self._inspectors[base, seed] = self._learned_inspector(base, seed)
        return self._inspectors[base, seed]

    def _learned_inspector(self, base: str, seed: int) -> Policy:
        half = len(self.jobs) // 2
        agent = parse_agent("inspect:accept")
        arena = Arena(
            self.jobs, PROCS, parse_goal("bsld"), "easy", "rlscheduler", agent=agent, base=inspector_base(base)
        )
        windows = Windows.spread(0, half, CLOSED_JOBS, 4000)
        choosing = Windows.spread(0, half, 2 * CLOSED_JOBS, CHOOSING_WINDOWS)
        recipe = Recipe(start="nothing", cautious=False, ppo=PAPER_INSPECTOR).with_epochs(INSPECTOR_EPOCHS)
        return arena.policy_of(
            learn(arena, Lessons(windows, windows.taken(np.arange(0)), choosing), recipe, seed).weights
        )

    def _by_own_rules(self, policy: Callable[[], Policy], is_closed: bool) -> Episodes:
        options = self._options
        jobs, placed = (CLOSED_JOBS, CLOSED_JOBS) if is_closed else (options.later, options.placed)
        rules = WindowRules("easy", rule_set="rlscheduler")
        start, _ = replay_windows(self.jobs, PROCS, self.first, jobs, policy(), rules)
        return lists_of(protocol_metrics(self.jobs, PROCS, self.first, start, placed))

    def _starts(self, policy: Policy, first: NDArray[np.int64]) -> NDArray[np.int64]:
        return replay_windows(self.jobs, PROCS, first, self._options.later, policy, WindowRules("easy"))[0]

    def _kept(self, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What the folder has under this name, or else what is made now."""
        file = self._folder / f"{name}.json" if self._folder else None
        if file is not None and file.exists():
            return json.loads(file.read_text())
        made = make()
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            unfinished = file.with_suffix(".part")
            unfinished.write_text(json.dumps(made))
            unfinished.replace(file)
        print(f"{name}: done", file=sys.stderr, flush=True)
        return made


def lists_of(metrics: ProtocolMetrics) -> Episodes:
    """The metrics as they are kept."""
    return {metric: values.tolist() for metric, values in metrics._asdict().items()}


def placed_by_job(
    jobs: Jobs, first: NDArray[np.int64], start: NDArray[np.int64], ends_at: int = 1000
) -> list[list[float]]:
    """Of each job of the trace that arrived in an episode: processors, run time in s, times placed, summed wait in s when it was placed,
    times arrived. first, start: as in papers.deep_back_filling.protocol.protocol_metrics. ends_at: jobs placed that end an episode."""
    placed, waited, arrived = np.zeros((3, len(jobs)))
    for position, of_episode in zip(first.tolist(), start, strict=True):
        when = np.where(of_episode == CANCELLED, np.iinfo(np.int64).max, of_episode)
        order = np.argsort(when, kind="stable")[:ends_at]
        over = of_episode[order[-1]]
        submit = jobs.submit[position : position + len(of_episode)]
        placed[position + order] += 1
        waited[position + order] += of_episode[order] - submit[order]
        arrived[position : position + int((submit <= over).sum())] += 1
    seen = arrived > 0
    columns = (jobs.procs[seen], jobs.runtime[seen], placed[seen], waited[seen], arrived[seen])
    return np.column_stack(columns).astype(np.float64).tolist()
