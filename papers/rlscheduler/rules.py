"""The replay rules of the RLScheduler code (Zhang et al., SC 2020), exactly as they are coded, for its published tables.

Source: HPCSimPickJobs.py and cluster.py of DIR-LAB/deep-batch-scheduler. Do not use it to judge policies. Its backfilling is not
EASY, its heuristics commit to a blocked job, and its WFP3 and UNICEP use a wrong wait. Rules: docs/reference/semantics.md, "The RLScheduler
rule set". The event loop is papers/rlscheduler/loop.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from papers.rlscheduler.inspecting import USUAL_PROTOCOL, Inspector, InspectorProtocol, inspector_of
from papers.rlscheduler.loop import RLSchedulerJobs, RLSchedulerRules, replay_jobs
from papers.rlscheduler.scores import (
    GIVEN_SCORES,
    KERNEL_NETWORK,
    POLICIES,
    policy_number,
    takes_true_wait,
)
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.jobs.words import unknown_word
from simulator.metrics.metrics import bounded_slowdown
from simulator.policies.agents import NETWORK
from simulator.policies.network import SIGNALS, USER_SHARE, WAIT_OF_CAP, KernelWeights
from simulator.policies.observation import facts_of, no_weights
from simulator.policies.registry import Policy
from simulator.policies.sampling import FOLLOW, TAKE_BEST, no_recorder
from simulator.policies.scoring import LEARNED
from simulator.replayer import Outcome


def replay_rlscheduler(
    jobs: Jobs,
    cluster_procs: int,
    policy: str | Policy,
    backfill: bool,
    wait_bug: bool = True,
    procs_per_node: float = 1.0,
    protocol: InspectorProtocol = USUAL_PROTOCOL,
) -> Schedule:
    """Replays all jobs on an initially empty cluster as the RLScheduler code does.

    jobs: with `estimate` as that code sees requested times, jobs_from_log(..., estimates="as logged"), and processors
        the larger of allocated and requested. `limit`, `user` and `cancel` are ignored, as that code has none of them.
    policy: a name in `POLICIES`, or a policy whose scores are fixed at submission, that is a kernel network, or that
        papers.rlscheduler.inspecting.inspector_base made. An agent beside it may inspect.
    wait_bug: WFP3, UNICEP and SchedInspector's SEXP and LEXP use a wait of -1 - submit, as coded. With False they use the true
        wait, now - submit.
    procs_per_node: nodes are given whole. The cluster has cluster_procs / procs_per_node of them.
    protocol: faults of SchedInspector's code.
    Raises ValueError for another policy or agent, a cluster that is not a whole number of nodes, or a job wider than the cluster, and
    for jobs that follow others.
    """
    rules, loop_jobs, inspector = rlscheduler_inputs(
        jobs, cluster_procs, policy, backfill, wait_bug=wait_bug, procs_per_node=procs_per_node, protocol=protocol
    )
    start = np.zeros(len(jobs), dtype=np.int64)
    backfilled = np.zeros(len(jobs), dtype=np.bool_)
    replay_jobs(rules, loop_jobs, inspector, no_recorder(), start, backfilled)
    return Schedule(start, backfilled)


@dataclass(frozen=True)
class RLSchedulerReplayer:
    """The rules of that code, as arguments of `replay_rlscheduler`."""

    policy: str | Policy
    backfill: bool
    wait_bug: bool = True
    procs_per_node: float = 1.0
    honours: ClassVar = frozenset({"policy", "backfill"})

    def replay(self, jobs: Jobs, cluster: Cluster) -> Outcome:
        """The schedule alone. Raises as `replay_rlscheduler` does."""
        rules = self.policy, self.backfill, self.wait_bug, self.procs_per_node
        return Outcome(replay_rlscheduler(jobs, cluster.procs, *rules))


def rlscheduler_inputs(
    jobs: Jobs,
    cluster_procs: int,
    policy: str | Policy,
    backfill: bool,
    *,
    wait_bug: bool = True,
    sample: int = TAKE_BEST,
    procs_per_node: float = 1.0,
    protocol: InspectorProtocol = USUAL_PROTOCOL,
) -> tuple[RLSchedulerRules, RLSchedulerJobs, Inspector | None]:
    """What the event loop takes. The arguments and errors are those of `replay_rlscheduler`.

    sample: how a network's choices are made, see simulator/policies/network.py. For FOLLOW, `policy.fixed` is the teacher.
    """
    jobs.require_open("the RLScheduler code")
    number, given = _number_and_scores(jobs, cluster_procs, policy, sample)
    inspector = inspector_of(policy, sample, protocol)
    weights, facts = no_weights(), np.zeros((0, 0), dtype=np.float32)
    if not isinstance(policy, str) and (number == KERNEL_NETWORK or (inspector and inspector.by == NETWORK)):
        weights, facts = _network_of(policy, jobs, cluster_procs)
    nodes, need = _whole_nodes(jobs, cluster_procs, procs_per_node)
    true_wait, per_node = takes_true_wait(number, wait_bug), float(procs_per_node)
    rules = RLSchedulerRules(number, backfill, true_wait, sample, nodes, per_node, jobs.origin, weights)
    return rules, RLSchedulerJobs(jobs.submit, jobs.runtime, jobs.procs, jobs.estimate, need, given, facts), inspector


def _network_of(policy: Policy, jobs: Jobs, cluster_procs: int) -> tuple[KernelWeights, NDArray[np.float32]]:
    """The network that orders or inspects, and what it reads of the jobs, (num_jobs, facts)."""
    weights = policy.weights
    assert weights is not None
    check_widths(jobs, cluster_procs)
    if USER_SHARE in weights.signals:
        raise ValueError(
            f"the RLScheduler rules keep no account of users, which the policy's input {SIGNALS[USER_SHARE]} needs: train "
            "it with --layout paper or plain"
        )
    if WAIT_OF_CAP in weights.signals:
        raise ValueError(
            f"the RLScheduler rules know no cap, which the policy's input {SIGNALS[WAIT_OF_CAP]} stands for: train it with --layout paper "
            "or plain"
        )
    return weights, facts_of(jobs, cluster_procs, weights.facts)


def check_widths(jobs: Jobs, cluster_procs: int) -> None:
    """Raises ValueError when a job is wider than the cluster. Under these rules the replay would wait for it for ever."""
    if len(jobs) and jobs.procs.max() > cluster_procs:
        raise _too_wide(jobs, int(jobs.procs.argmax()), cluster_procs)


def _too_wide(jobs: Jobs, index: int, cluster_procs: int) -> ValueError:
    return ValueError(
        f"job at index {index} needs {jobs.procs[index]} processors, the cluster has {cluster_procs}: give the cluster's "
        "true processor count"
    )


def _whole_nodes(jobs: Jobs, cluster_procs: int, procs_per_node: float) -> tuple[int, NDArray[np.int64]]:
    """Nodes of the cluster, and the nodes that each job takes, int64 (num_jobs,)."""
    if procs_per_node <= 0:
        raise ValueError(f"processors per node must be above 0, got {procs_per_node}")
    nodes = round(cluster_procs / procs_per_node)
    if not math.isclose(nodes * procs_per_node, cluster_procs):
        raise ValueError(f"{cluster_procs} processors are not a whole number of nodes with {procs_per_node} each")
    need = np.ceil(jobs.procs / procs_per_node).astype(np.int64)
    if len(jobs) and need.max() > nodes:
        raise _too_wide(jobs, int(need.argmax()), cluster_procs)
    return nodes, need


def _number_and_scores(
    jobs: Jobs, cluster_procs: int, policy: str | Policy, sample: int
) -> tuple[int, NDArray[np.float64]]:
    """A policy's number in the loop, and the scores that the loop gets, float64 (num_jobs,), or (0,) for none."""
    name = policy if isinstance(policy, str) else policy.name
    number = policy_number(name)
    if number is not None:
        return number, np.zeros(0)
    if isinstance(policy, str):
        raise ValueError(unknown_word("policy", policy, POLICIES))
    learned = policy.kind == LEARNED
    if not learned and policy.fixed is None:
        raise ValueError(
            f"policy {policy.name!r} orders waiting jobs again and again, which the RLScheduler rules cannot: use one of "
            f"{', '.join(POLICIES)}, a formula of what is known at submission, or a trained policy"
        )
    given = np.zeros(0)
    if policy.fixed is not None and (not learned or sample == FOLLOW):
        given = np.asarray(policy.fixed(jobs, cluster_procs), dtype=np.float64)
    return (KERNEL_NETWORK if learned else GIVEN_SCORES), given


