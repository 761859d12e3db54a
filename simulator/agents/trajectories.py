"""Windows of a trace replayed by a network that learns. Its choices are drawn, or copied from a teacher, and recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.agents.batch import USUAL_RULES, WindowRules
from simulator.agents.episodes import (
    Backlogs,
    Threads,
    begin_anew,
    check_backlogs,
    check_windows,
    episode_of,
    many,
    window_of,
)
from simulator.compiled import lean
from simulator.engine.episode import RECORDER_FULL, RESERVE, Episode, Rules, new_episode
from simulator.engine.general import advance
from simulator.engine.replay import inputs_of, notes_of, rules_for, scoring_of
from simulator.engine.states import take_up
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs, column_of
from simulator.jobs.tasks import Tasks, tasks_of
from simulator.policies.network import KernelWeights
from simulator.policies.registry import Policy, network_policy
from simulator.policies.sampling import DECISIONS, DRAW, FOLLOW, ROWS, Recorder, new_recorder, seed_draws
from simulator.policies.scoring import Scoring
from simulator.published import RLSCHEDULER_WINDOWS, paper_part

IntArray = NDArray[np.int64]

ROWS_PER_JOB, DECISIONS_PER_JOB = 24, 2
"""Room of a recorder. When it is full, the next recorder continues, twice as large if not even one window fitted."""


@dataclass(frozen=True)
class Trajectories:
    """Decisions of a policy, each with its own number of rows: decision d saw num_rows[d] rows, from first_row[d] on.

    Decisions with a single visible job are not choices and are not recorded.
    """

    features: NDArray[np.float32]  # (rows, inputs)
    first_row: IntArray  # (decisions,)
    num_rows: IntArray  # (decisions,)
    choice: IntArray  # (decisions,), index within the decision's rows
    log_prob: NDArray[np.float32]  # (decisions,), of that choice under the network; 0 where a teacher chose
    time: IntArray  # (decisions,), seconds in the log's clock
    first_decision: IntArray  # (windows + 1,), of each window
    start: IntArray  # (windows, window_jobs), seconds in the log's clock

    @property
    def decisions(self) -> int:
        """How many decisions there are in all windows."""
        return len(self.choice)


class Sampled(NamedTuple):
    """By window: where it begins, the seed of its draws, and what a replay of it fills in."""

    first: IntArray  # (windows,), index of the window's first job
    seeds: IntArray  # (windows,)
    start: IntArray  # (windows, window_jobs), seconds in the log's clock
    decisions: IntArray  # (windows,), how many


Fill = Callable[[Recorder, int, int], tuple[int, int]]
"""Replays the windows from begin to before end into a recorder. Returns the first window that did not fit, or `end`, and the rows
before it."""


def sample_windows(
    jobs: Jobs,
    cluster_procs: int,
    first: IntArray,
    window_jobs: int,
    policy: KernelWeights | Policy,
    seed: int | IntArray,
    teacher: NDArray[np.float64] | None = None,
    rules: WindowRules = USUAL_RULES,
) -> Trajectories:
    """Replays windows of a trace, each on an initially empty cluster or from its backlog, recording every choice of a network.

    first: index of each window's first job, int64 (windows,). policy: a network that orders the queue, or a policy beside which a
    network decides. seed: the draws of window k depend on (seed, k) alone. It may also be what `window_seeds` gave for each window,
    int64 (windows,). teacher: scores of jobs, lowest first, float64 (num_jobs,). With a teacher its choices are followed instead of
    drawing. rules: with any rule set. Raises as `replay_windows` does.
    """
    first = column_of(first)
    check_windows(jobs, first, window_jobs)
    seeds = seed if isinstance(seed, np.ndarray) else window_seeds(seed, len(first))
    start = np.empty((len(first), window_jobs), dtype=np.int64)
    sampled = Sampled(first, seeds, start, np.zeros(len(first), dtype=np.int64))
    if rules.backlogs is not None:
        check_backlogs(rules.backlogs, len(first), rules.rule_set)
    if isinstance(policy, KernelWeights):
        policy = network_policy(policy, None if teacher is None else lambda *_: teacher)
    run = _standard if rules.rule_set == "standard" else paper_part(RLSCHEDULER_WINDOWS).sampled_windows
    fill = run(jobs, cluster_procs, sampled, policy, rules, DRAW if teacher is None else FOLLOW)
    parts: dict[int, Recorder] = {}

    def work(begin: int, end: int) -> None:
        room = window_jobs
        while begin < end:
            room = max(room, (end - begin) * window_jobs)
            recorder = new_recorder(ROWS_PER_JOB * room, DECISIONS_PER_JOB * room, inputs_of(policy))
            reached, rows = fill(recorder, begin, end)
            if reached > begin:
                parts[begin] = _cut(recorder, int(sampled.decisions[begin:reached].sum()), rows)
            else:
                room *= 2
            begin = reached

    Threads(rules.threads).share(len(first), 1, work)
    first_decision = np.concatenate(([0], np.cumsum(sampled.decisions)))
    columns: list[Any] = [*_joined([parts.pop(begin) for begin in sorted(parts)]), first_decision, start]
    return Trajectories(*columns)


def window_seeds(seed: int, windows: int) -> IntArray:
    """A seed for the draws of each window, int64 (windows,). A process that replays some of the windows draws the same for them as
    one that replays all."""
    return np.random.SeedSequence(seed).generate_state(windows, dtype=np.uint32).astype(np.int64)


def join_trajectories(parts: Sequence[Trajectories], inputs: int, window_jobs: int) -> Trajectories:
    """The windows of all parts, one part after another. inputs, window_jobs: the sizes to use where there is no part."""
    none = np.zeros(0, dtype=np.int64)
    empty = Trajectories(
        np.zeros((0, inputs), dtype=np.float32),
        none,
        none,
        none,
        np.zeros(0, dtype=np.float32),
        none,
        np.zeros(1, dtype=np.int64),
        np.zeros((0, window_jobs), dtype=np.int64),
    )
    if len(parts) == 1:
        return parts[0]
    parts = [empty, *parts]
    rows = np.cumsum([0, *(len(part.features) for part in parts)])
    decisions = np.cumsum([0, *(part.decisions for part in parts)])
    first_row = [part.first_row + row for part, row in zip(parts, rows, strict=False)]
    first = [part.first_decision[:-1] + d for part, d in zip(parts, decisions, strict=False)]
    return Trajectories(
        np.concatenate([part.features for part in parts]),
        np.concatenate(first_row),
        np.concatenate([part.num_rows for part in parts]),
        np.concatenate([part.choice for part in parts]),
        np.concatenate([part.log_prob for part in parts]),
        np.concatenate([part.time for part in parts]),
        np.concatenate([*first, decisions[-1:]]),
        np.concatenate([part.start for part in parts]),
    )


def _cut(recorder: Recorder, decisions: int, rows: int) -> Recorder:
    """The recorder's first decisions, which have `rows` rows."""
    return Recorder(
        features=recorder.features[:rows],
        first_row=recorder.first_row[:decisions],
        num_rows=recorder.num_rows[:decisions],
        choice=recorder.choice[:decisions],
        log_prob=recorder.log_prob[:decisions],
        time=recorder.time[:decisions],
        used=recorder.used,
    )


