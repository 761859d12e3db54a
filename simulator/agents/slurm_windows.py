"""Windows of a trace replayed under Slurm on its nodes, under one policy, or by a network that learns.

A window begins with the state in which a replay of the whole trace was when its first job came, as in simulator/agents/episodes.py: what
ran on which nodes, who waited since when, and what accounts had used. It ends when its own jobs have started.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.agents.episodes import Backlogs, Threads, check_windows
from simulator.agents.trajectories import DECISIONS_PER_JOB, ROWS_PER_JOB, Trajectories, join_trajectories, window_seeds
from simulator.cluster.requests import DEPENDENCIES, Requests, some_requests
from simulator.engine.replay import inputs_of
from simulator.jobs.cluster import Cluster, HeldNodes, RunningJobs
from simulator.jobs.jobs import Jobs
from simulator.policies.registry import Policy
from simulator.policies.sampling import DECISIONS, DRAW, FOLLOW, ROWS, Recorder, new_recorder, seed_draws
from simulator.slurm.clockwork import Replay
from simulator.slurm.loop import run_replay
from simulator.slurm.replaying import SlurmReplayer
from simulator.slurm.variants.ordering import AWAITED_FROM, AWAITED_TO, ROOM_IS_FULL, run_ordered
from simulator.slurm.variants.orders import is_fixed_order, ordered_queue, run_in_order
from simulator.slurm.variants.warm import RanBefore, WarmStart

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class SlurmHistory:
    """A replay of the first jobs of a trace. requests: of these jobs, in the partitions that they ran in. start: NOT_GIVEN for jobs that
    never started, seconds. nodes: that they held."""

    requests: Requests
    start: IntArray
    end: IntArray
    nodes: HeldNodes


@dataclass(frozen=True)
class SlurmState:
    """A moment of a replay: the second at which the job `first` was submitted."""

    history: SlurmHistory
    first: int


class BegunWindow(NamedTuple):
    """A replay before its first event. positions: of its jobs in the trace, int64 (jobs,). cluster: with the running jobs, the first of the
    replay."""

    replay: Replay
    jobs: Jobs
    cluster: Cluster
    positions: IntArray

    def run(self, policy: Policy | None) -> Replay:
        """Replays to the end. policy: with which it was begun. Raises ValueError as SlurmReplayer.replay."""
        if policy is None or is_fixed_order(policy):
            run_replay(self.replay)
        else:
            run_in_order(self.replay, policy, self.jobs, self.cluster)
        return self.replay

    def starts(self, window_jobs: int) -> IntArray:
        """Starts of the window's own jobs, which are those behind the ones that ran or waited."""
        first = len(self.cluster.running) + self.cluster.waiting
        start: IntArray = self.replay.engine.running.start[first : first + window_jobs]
        return start


