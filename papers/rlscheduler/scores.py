"""The scores by which the RLScheduler rules order jobs: that code's heuristics, their pattern, and what SchedInspector adds.

Formulas: docs/reference/semantics.md, "The RLScheduler rule set".
"""

from __future__ import annotations

import math

from papers.compiled import compiled

POLICIES = (
    *("FCFS", "LCFS", "SJF", "LJF", "smallest", "largest", "SAF"),
    *("F1", "F2", "F3", "F4", "WFP3", "UNICEP"),
)
"""Names as users write them. That code has FCFS, SJF, smallest, F1 to F4, WFP3 and UNICEP. The others follow its pattern."""
CHANGING_BASES = ("inspector-SEXP", "inspector-LEXP", "inspector-multifactor")
"""Policies of SchedInspector whose scores change with the wait. The standard rules have others called SEXP and the like."""

_FCFS, _LCFS, _SJF, _LJF, _SMALLEST, _LARGEST, _SAF, _F1, _F2, _F3, _F4, _WFP3, _UNICEP = range(len(POLICIES))
GIVEN_SCORES, KERNEL_NETWORK = len(POLICIES), len(POLICIES) + 1
"""Scores that come from outside, known at submission, and a kernel network, which that code calls RL."""
_SEXP, _LEXP, _MULTIFACTOR = range(KERNEL_NETWORK + 1, KERNEL_NETWORK + 1 + len(CHANGING_BASES))


def policy_number(name: str) -> int | None:
    """The number of a policy of POLICIES or CHANGING_BASES in the event loop, None for another name."""
    if name in POLICIES:
        return POLICIES.index(name)
    return KERNEL_NETWORK + 1 + CHANGING_BASES.index(name) if name in CHANGING_BASES else None


def takes_true_wait(policy: int, wait_bug: bool) -> bool:
    """Whether scores are taken again at each decision, with the true wait. wait_bug: the wrong one is taken where that code does.
    multifactor always takes the true one: that code reads the wait that the log has recorded."""
    return policy == _MULTIFACTOR or (not wait_bug and policy in (_WFP3, _UNICEP, _SEXP, _LEXP))


@compiled
def policy_score(policy, wait, submit, estimate, procs, cluster_procs):
    """The job with the lowest score goes first. submit: s since the trace's origin; log10 counts it at least 0.1 s."""
    # SJF and smallest break ties by submit time in that code, which is the order of the queue anyway
    if policy == _FCFS:
        return float(submit)
    if policy == _LCFS:
        return -float(submit)
    if policy == _SJF:
        return float(estimate)
    if policy == _LJF:
        return -float(estimate)
    if policy == _SMALLEST:
        return float(procs)
    if policy == _LARGEST:
        return -float(procs)
    if policy == _SAF:
        return float(estimate) * procs
    if policy in (GIVEN_SCORES, KERNEL_NETWORK):
        return 0.0
    if policy == _WFP3:
        return -math.pow(wait / estimate, 3.0) * procs
    if policy == _UNICEP:
        return -(wait + 1e-15) / (math.log2(procs + 1e-15) * estimate)
    if policy == _SEXP:
        return (wait + estimate) / procs
    if policy == _LEXP:
        return -((wait + estimate) / procs)
    if policy == _MULTIFACTOR:
        return -(1000.0 * wait / 43200.0 + 1000.0 * (1.0 - procs / cluster_procs))
    log_submit = math.log10(max(float(submit), 0.1))
    if policy == _F1:
        return math.log10(estimate) * procs + 870.0 * log_submit
    if policy == _F2:
        return math.sqrt(estimate) * procs + 25600.0 * log_submit
    if policy == _F3:
        return float(estimate) * procs + 6860000.0 * log_submit
    return estimate * math.sqrt(procs) + 530000.0 * log_submit