def _joined(parts: list[Recorder]) -> tuple[Any, ...]:
    """The columns of all recorders, one after another. Empties the list: features are let go of while they are joined, since they are
    most of what an epoch has in memory."""
    offsets = np.cumsum([0, *(len(part.features) for part in parts)])
    for part, offset in zip(parts, offsets, strict=False):
        part.first_row[:] += offset
    if len(parts) == 1:
        return tuple(parts.pop()[:-1])
    others = [np.concatenate(column) for column in zip(*(part[1:-1] for part in parts), strict=True)]
    features = np.empty((offsets[-1], parts[0].features.shape[1]), dtype=np.float32)
    for offset in offsets[:-1]:
        part = parts.pop(0)
        features[offset : offset + len(part.features)] = part.features
    return features, *others


def _standard(
    jobs: Jobs,
    cluster_procs: int,
    sampled: Sampled,
    policy: Policy,
    window_rules: WindowRules,
    sample: int,
) -> Fill:
    tasks = tasks_of(jobs, Cluster(cluster_procs))
    backfill, backlogs = window_rules.backfill, window_rules.backlogs
    rules = rules_for(policy, backfill, "requested", cluster_procs, sample=sample)
    if rules.backfill == RESERVE:
        raise ValueError(
            f"networks cannot be trained under {backfill!r} backfilling: choose none, any, easy or easy-sjbf"
        )
    scoring = scoring_of(policy, jobs, tasks, cluster_procs)
    users = int(jobs.user.max()) + 1 if policy.half_life_s > 0 else 0
    window_jobs = sampled.start.shape[1]

    def fill(recorder: Recorder, begin: int, end: int) -> tuple[int, int]:
        state = many(window_jobs, cluster_procs, 1, users, rules, inputs_of(policy))
        return _sample_range(_Network(tasks, rules, scoring), state, recorder, sampled, begin, end)

    def fill_from_backlogs(recorder: Recorder, begin: int, end: int) -> tuple[int, int]:
        assert backlogs is not None
        episode = new_episode(tasks, cluster_procs, users, False, inputs_of(policy), **notes_of(rules))
        return _sample_backlogs(
            _Network(tasks, rules, scoring), episode, recorder, sampled, backlogs, range(begin, end)
        )

    return fill_from_backlogs if backlogs else fill