@dataclass(frozen=True)
class SlurmTrace:
    """A trace on the nodes of its Slurm. replayer: with the requests of all jobs, without a policy. threads: by default one per core.

    Raises ValueError for jobs that follow others: windows begin and end by when jobs are submitted."""

    jobs: Jobs
    procs: int
    replayer: SlurmReplayer
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.jobs.is_closed:
            raise ValueError(
                "windows of a trace under Slurm have the submissions of the log: give them jobs without followers"
            )

    def history(self, policy: Policy | None, jobs: int) -> tuple[SlurmHistory, NDArray[np.bool_]]:
        """A replay of so many first jobs of the trace, and which of them were backfilled. policy: None for Slurm's own priority.

        Raises ValueError as SlurmReplayer.replay."""
        whole = self._begun(policy, np.arange(jobs), 0, None)
        replay = whole.run(policy)
        running, requests = replay.engine.running, some_requests(replay.engine.jobs, np.arange(jobs))
        requests.partitions[:, 0] = np.where(running.start >= 0, running.partition, requests.partitions[:, 0])
        rows = np.where(running.start >= 0, running.nodes, 0)
        first = np.concatenate([[0], np.cumsum(rows)])
        taken = np.repeat(running.first[:-1] - first[:-1], rows) + np.arange(first[-1])
        nodes = HeldNodes(first, running.node[taken], running.cpus[taken])
        requests = requests._replace(submit=whole.jobs.submit, begin=self.replayer.requests.begin[:jobs])
        return SlurmHistory(requests, running.start.copy(), running.start + replay.runtime, nodes), replay.backfilled

    def keep_states(self, policy: Policy | None, first: IntArray, after: int) -> Backlogs:
        """The states of one replay in which windows begin whose first jobs are at these positions. after: how many jobs behind a window
        are submitted, too."""
        check_windows(self.jobs, first, 1)
        history, _ = self.history(policy, int(first.max()) + 1)
        states: Any = tuple(SlurmState(history, place) for place in first.tolist())
        return Backlogs(states, after)

    def starts(self, policy: Policy | None, first: IntArray, window_jobs: int, backlogs: Backlogs | None) -> IntArray:
        """Start times of windows under one policy, int64 (windows, window_jobs), NOT_GIVEN for jobs that never start."""
        check_windows(self.jobs, first, window_jobs)
        start = np.empty((len(first), window_jobs), dtype=np.int64)

        def work(begin: int, end: int) -> None:
            for k in range(begin, end):
                window = self._window(policy, int(first[k]), window_jobs, _state_of(backlogs, k))
                window.run(policy)
                start[k] = window.starts(window_jobs)

        Threads(self.threads).share(len(first), 1, work)
        return start

    def sample(
        self,
        policy: Policy,
        first: IntArray,
        window_jobs: int,
        seed: int | IntArray,
        backlogs: Backlogs | None,
        teacher: NDArray[np.float64] | None = None,
    ) -> Trajectories:
        """Windows with every choice of a network drawn, or as its teacher's, and recorded. seed, teacher: as
        simulator.agents.trajectories.sample_windows."""
        check_windows(self.jobs, first, window_jobs)
        seeds = seed if isinstance(seed, np.ndarray) else window_seeds(seed, len(first))
        parts: dict[int, Trajectories] = {}

        def work(begin: int, end: int) -> None:
            for k in range(begin, end):
                begins = partial(self._window, policy, int(first[k]), window_jobs, _state_of(backlogs, k))
                parts[k] = _sampled(begins, policy, teacher, int(seeds[k]), window_jobs)

        Threads(self.threads).share(len(first), 1, work)
        return join_trajectories([parts[k] for k in range(len(first))], inputs_of(policy), window_jobs)

    def _window(
        self, policy: Policy | None, first: int, window_jobs: int, state: tuple[SlurmState, int] | None
    ) -> BegunWindow:
        """The replay of one window before its first event. state: where it begins, and how many jobs behind it are submitted."""
        if state is None:
            return self._begun(policy, np.arange(first, first + window_jobs), 0, None)
        begun, after = state
        history, begin_s = begun.history, int(self.jobs.submit[first])
        earlier = np.arange(first)
        ran = (history.start[earlier] >= 0) & (history.start[earlier] < begin_s)
        waiting = earlier[~ran & (history.start[earlier] >= 0)]
        last = min(first + window_jobs + after, len(self.jobs))
        return self._begun(
            policy, np.concatenate([waiting, np.arange(first, last)]), len(waiting), (history, earlier[ran], begin_s)
        )

    def _begun(
        self, policy: Policy | None, own: IntArray, waiting: int, before: tuple[SlurmHistory, IntArray, int] | None
    ) -> BegunWindow:
        """A replay of the jobs at these positions. before: a history, which of its jobs had started, and when the replay begins."""
        jobs, warm, running = self.jobs.only(own), None, RunningJobs()
        if before is not None:
            history, ran, begin_s = before
            past = RanBefore(
                some_requests(history.requests, ran), history.start[ran], history.end[ran], self.jobs.procs[ran]
            )
            runs = ran[history.end[ran] > begin_s]
            warm = WarmStart(some_requests(history.requests, runs), _nodes_of(history.nodes, runs), past)
            of_runs = self.jobs.only(runs)
            columns = of_runs.runtime, of_runs.procs, of_runs.estimate, of_runs.limit, of_runs.user
            running = RunningJobs(history.start[runs], *columns)
        cluster = Cluster(max(self.procs, int(running.procs.sum())), running, waiting=waiting)
        requests = some_requests(self.replayer.requests, own)
        if before is not None:
            requests = requests._replace(begin=self._begins(own, before))
        replayer = replace(self.replayer, requests=requests, warm=warm, policy=policy)
        return BegunWindow(replayer.begun(jobs, cluster)[0], jobs, cluster, own)

    def _begins(self, own: IntArray, before: tuple[SlurmHistory, IntArray, int]) -> IntArray:
        """Earliest starts of these jobs: of one that names a job which runs when the window begins, not before the end that the history
        has of it. before: as `_begun` takes it."""
        asked, (history, ran, _) = self.replayer.requests, before
        begin, other = asked.begin.copy(), asked.dependency[:, 1]
        owner = np.repeat(np.arange(len(begin)), np.diff(asked.first_dependency))
        runs = np.isin(other, ran) & (asked.dependency[:, 0] != DEPENDENCIES.index("after"))
        np.maximum.at(begin, owner[runs], history.end[other[runs]])
        return begin[own]


def _state_of(backlogs: Backlogs | None, window: int) -> tuple[SlurmState, int] | None:
    if backlogs is None:
        return None
    state: Any = backlogs.states[window]
    return state, backlogs.after


def _nodes_of(nodes: HeldNodes, jobs: IntArray) -> HeldNodes:
    """The nodes of some jobs."""
    rows = nodes.first[jobs + 1] - nodes.first[jobs]
    first = np.concatenate([[0], np.cumsum(rows)])
    taken = np.repeat(nodes.first[jobs] - first[:-1], rows) + np.arange(first[-1])
    return HeldNodes(first, nodes.node[taken], nodes.cpus[taken])


def _sampled(
    begins: Callable[[], BegunWindow], policy: Policy, teacher: NDArray[np.float64] | None, seed: int, window_jobs: int
) -> Trajectories:
    """One window with its decisions. Where the recorder has no room for them, the window is replayed once more with twice as much."""
    room = window_jobs
    while True:
        window = begins()
        sample, shown = DRAW, policy
        if teacher is not None:
            scores = teacher[window.positions]
            sample, shown = FOLLOW, replace(policy, fixed=lambda *_, scores=scores: scores)
        orders = ordered_queue(window.replay, shown, window.jobs, window.cluster, sample)
        first = len(window.cluster.running) + window.cluster.waiting
        orders.counts[AWAITED_FROM], orders.counts[AWAITED_TO] = first, first + window_jobs
        recorder = new_recorder(ROWS_PER_JOB * room, DECISIONS_PER_JOB * room, inputs_of(policy))
        seed_draws(seed)
        if run_ordered(window.replay, orders, recorder) != ROOM_IS_FULL:
            return _trajectories(recorder, window.starts(window_jobs))
        room *= 2


def _trajectories(recorder: Recorder, start: IntArray) -> Trajectories:
    decisions, rows = int(recorder.used[DECISIONS]), int(recorder.used[ROWS])
    columns: list[Any] = [recorder.features[:rows].copy()]
    columns += [column[:decisions].copy() for column in recorder[1:-1]]
    columns += [np.array([0, decisions]), start[None].copy()]
    return Trajectories(*columns)
