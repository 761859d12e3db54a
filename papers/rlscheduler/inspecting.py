"""SchedInspector (Zhang et al., HPDC 2022) under its own rules: the RLScheduler event loop, whose decisions an inspector accepts or
rejects before the loop commits to them.

Rules: docs/reference/semantics.md, "The RLScheduler rule set", *Inspected*. Source: HPCSimSkip.py and pick-compare-skip.py of
DIR-LAB/SchedInspector. Who inspects is `Policy.agent.inspecting` (simulator/policies/agents.py). The event loop of
papers/rlscheduler/loop.py takes the steps below.

A network scores two rows, to accept and to reject, which differ in the input `answers_no` alone. The layout "inspector-paper"
(simulator/policies/observation.py) has the seven published inputs besides. The published actor is another network: a perceptron
7-32-16-8-2 with ReLU, which reads the seven inputs once and has an output for each answer. Its inputs are cut off at 1 - 1e-5, and its
requests are the run times (estimates="actual" here).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from papers.compiled import compiled, inlined
from simulator.policies.agents import ASKED, NETWORK, NO_ONE, REJECT, UNFIT
from simulator.policies.observation import observe_pick
from simulator.policies.registry import Policy, parse_policy
from simulator.policies.sampling import choose_row

INSPECTOR_BASES = (
    *("FCFS", "LCFS", "smallest", "largest", "SJF", "LJF", "SAF", "LAF", "SEXP", "LEXP", "SRF", "LRF"),
    *("multifactor", "F1", "WFP3", "UNICEP"),
)
"""The policies that are inspected, in the order of that code."""
OWN_FORMULAS = ("SJF", "SEXP", "LEXP", "multifactor")
"""Bases whose name is that of another policy here. Those of that code are called inspector-SJF and so on."""

NOT_RECORDED, REJECTED_PICK, ACCEPTED_PICK = range(-1, 2)
"""What `inspect_pick` returns."""


@dataclass(frozen=True)
class InspectorProtocol:
    """Faults of that code that a replay can have. The fault of the wait is `wait_bug` of papers/rlscheduler/rules.py.

    full_intervals: a rejection counts as the whole interval in the time that its job has been rejected for, which networks read,
        whatever has passed. still_when_idle: with nothing left to arrive and nothing running, a rejection lets no time pass.
    """

    full_intervals: bool = False
    still_when_idle: bool = False


USUAL_PROTOCOL = InspectorProtocol()


def inspector_base(name: str) -> Policy:
    """The policy that SchedInspector calls so, any case: that of the name, or of OWN_FORMULAS the one of that code.

    Under the RLScheduler rules those that know the wait use the true one at each decision, or with `wait_bug` the wrong one. There
    inspector-multifactor always uses the true wait: that code reads the wait that the log has recorded, which logs without it do not
    have. Raises ValueError for a name that is not in `INSPECTOR_BASES`.
    """
    usual = {base.lower(): base for base in INSPECTOR_BASES}
    base = usual.get(name.strip().lower())
    if base is None:
        raise ValueError(f"unknown base {name!r} of an inspector; expected one of {', '.join(INSPECTOR_BASES)}")
    return parse_policy(policy_of_base(base))


def policy_of_base(base: str) -> str:
    """What `--policy` calls a base of INSPECTOR_BASES."""
    return f"inspector-{base}" if base in OWN_FORMULAS else base


class Inspector(NamedTuple):
    """Who accepts or rejects, and what a rejection means; see Inspecting and InspectorProtocol."""

    by: int
    rejections: int
    interval_s: int
    sample: int
    full_intervals: bool
    still_when_idle: bool


class Rejections(NamedTuple):
    """What a replay keeps of rejections."""

    times: NDArray[np.int64]  # (jobs,) how often
    seconds: NDArray[np.int64]  # (jobs,) for how long
    picked: NDArray[np.int64]  # (1,) the job that is inspected


def inspector_of(policy: str | Policy, sample: int, protocol: InspectorProtocol) -> Inspector | None:
    """Who inspects this policy's decisions under the RLScheduler rules, None for nobody. sample: see simulator/policies/network.py.

    Raises ValueError where the policy's agent does what these rules cannot.
    """
    agent = None if isinstance(policy, str) else policy.agent
    if agent is None:
        return None
    if agent.picking.by != NO_ONE:
        raise ValueError(
            "under the RLScheduler rules jobs are backfilled by that code's own rule, so nobody can pick them: use "
            "rule_set='standard', or an agent that only inspects"
        )
    inspecting = agent.inspecting
    if inspecting.by == ASKED:
        raise ValueError(
            "a replay under the RLScheduler rules does not stop to ask: let a rule (accept, unfit, reject) or a network inspect, or "
            "step the standard rules"
        )
    if inspecting.by == NO_ONE:
        return None
    return Inspector(
        inspecting.by,
        inspecting.rejections,
        inspecting.interval_s,
        sample,
        protocol.full_intervals,
        protocol.still_when_idle,
    )


@compiled
def new_rejections(jobs):
    """Nobody has been rejected."""
    return Rejections(np.zeros(jobs, np.int64), np.zeros(jobs, np.int64), np.zeros(1, np.int64))


@inlined
def inspect_pick(inspector, job, fits, rejections, moment, network, sight, recorder):
    """Whether the chosen job is accepted: ACCEPTED_PICK, REJECTED_PICK, or NOT_RECORDED when the recorder is full. fits: whether it
    would start now. network: NetworkInputs. sight: the loop's rows and scratch."""
    answer = np.int64(ACCEPTED_PICK)
    if rejections.times[job] < inspector.rejections:
        if inspector.by == NETWORK:
            held_s = rejections.seconds[job]
            rejections.picked[0] = job
            observe_pick(moment, held_s, network, rejections.picked, moment.estimate, sight.room, sight.rows)
            now, weights, sample = moment.now, network.weights, inspector.sample
            row = choose_row(recorder, sample, sight.rows, 2, weights, sight.outputs, now)
            answer = np.int64(NOT_RECORDED) if row < 0 else np.int64(ACCEPTED_PICK - row)
        elif inspector.by == REJECT or (inspector.by == UNFIT and not fits):
            answer = np.int64(REJECTED_PICK)
    return answer


@inlined
def count_rejection(inspector, rejections, job, passed_s):
    """Another rejection of the job, after which so many seconds have passed."""
    rejections.times[job] += 1
    rejections.seconds[job] += inspector.interval_s if inspector.full_intervals else passed_s
