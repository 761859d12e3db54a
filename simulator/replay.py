"""Replays: jobs in, schedule out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.engine import run_episode, seed_draws
from simulator.jobs import Jobs
from simulator.network import NUM_FEATURES, KernelWeights, no_weights
from simulator.priorities import LEARNED, POLICIES
from simulator.schedule import Schedule

BACKFILLING = ("none", "easy")


def replay(
    jobs: Jobs, cluster_procs: int, policy: str = "FCFS", backfill: str = "easy", weights: KernelWeights | None = None
) -> Schedule:
    """Replays all jobs on an initially empty cluster of `cluster_procs` processors.

    policy: a name in `POLICIES`; "learned" needs the `weights` of a kernel network.
    backfill: "none" or "easy". Rules and tie-breaks: docs/semantics.md.
    Raises ValueError for an unknown name, a missing network, or a job wider than the cluster.
    """
    policy_id = _policy_id(policy, backfill, weights)
    _check_width(jobs, cluster_procs)
    start = np.zeros(len(jobs), dtype=np.int64)
    backfilled = np.zeros(len(jobs), dtype=np.bool_)
    run_episode(
        jobs.submit, jobs.runtime, jobs.procs, jobs.estimate, jobs.limit, jobs.origin,
        cluster_procs, policy_id, backfill == "easy", weights or no_weights(),
        False, _recorder(0, 0), 0, 0, start, backfilled,
    )  # fmt: skip
    return Schedule(start, backfilled)


@dataclass(frozen=True)
class Trajectories:
    """Decisions of a sampled policy, ragged: decision d saw rows first_row[d] : first_row[d] + num_rows[d].

    features: float32 (rows, NUM_FEATURES); choice: index within the decision's rows, int64 (decisions,);
    log_prob: of that choice, float32 (decisions,); first_decision: of each window, int64 (windows + 1,);
    schedules: one per window. Decisions with a single visible job are not choices and are not recorded.
    """

    features: NDArray[np.float32]
    first_row: NDArray[np.int64]
    num_rows: NDArray[np.int64]
    choice: NDArray[np.int64]
    log_prob: NDArray[np.float32]
    first_decision: NDArray[np.int64]
    schedules: list[Schedule]


def sample_trajectories(windows: list[Jobs], cluster_procs: int, weights: KernelWeights, seed: int) -> Trajectories:
    """Replays each window under EASY backfilling with choices drawn from the network's softmax, recording every choice.

    The draws of window k depend on (seed, k) alone. Raises as `replay` does.
    """
    for jobs in windows:
        _check_width(jobs, cluster_procs)
    rows, decisions = 32 * sum(map(len, windows)), 3 * sum(map(len, windows))
    while True:
        recorder = _recorder(rows, decisions)
        found = _fill(windows, cluster_procs, weights, seed, recorder)
        if found is not None:
            break
        rows, decisions = 2 * rows, 2 * decisions
    first_decision, rows_used, schedules = found
    features, first_row, num_rows, choice, log_prob = recorder
    used = first_decision[-1]
    return Trajectories(
        features[:rows_used], first_row[:used], num_rows[:used], choice[:used], log_prob[:used],
        first_decision, schedules,
    )  # fmt: skip


def _fill(windows, cluster_procs, weights, seed, recorder):
    decisions = rows_used = 0
    first_decision, schedules = [0], []
    for k, jobs in enumerate(windows):
        start = np.zeros(len(jobs), dtype=np.int64)
        backfilled = np.zeros(len(jobs), dtype=np.bool_)
        seed_draws(int(np.random.SeedSequence([seed, k]).generate_state(1)[0]))
        decisions, rows_used = run_episode(
            jobs.submit, jobs.runtime, jobs.procs, jobs.estimate, jobs.limit, jobs.origin,
            cluster_procs, LEARNED, True, weights, True, recorder, decisions, rows_used, start, backfilled,
        )  # fmt: skip
        if decisions < 0:
            return None
        first_decision.append(decisions)
        schedules.append(Schedule(start, backfilled))
    return np.array(first_decision, dtype=np.int64), rows_used, schedules


def _recorder(rows: int, decisions: int):
    return (
        np.empty((rows, NUM_FEATURES), dtype=np.float32),
        np.empty(decisions, dtype=np.int64),
        np.empty(decisions, dtype=np.int64),
        np.empty(decisions, dtype=np.int64),
        np.empty(decisions, dtype=np.float32),
    )


def _policy_id(policy: str, backfill: str, weights: KernelWeights | None) -> int:
    if policy not in POLICIES:
        raise ValueError(f"unknown policy {policy!r}; expected one of {', '.join(POLICIES)}")
    if backfill not in BACKFILLING:
        raise ValueError(f"unknown backfilling {backfill!r}; expected one of {', '.join(BACKFILLING)}")
    if policy == "learned" and weights is None:
        raise ValueError("the learned policy needs the weights of a trained network")
    return POLICIES[policy]


def _check_width(jobs: Jobs, cluster_procs: int) -> None:
    if len(jobs) and jobs.procs.max() > cluster_procs:
        index = int(jobs.procs.argmax())
        raise ValueError(
            f"job at index {index} needs {jobs.procs[index]} processors, the cluster has {cluster_procs}: "
            "give the cluster's true processor count"
        )
