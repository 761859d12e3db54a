"""Where policies are tried: windows of one trace, under one rule set and for one goal."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models.judging.chance import ChanceCloud, RandomOrder, cloud_around, random_orders
from models.judging.intervals import BLOCKS
from models.judging.panel import Replayed, scored_after
from models.scheduling.goals import Goal, WindowColumns
from models.scheduling.options import PolicyRules
from simulator.agents.batch import WindowRules, replay_windows
from simulator.agents.episodes import Backlogs, keep_backlogs
from simulator.agents.trajectories import Trajectories, sample_windows
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.policies.agents import Agent
from simulator.policies.network import KernelWeights
from simulator.policies.registry import Policy, assisted, network_policy

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Windows:
    """Parts of a trace, each of consecutive jobs.

    first: position of each window's first job in the trace, int64 (windows,). jobs: how many jobs each holds. backlogs: what they
    begin with; default, an empty cluster. continuous: they are parts of one replay from the first job of the trace on, in which no
    job comes after the last window.
    """

    first: IntArray
    jobs: int
    backlogs: Backlogs | None = None
    continuous: bool = False

    def __len__(self) -> int:
        return len(self.first)

    @classmethod
    def spread(cls, first: int, last: int, jobs: int, most: int) -> Windows:
        """At most `most` different windows, evenly inside the jobs first : last of a trace."""
        return cls(np.unique(np.linspace(first, last - jobs, most).astype(np.int64)), jobs)

    @classmethod
    def blocks(cls, first: int, last: int, most: int = BLOCKS) -> Windows:
        """The jobs first : last of a trace as blocks of one continuous replay, so many of equal length, fewer of fewer jobs.

        Jobs that would make the last block longer are at the beginning, where nothing is counted.
        """
        count = max(min(most, last - first), 1)
        jobs = (last - first) // count
        return cls(last - jobs * np.arange(count, 0, -1), jobs, continuous=True)

    @property
    def scored(self) -> range:
        """The positions from the first job of the first window to the last job of the last one."""
        return range(int(self.first.min()), int(self.first.max()) + self.jobs)

    def thinned(self, count: int) -> Windows:
        """About `count` of them, evenly."""
        return self.taken(np.arange(len(self))[:: max(len(self) // count, 1)])

    def some(self, rng: np.random.Generator, count: int) -> Windows:
        """As many, drawn with replacement."""
        return self.taken(rng.choice(len(self), size=count))

    def taken(self, which: IntArray) -> Windows:
        """The windows of these numbers."""
        backlogs = self.backlogs
        if backlogs is not None:
            backlogs = Backlogs(tuple(backlogs.states[k] for k in which), backlogs.after)
        return replace(self, first=self.first[which], backlogs=backlogs)


@dataclass(frozen=True)
class Arena:
    """A trace and a cluster, with the rules and the goal by which schedules are compared.

    backfill, rules: as in simulator.agents.batch.replay_windows. threads: default, one per core. agent: what networks decide; default,
    the order of the queue. base: the policy beside which they decide it.
    """

    jobs: Jobs
    cluster_procs: int
    goal: Goal
    backfill: str = "easy"
    rules: PolicyRules = "standard"
    threads: int | None = None
    agent: Agent | None = None
    base: str | Policy = "FCFS"

    def policy_of(self, network: KernelWeights) -> Policy:
        """What a network does here. Raises ValueError for one that decides something else."""
        if self.agent is None:
            return network_policy(network)
        return assisted(self.base, self.agent.learned(network))

    def starts(self, policy: str | Policy | KernelWeights, windows: Windows) -> IntArray:
        """Start times, seconds in the log's clock, int64 (windows, window_jobs)."""
        if windows.continuous:
            start = self.replayed(policy, windows.scored).schedule.start
            return start[windows.first[:, None] + np.arange(windows.jobs)]
        if isinstance(policy, KernelWeights):
            policy = self.policy_of(policy)
        rules = self._rules_of(windows)
        return replay_windows(self.jobs, self.cluster_procs, windows.first, windows.jobs, policy, rules)[0]

    def replayed(self, policy: str | Policy | KernelWeights, scored: range) -> Replayed:
        """One replay from the first job to the last one that is scored. scored: positions of consecutive jobs."""
        if isinstance(policy, KernelWeights):
            policy = self.policy_of(policy)
        jobs, first = self.jobs.window(0, scored.stop), np.zeros(1, dtype=np.int64)
        rules = WindowRules(self.backfill, rule_set=self.rules, threads=1)
        start, backfilled = replay_windows(jobs, self.cluster_procs, first, scored.stop, policy, rules)
        schedule = Schedule(start[0], backfilled[0])
        return Replayed(jobs, self.cluster_procs, schedule, scored_after(len(jobs), scored.start))

    def chance_cloud(self, incumbent: Replayed) -> ChanceCloud:
        """What random orders reach beside one replay of `replayed`, under its rules."""
        scored = np.flatnonzero(incumbent.scored)
        part = range(int(scored[0]), int(scored[-1]) + 1)

        def replay_order(policy: Policy) -> Schedule:
            return self.replayed(policy, part).schedule

        return cloud_around(incumbent, replay_order, self.random_orders(len(incumbent.jobs)))

    def random_orders(self, jobs: int) -> tuple[RandomOrder, ...]:
        """Those of `chance_cloud`, for so many jobs."""
        return random_orders(jobs)

    @property
    def ground(self) -> str:
        """The cluster whose nodes jobs run on, with its hash, "" for a row of processors."""
        return ""

    @property
    def on_processors(self) -> Arena:
        """The arena in which many orders can be tried in a short time: this one, unless it has nodes."""
        return self

    def cost_of(self, replayed: Replayed) -> float:
        """What the goal makes of the scored jobs of a replay, which follow each other."""
        scored = np.flatnonzero(replayed.scored)
        part = Windows(scored[:1], len(scored))
        return float(self.costs_of(part, replayed.schedule.start[None, scored])[0])

    def with_backlogs(self, policy: str | Policy | KernelWeights, windows: Windows, after: int) -> Windows:
        """The same windows with the backlogs of a replay of the whole trace under this policy.

        after: jobs behind each window that are submitted, too, and do not count.
        """
        if isinstance(policy, KernelWeights):
            policy = self.policy_of(policy)
        kept = keep_backlogs(self.jobs, self.cluster_procs, windows.first, policy, self.backfill, after)
        return replace(windows, backlogs=kept)

    def costs(self, policy: str | Policy | KernelWeights, windows: Windows) -> FloatArray:
        """What each window costs under a policy, float64 (windows,); a network takes its best choice every time."""
        return self.costs_of(windows, self.starts(policy, windows))

    def costs_of(self, windows: Windows, start: IntArray) -> FloatArray:
        """What schedules cost, float64 (windows,)."""
        where = windows.first[:, None] + np.arange(windows.jobs)
        jobs = self.jobs
        columns = WindowColumns(jobs.submit[where], jobs.runtime[where], jobs.procs[where], jobs.user[where])
        return self.goal.costs(columns, start, self.cluster_procs)

    def sample(
        self, weights: KernelWeights, windows: Windows, seed: int | IntArray, teacher: FloatArray | None = None
    ) -> Trajectories:
        """Replays with every choice drawn, or the teacher's, and recorded, by simulator.agents.trajectories.sample_windows."""
        return sample_windows(
            self.jobs,
            self.cluster_procs,
            windows.first,
            windows.jobs,
            weights if self.agent is None else self.policy_of(weights),
            seed,
            teacher,
            self._rules_of(windows),
        )

    def _rules_of(self, windows: Windows) -> WindowRules:
        return WindowRules(self.backfill, rule_set=self.rules, threads=self.threads, backlogs=windows.backlogs)


def relative(costs: FloatArray, reference: FloatArray) -> FloatArray:
    """By what share `costs` lie above the reference's on the same windows, float64 (windows,). Below 0 is better.

    Easy and hard windows weigh alike then.
    """
    return (costs - reference) / np.maximum(np.abs(reference), 1e-9)
