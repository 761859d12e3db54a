"""Deep Back-Filling's figures 4 to 7 with agents of our own mode on Lublin-1: `python -m papers.deep_back_filling.split_windows`.

Each window of 8 to 128 slots is split in four ways, and each split has five trainings by PPO. An agent starts from the rule "shortest
first" in its window. It learns from the earlier half of the log, in closed windows in which the wait of every job counts. It is tested in
the paper's episodes, which end when 1,000 jobs are placed, among the later half. The rule and the agents have the same episodes.
They are also judged on the later half of one continuous replay, as all policies here are.

Beside them are the paper's rivals: FCFS, both rules that it may mean by SJF, LCFS, and SchedInspector on SJF and F1. An inspector learns
by its own rules. It is tested online, as agents are, and in closed windows of 128 jobs ("offline" in the paper).

    python -m papers.deep_back_filling.split_windows --folder FOLDER

keeps what every training gave in FOLDER, and an interrupted run goes on from there. `--pictures` also draws the figures of the page.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.judging.judge import Replayed, judge
from models.judging.panel import scored_after
from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from models.scheduling.learning.recipes import learn
from models.scheduling.learning.training import Lessons
from models.scheduling.options import AGENT_PPO, PAPER_INSPECTOR, Recipe
from papers.archive import SHARED
from papers.deep_back_filling.options import DeepBackFillingOptions
from papers.deep_back_filling.protocol import (
    ProtocolMetrics,
    protocol_metrics,
    protocol_starts,
)
from papers.deep_back_filling.rivals import RIVALS, Rival, try_rival, window_splits
from papers.deep_back_filling.study import COLUMNS, DIGITS, HOURS, PROCS
from papers.deep_back_filling.trials import trial_starts
from papers.markdown import markdown
from papers.rlscheduler.inspecting import inspector_base
from papers.schedinspector.study import jobs_of_window_tables
from simulator.agents.batch import WindowRules, replay_windows
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import CANCELLED, Schedule
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
WIDTHS = {"1 to 8": 8, "9 to 32": 32, "33 to 128": 128, "over 128": PROCS}
"""Classes of processors and the most that each has."""
Episodes = dict[str, Any]
"""Of each metric the values of all episodes."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m papers.deep_back_filling.split_windows")
    parser.add_argument("--folder", type=Path, help="keeps results here, and goes on from those that it has")
    parser.add_argument("--pictures", action="store_true", help="draw the pictures of docs/results/backfilling.md, too")
    arguments = parser.parse_args()
    if not SHARED.exists():
        sys.exit(f"{SHARED}: the archive logs are not there; name the folder above with TRACEHOUSE_SHARED")
    trial = SplitTrial(jobs_of_window_tables("Lublin-1")[0], arguments.folder)
    print("rivals\n")
    print(table_of(trial.rivals()), flush=True)
    print("\nagents\n")
    print(table_of(trial.agents()), flush=True)
    print("\nagents in one continuous replay\n")
    print(continuous_table(trial), flush=True)
    print("\nwho is placed, 10 slots\n")
    print(trial.classes_table(), flush=True)
    if arguments.pictures:
        from papers.deep_back_filling.split_pictures import write_pictures

        for path in write_pictures(trial):
            print(path)


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
        found = {name: [self._kept(f"rival-{name}", partial(self._rival, rival))] for name, rival in RIVALS.items()}
        for base in INSPECTED:
            for where in ("online", "closed"):
                test = partial(self._by_own_rules, is_closed=where == "closed")
                name = f"{base}, RLScheduler's rules, {where}"
                found[name] = [self._kept(name, partial(test, partial(inspector_base, base)))]
                name = f"inspector on {base}, {where}"
                found[name] = [
                    self._kept(f"{name}, {seed}", partial(test, partial(self._inspector, base, seed)))
                    for seed in self.seeds
                ]
        return found

    def agents(self) -> dict[str, list[Episodes]]:
        """By window: the rule's episodes, and those of each seed of the agent."""
        found: dict[str, list[Episodes]] = {}
        for slots in self.slots:
            for front, back in window_splits(slots).values():
                found[f"{front}-{back}, rule"] = [self.window(front, back, None)]
                found[f"{front}-{back}, agent"] = [self.window(front, back, seed) for seed in self.seeds]
        return found

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
                for most in WIDTHS.values():
                    part = rows[(rows[:, 0] > least) & (rows[:, 0] <= most)]
                    placed = part[:, 2].sum()
                    cells.append(
                        f"{part[:, 3].sum() / max(placed, 1) / 3600:,.1f}; {placed / max(part[:, 4].sum(), 1):.2f}"
                    )
                    least = most
                lines.append([f"{front}-{back}, {name}", *cells])
        return markdown(["window", *(f"{width} processors" for width in WIDTHS)], lines)

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


def table_of(rows: dict[str, list[Episodes]]) -> str:
    """Means over the episodes, and over the seeds where there are several. Waits of arrived jobs then have the least and the most of
    the seeds beside them."""
    lines = []
    for name, seeds in rows.items():
        cells = []
        for column in COLUMNS.values():
            means = np.array([np.nanmean(each[column]) for each in seeds]) / (3600 if column in HOURS else 1)
            digits = DIGITS.get(column, 0)
            spread = (
                f" ({means.min():,.0f} to {means.max():,.0f})" if len(seeds) > 1 and column == "wait_arrived" else ""
            )
            cells.append(f"{means.mean():,.{digits}f}{spread}")
        lines.append([name, *cells])
    return markdown(["window, who picks", *COLUMNS], lines)


def continuous_table(trial: SplitTrial) -> str:
    """The later half of the log in one replay: each rule beside FCFS with EASY, and each agent beside its rule."""
    jobs = trial.jobs
    scored = scored_after(len(jobs), len(jobs) // 2)

    def replayed(start: list[int]) -> Replayed:
        backfilled = np.zeros(len(start), dtype=np.bool_)  # no measure of the panel reads it
        return Replayed(jobs, PROCS, Schedule(np.array(start, dtype=np.int64), backfilled), scored)

    usual = [replayed(replay(jobs, PROCS, "FCFS", "easy").start.tolist())]
    lines = []
    for slots in trial.slots:
        for front, back in window_splits(slots).values():
            rule = [replayed(trial.window(front, back, None)["start"])]
            agents = [[replayed(trial.window(front, back, seed)["start"])] for seed in trial.seeds]
            words = Counter(judge(agent, rule).verdict.word for agent in agents)
            panels = [agent[0].panel() for agent in agents]
            own = rule[0].panel()
            lines.append(
                [
                    f"{front}-{back}",
                    f"{own.bounded_slowdown:,.1f}",
                    f"{own.wait_s / 3600:,.1f}",
                    f"{own.max_wait_s / 86400:,.1f}",
                    judge(rule, usual).verdict.word,
                    f"{np.mean([each.bounded_slowdown for each in panels]):,.1f}",
                    f"{np.mean([each.wait_s for each in panels]) / 3600:,.1f}",
                    f"{np.mean([each.max_wait_s for each in panels]) / 86400:,.1f}",
                    ", ".join(f"{count} {word}" for word, count in sorted(words.items())),
                ]
            )
    titles = ["window", "rule: bounded slowdown", "mean wait, h", "longest, days", "against FCFS with EASY"]
    titles += ["agents: bounded slowdown", "mean wait, h", "longest, days", "against their rule"]
    return markdown(titles, lines)


if __name__ == "__main__":
    main()
