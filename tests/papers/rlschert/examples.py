"""Small clusters for examples of docs/reference/rlschert.md that were worked by hand.

Jobs are written (arrive, length, procs, first) or (..., {t: remaining[t]}); the remaining times that are not given are true.
Letters stand for the jobs' numbers.
"""

from __future__ import annotations

from tests.simulator.oracle_rlschert import LONGEST, OracleCluster

A, B, C, D, E = range(5)


def cluster(*jobs, **options):
    """A small cluster: 4 processors and 12 units of plan, where the options do not say otherwise."""
    remaining = []
    for job in jobs:
        given = job[4] if len(job) > 4 else {}
        remaining.append([given.get(t, max(job[1] - t, 1)) for t in range(LONGEST)])
    columns = [list(column) for column in zip(*(job[:4] for job in jobs), strict=True)]
    return OracleCluster(*columns, remaining, **{"cluster_procs": 4, "horizon": 12, **options})


def after(c, units):
    for _ in range(units):
        c.wait()
    return c
