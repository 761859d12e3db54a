"""The policies of docs/reference/semantics.md: scores, queue order, and whether rounding could have decided that order.

Scores are computed from scratch for every ordering; a user's usage is a sum over everything that ever ran.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tests.simulator.oracle_types import Job, RunningJob, Workload

DAY_S = 86_400

# Every policy with the options it has and their defaults.
OPTIONS: dict[str, dict[str, float]] = {
    **{name: {} for name in ("fcfs", "lcfs", "sjf", "ljf", "smallest", "largest", "saf", "sexp", "lexp")},
    **{name: {} for name in ("laf", "srf", "lrf", "inspector-sjf", "inspector-sexp", "inspector-lexp")},
    "inspector-multifactor": {},
    **{name: {} for name in ("wfp3", "unicep", "f1", "f2", "f3", "f4", "tetris", "tetris-star")},
    "random": {"seed": 1},
    "bounded-key": {"factor": 10, "cap_hours": 12},
    "fairshare": {"half_life_days": 7},
    "multifactor": {"age": 1000, "max_age_days": 14, "fairshare": 10_000, "size": 1000, "half_life_days": 7},
}
POLICIES = tuple(OPTIONS)
LOOKS_AT_FREE = ("tetris", "tetris-star")

# Two scores computed by two correct programs differ by a few units in the last place (1e-16 of their terms), or by more
# where they are made of long sums that may be accumulated in another order. Scores farther apart than this share of
# their terms are ordered alike by both; nearer ones are reported as ambiguous.
TOLERANCE = 1e-12
TOLERANCE_OF_SUMS = 1e-9
SUMS = ("fairshare", "multifactor", "tetris-star")
FORMULAS = ("wfp3", "unicep", "f1", "f2", "f3", "f4", "bounded-key", "inspector-multifactor")
"""Scores that rounding may order; those of all other policies are exact, or one division of whole numbers."""


class Policy(NamedTuple):
    """A policy by its name in lower case and its options."""

    name: str
    options: dict[str, float]


class Moment(NamedTuple):
    """What the scores depend on besides the job: time `t` (s), processors, and usage in processor-seconds by user."""

    t: int
    cluster_procs: int
    free: int
    origin: int = 0
    random: Sequence[float] = ()
    usage: dict[int, float] = {}
    usage_of_all: float = 0.0
    users: int = 1
    mean_alignment: float = 0.0
    mean_estimate: float = 1.0


def parse_policy(text: str) -> Policy:
    """Return the policy that a text like "multifactor:age=500,size=0" names; raises ValueError for an unknown one."""
    name, options = parse_choice(text)
    if name not in OPTIONS:
        raise ValueError(f"unknown policy {text!r}")
    return Policy(name, with_defaults(text, options, OPTIONS[name]))


def parse_choice(text: str) -> tuple[str, dict[str, float]]:
    """Split "name:option=1,other=2" into the name in lower case and the options as numbers."""
    name, _, rest = text.lower().partition(":")
    pairs = [part.partition("=") for part in rest.split(",") if part]
    return name, {option.strip(): float(value) for option, _, value in pairs}


def with_defaults(text: str, options: dict[str, float], defaults: dict[str, float]) -> dict[str, float]:
    """Fill in the defaults; raises ValueError for an option that has none."""
    if not options.keys() <= defaults.keys():
        raise ValueError(f"unknown option in {text!r}")
    return {**defaults, **options}


def moment(
    policy: Policy, workload: Workload, waiting: Sequence[Job], history: Sequence[RunningJob], t: int, free: int
) -> Moment:
    """Return what the policy's scores depend on at `t` (s); `history` is every job that ever held processors."""
    now = Moment(t, workload.cluster_procs, free, workload.origin)
    if policy.name == "random":
        return now._replace(random=random_numbers(int(policy.options["seed"]), len(workload.jobs)))
    if policy.name in ("fairshare", "multifactor"):
        usage = usage_of_users(history, workload.jobs[0].submit, t, policy.options["half_life_days"] * DAY_S)
        users = {job.user for job in workload.jobs} | {job.user for job, _ in workload.running}
        return now._replace(usage=usage, usage_of_all=math.fsum(usage.values()), users=len(users))
    if policy.name == "tetris-star":
        fitting = [job for job in waiting if job.procs <= free]
        if fitting:
            return now._replace(
                mean_alignment=math.fsum(alignment(job, now) for job in fitting) / len(fitting),
                mean_estimate=sum(job.estimate for job in fitting) / len(fitting),
            )
    return now


def random_numbers(seed: int, num_jobs: int) -> list[float]:
    """Return the numbers in [0, 1) of the random policy, one per job."""
    return np.random.default_rng(seed).random(num_jobs).tolist()


def usage_of_users(history: Sequence[RunningJob], first_event: int, t: int, half_life_s: float) -> dict[int, float]:
    """Return U(u, t) in processor-seconds for every user who ever held processors after `first_event` (s).

    The integral of p * 2^(-(t - v) / H) over v from a to b is p * H / ln 2 * 2^(-(t - b) / H) * (1 - 2^(-(b - a) / H)).
    """
    parts: dict[int, list[float]] = defaultdict(list)
    for running in history:
        begin, end = max(running.start, first_event), min(running.end, t)
        if begin < end:
            held = -math.expm1(-math.log(2) * (end - begin) / half_life_s)
            decay = 2.0 ** (-(t - end) / half_life_s)
            parts[running.job.user].append(running.job.procs * half_life_s / math.log(2) * decay * held)
    return {user: math.fsum(terms) for user, terms in parts.items()}