class _Network(NamedTuple):
    """The trace, the rules, and the network that chooses."""

    tasks: Tasks
    rules: Rules
    scoring: Scoring


def _sample_backlogs(
    network: _Network, episode: Episode, recorder: Recorder, sampled: Sampled, backlogs: Backlogs, windows: range
) -> tuple[int, int]:
    """As `_sample_range`, each window from its backlog."""
    jobs, window_jobs = len(network.tasks.submit), sampled.start.shape[1]
    for k in windows:
        decisions, rows = recorder.used.tolist()
        window = slice(int(sampled.first[k]), int(sampled.first[k]) + window_jobs)
        submitted = backlogs.submitted(jobs, window.start, window_jobs)
        of_network = network.tasks, network.rules.cluster_procs, network.scoring
        take_up(backlogs.states[k], *of_network, episode, submitted, (window.start, window.stop))
        seed_draws(sampled.seeds[k])
        if advance(network.tasks, network.rules, network.scoring, episode, recorder, 0) == RECORDER_FULL:
            return k, rows
        sampled.decisions[k] = recorder.used[DECISIONS] - decisions
        sampled.start[k] = episode.start[window]
    return windows.stop, int(recorder.used[ROWS])


@lean
def _sample_range(network, state, recorder, sampled, begin, end):
    """Replays the windows from `begin` to before `end`, and fills in their start times and numbers of decisions.

    Returns the first window that did not fit into the recorder, or `end`, and the rows of those before it.
    """
    window_jobs = sampled.start.shape[1]
    for k in range(begin, end):
        decisions, rows = recorder.used[DECISIONS], recorder.used[ROWS]
        seed_draws(sampled.seeds[k])
        window, scoring = window_of(
            network.tasks, sampled.first[k], window_jobs, network.scoring, network.scoring.users
        )
        begin_anew(state)
        episode = episode_of(state, 0)
        if advance(window, network.rules, scoring, episode, recorder, 0) == RECORDER_FULL:
            return k, rows
        sampled.decisions[k] = recorder.used[DECISIONS] - decisions
        for i in range(window_jobs):
            sampled.start[k, i] = episode.start[i]
    return end, recorder.used[ROWS]
