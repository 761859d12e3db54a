"""Logs of a small cluster under rules that the tests know, and the code under test does not."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from models.identification.logged_jobs import Holders, StartedJobs
from models.identification.replaying import RuledCluster
from models.identification.rules import IdentifiedRule
from simulator.jobs.jobs import Jobs

PROCS, USERS = 64, 12
ZERO_S = int(datetime(2026, 1, 5, tzinfo=UTC).timestamp())
"""A Monday."""
DAY_S = 86_400


def hidden_log(*rules: IdentifiedRule, count: int = 2400, days: int = 60, seed: int = 3) -> StartedJobs:
    """Jobs that come in bursts of one user, with the starts that a replay under the rules gives them."""
    rng = np.random.default_rng(seed)
    user = np.repeat(rng.integers(0, USERS, count // 8), 8)[:count]
    burst = np.repeat(np.sort(rng.integers(0, days * DAY_S, count // 8)), 8)[:count]
    submit = np.sort(burst + rng.integers(0, 600, count))
    limit = rng.choice([1800, 3600, 7200, 4 * 3600, 12 * 3600], count, p=[0.2, 0.2, 0.2, 0.25, 0.15])
    runtime = np.maximum((limit * rng.uniform(0.3, 1.0, count)).astype(np.int64), 1)
    jobs = Jobs(submit, runtime, rng.choice([1, 2, 4], count), limit, limit, user=user)
    names = tuple(f"user-{number}" for number in range(USERS))
    queue = Holders((limit > 2 * 3600).astype(np.int64), ("short", "long"))
    empty = StartedJobs(jobs, submit, {"user": Holders(user, names), "queue": queue}, ZERO_S, "Europe/Berlin")
    waits = RuledCluster(PROCS, rules).waits(empty)
    assert waits is not None
    return StartedJobs(jobs, submit + waits, empty.holders, ZERO_S, "Europe/Berlin")
