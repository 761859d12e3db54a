"""Scheduling policies as priority functions: the job with the lowest score goes first (docs/semantics.md)."""

from __future__ import annotations

import math

import numba

FCFS, SJF, SAF, F1, WFP3, UNICEP, LEARNED = range(7)

POLICIES = {"FCFS": FCFS, "SJF": SJF, "SAF": SAF, "WFP3": WFP3, "UNICEP": UNICEP, "F1": F1, "learned": LEARNED}
"""Names as users write them; a heuristic is every one but `learned`."""

HEURISTICS = tuple(name for name, policy in POLICIES.items() if policy != LEARNED)


@numba.njit(cache=True)
def is_static(policy):
    """True when a job's score never changes while it waits, so that the queue can stay sorted."""
    return policy <= F1


@numba.njit(cache=True)
def static_score(policy, submit, estimate, procs, origin):
    if policy == FCFS:
        return float(submit)
    if policy == SJF:
        return float(estimate)
    if policy == SAF:
        return float(estimate) * float(procs)
    # F1, Carastan-Santos and de Camargo 2017, table 3: counts submit times from a fixed origin, at least 0.1 s
    return math.log10(estimate) * procs + 870.0 * math.log10(max(float(submit - origin), 0.1))


@numba.njit(cache=True)
def waiting_score(policy, wait, estimate, procs):
    if policy == WFP3:  # Tang et al. 2009
        return -((wait / estimate) ** 3) * procs
    # UNICEP, ibid.; the small term lets a serial job (log2(1) = 0) come first instead of dividing by zero
    return -wait / (math.log2(procs + 1e-15) * estimate)