def rlscheduler_metrics(jobs: Jobs, schedule: Schedule, cluster_procs: int) -> dict[str, float]:
    """The figures of that code for a whole replay, plain averages over its jobs. Their names have the units.

    utilisation_as_coded divides by the time from the first submission to the last *start*. So it is too high and can
    exceed 1 (nan when nothing starts later than that submission). utilisation_makespan divides by the time to the last
    completion. last_start_s is in the log's clock. Run times must be above 0, because that code drops other jobs.
    Raises ValueError when there is no job.
    """
    if len(jobs) == 0:
        raise ValueError("no job to measure: the replay is empty")
    wait = schedule.start - jobs.submit
    turnaround = wait + jobs.runtime
    slowdown = bounded_slowdown(wait, jobs.runtime)
    first_submit, last_start = int(jobs.submit[0]), int(schedule.start.max())
    makespan = int((schedule.start + jobs.runtime).max()) - first_submit
    area = int((jobs.runtime * jobs.procs).sum())
    return {
        "average_bounded_slowdown": float(slowdown.mean()),
        "max_bounded_slowdown": float(slowdown.max()),
        "average_wait_s": float(wait.mean()),
        "average_turnaround_s": float(turnaround.mean()),
        "average_slowdown": float((turnaround / jobs.runtime).mean()),
        "utilisation_as_coded": _share(area, cluster_procs * (last_start - first_submit)),
        "utilisation_makespan": _share(area, cluster_procs * makespan),
        "last_start_s": float(last_start),
        "makespan_s": float(makespan),
    }


def _share(part: int, whole: int) -> float:
    return part / whole if whole > 0 else math.nan