def alignment(job: Job, now: Moment) -> float:
    """Return Tetris' dot product of what the job needs and what is free, both as shares of the cluster."""
    return (job.procs / now.cluster_procs) * (now.free / now.cluster_procs)


def score(policy: Policy, job: Job, now: Moment) -> float:
    """Return the policy's score of a waiting job; the lowest goes first."""
    wait, e, p = now.t - job.submit, job.estimate, job.procs
    match policy.name:
        case "fcfs":
            return job.submit
        case "lcfs":
            return -job.submit
        case "sjf":
            return e
        case "ljf":
            return -e
        case "smallest":
            return p
        case "largest":
            return -p
        case "saf":
            return e * p
        case "laf":
            return -e * p
        case "srf":
            return e / p
        case "lrf":
            return -e / p
        case "inspector-sjf":
            return e * (now.cluster_procs + 1) + p
        case "inspector-sexp":
            return (wait + e) / p
        case "inspector-lexp":
            return -(wait + e) / p
        case "sexp":
            return (wait + e) / e
        case "lexp":
            return -(wait + e) / e
        case "wfp3":
            return -((wait / e) ** 3) * p
        case "unicep":
            return -wait / (math.log2(p + 1e-15) * e)
        case "tetris":
            return -alignment(job, now) if p <= now.free else 1.0
        case "random":
            return now.random[job.order]
        case "fairshare":
            return now.usage.get(job.user, 0.0)
        case "tetris-star" if p > now.free:
            return 1e300
    return sum(terms(policy, job, now))


def terms(policy: Policy, job: Job, now: Moment) -> tuple[float, ...]:
    """Return the terms of the scores that are sums."""
    e, p = job.estimate, job.procs
    log_submit = math.log10(max(job.submit - now.origin, 0.1))
    match policy.name:
        case "f1":
            return math.log10(e) * p, 870 * log_submit
        case "f2":
            return math.sqrt(e) * p, 25_600 * log_submit
        case "f3":
            return e * p, 6_860_000 * log_submit
        case "f4":
            return e * math.sqrt(p), 530_000 * log_submit
        case "inspector-multifactor":
            return -1000 * (now.t - job.submit) / 43_200, -1000 * (1 - p / now.cluster_procs)
        case "bounded-key":
            delay = policy.options["factor"] * e * math.sqrt(p)
            return job.submit - now.origin, min(delay, 3600 * policy.options["cap_hours"])
        case "tetris-star":
            return -alignment(job, now), now.mean_alignment / now.mean_estimate * e
        case "multifactor":
            options = policy.options
            age = min((now.t - job.submit) / (options["max_age_days"] * DAY_S), 1)
            share = now.usage.get(job.user, 0.0) / now.usage_of_all if now.usage_of_all > 0 else 0.0
            fair_share = 2.0 ** (-share * now.users)
            return -options["age"] * age, -options["fairshare"] * fair_share, -options["size"] * p / now.cluster_procs
    raise AssertionError(policy.name)


def ordered(policy: Policy, waiting: Sequence[Job], now: Moment) -> list[Job]:
    """Return the waiting jobs in queue order: lowest score first; ties by submit time, then by order in the log."""
    return sorted(waiting, key=lambda job: (score(policy, job, now), job.submit, job.order))


def order_is_ambiguous(policy: Policy, queue: Sequence[Job], now: Moment) -> bool:
    """Say whether neighbours of an ordered queue have scores that rounding could swap, tie or untie."""
    if policy.name not in (*FORMULAS, *SUMS):
        return False
    for first, second in pairwise(queue):
        a, b = score(policy, first, now), score(policy, second, now)
        size = max(_size(policy, first, now), _size(policy, second, now))
        tolerance = TOLERANCE_OF_SUMS if policy.name in SUMS else TOLERANCE
        if abs(a - b) <= tolerance * size and _inputs(policy, first, now) != _inputs(policy, second, now):
            return True
    return False


def _size(policy: Policy, job: Job, now: Moment) -> float:
    """Return the size of the numbers that the score is made of, which its rounding error is relative to."""
    if policy.name in ("wfp3", "unicep", "fairshare"):
        return abs(score(policy, job, now))
    return sum(abs(term) for term in terms(policy, job, now))


def _inputs(policy: Policy, job: Job, now: Moment) -> tuple[object, ...]:
    """Return what the score depends on: jobs with equal inputs tie exactly, however the score is rounded."""
    wait = now.t - job.submit
    user = job.user if now.usage.get(job.user, 0.0) > 0 else None  # all who have used nothing are alike
    match policy.name:
        case "wfp3" | "unicep" if wait == 0:
            return (0,)
        case "wfp3":
            return Fraction(wait, job.estimate), job.procs
        case "unicep":
            return wait, job.estimate, job.procs
        case "fairshare":
            return (user,)
        case "inspector-multifactor":
            return wait, job.procs
        case "multifactor":
            return min(wait, policy.options["max_age_days"] * DAY_S), user, job.procs
        case "tetris-star" if job.procs > now.free:
            return (None,)
        case "tetris-star":
            return job.estimate, job.procs
    return job.submit, job.estimate, job.procs
