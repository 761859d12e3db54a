"""Random small clusters, rules and jobs, on which an engine can be held against the oracle of PBS's cycle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.pbs.cycle_types import (
    CycleAmounts,
    CycleFormula,
    CycleHours,
    CycleJob,
    CycleLimit,
    CycleNode,
    CycleQueue,
    CycleReservation,
    CycleSettings,
    CycleShares,
    CycleSite,
)

USERS = ("ann", "bob", "cat", "dan")
SHARES = {"a": ("root", 61), "b": ("root", 37), "ann": ("a", 53), "bob": ("a", 29), "cat": ("b", 17)}
"""Shares that make ties rare; dan is in no group."""


LEVELS = (
    (("express_queue",), ("normal_jobs",), ("server_softlimits",)),
    (("express_queue",), ("normal_jobs",), ("queue_softlimits",), ("server_softlimits",)),
    (("express_queue", "server_softlimits"), ("express_queue",), ("normal_jobs",), ("queue_softlimits",)),
    (("express_queue",), ("queue_softlimits",), ("normal_jobs",)),
)
"""Of preempt_prio."""


def cycle_workload(seed: int, jobs: int = 30) -> tuple[tuple[CycleJob, ...], CycleSite]:
    """Jobs in the order of their submission, and the site. About half of the seeds have each kind of rule."""
    rng = np.random.default_rng(seed)
    nodes = _nodes(rng)
    queues = tuple(CycleQueue(f"q{k}", int(rng.choice((0, 10, 10, 50, 160)))) for k in range(int(rng.integers(1, 4))))
    reservations = _reservations(rng, nodes) if rng.random() < 0.5 else ()
    limits = tuple(_limit(rng, queues) for _ in range(int(rng.integers(0, 4)))) if rng.random() < 0.5 else ()
    limits = tuple({(one.owner, one.each, one.who, one.resource): one for one in limits}.values())
    site = _with_hours_and_levels(
        np.random.default_rng((seed, 1)), CycleSite(nodes, queues, limits, reservations, _settings(rng))
    )
    submit_s, listed = 0, []
    while len(listed) < jobs:
        submit_s += int(rng.choice((0, 0, 1, 7, 40)))
        job = _job(rng, f"j{len(listed)}", submit_s, site)
        listed += _tasks(rng, job) if rng.random() < 0.07 else [job]
    return tuple(listed), replace(site, hours=replace(site.hours, ends_s=submit_s + 366 * 86_400))


def _with_hours_and_levels(rng: np.random.Generator, site: CycleSite) -> CycleSite:
    """The site with prime time and dedicated time in its first quarter of an hour, with soft limits, and with victims that are deleted."""
    if rng.random() < 0.4:
        minutes = sorted(rng.choice(15, size=4, replace=False).tolist())
        prime = ((minutes[0], minutes[1]), (minutes[2], minutes[3]))[: int(rng.integers(0, 3))]
        dedicated = (
            tuple((int(begin), int(begin) + 80) for begin in rng.choice((90, 200, 431), size=1))
            if rng.random() < 0.4
            else ()
        )
        spill_s = (int(rng.choice((0, 30))), int(rng.choice((0, 10))))
        hours = CycleHours(prime, bool(rng.random() < 0.7), spill_s, bool(rng.random() < 0.3), dedicated)
        words = ["", "", *(("p_", "np_") if prime else ()), *(("ded",) if dedicated else ())]
        queues = tuple(
            replace(queue, name=f"{word}{queue.name}", hours=word)
            for queue, word in zip(site.queues, rng.choice(words, size=len(site.queues)).tolist(), strict=True)
        )
        names = {old.name: new.name for old, new in zip(site.queues, queues, strict=True)} | {"": ""}
        limits = tuple(replace(limit, owner=names[limit.owner]) for limit in site.limits)
        site = replace(site, queues=queues, limits=limits, hours=hours)
    if site.settings.preempts and rng.random() < 0.5:
        soft = tuple(replace(_limit(rng, site.queues), is_soft=True) for _ in range(2))
        soft = tuple({(one.owner, one.each, one.who, one.resource): one for one in soft}.values())
        levels = LEVELS[int(rng.integers(len(LEVELS)))]
        site = replace(site, limits=site.limits + soft, settings=replace(site.settings, levels=levels))
    if rng.random() < 0.2:
        site = replace(site, settings=replace(site.settings, preempt_order="D"))
    return site


def _tasks(rng: np.random.Generator, job: CycleJob) -> list[CycleJob]:
    """An array of such jobs, half of the arrays with a limit of their own."""
    limit = int(rng.integers(1, 3)) if rng.random() < 0.5 else None
    return [
        replace(
            job,
            name=f"{job.name}[{k}]",
            runtime_s=int(rng.integers(1, 30)),
            array=job.name,
            array_limit=limit,
            reservation="",
            released_s=0,
        )
        for k in range(int(rng.integers(2, 5)))
    ]


def _nodes(rng: np.random.Generator) -> tuple[CycleNode, ...]:
    several = rng.random() < 0.25
    return tuple(
        CycleNode(
            f"n{k}",
            CycleAmounts(int(rng.choice((4, 8))), int(rng.choice((16, 32))), int(rng.choice((0, 0, 2)))),
            f"h{k // 2}" if several else f"n{k}",
            int(rng.choice((0, 5))) if rng.random() < 0.2 else 0,
        )
        for k in range(int(rng.integers(2, 7)))
    )


def _reservations(rng: np.random.Generator, nodes: tuple[CycleNode, ...]) -> tuple[CycleReservation, ...]:
    """One after another, so that they never ask for the same nodes at once."""
    reservations, begin_s = [], 0
    for k in range(int(rng.integers(1, 3))):
        begin_s += int(rng.integers(40, 160))
        end_s = begin_s + int(rng.integers(20, 80))
        chosen = rng.choice(len(nodes), size=int(rng.integers(1, len(nodes) + 1)), replace=False)
        has = {nodes[j].name: nodes[j].has for j in sorted(chosen)}
        reservations.append(CycleReservation(f"R{k}", begin_s, end_s, has))
        begin_s = end_s + 31
    return tuple(reservations)


def _limit(rng: np.random.Generator, queues: tuple[CycleQueue, ...]) -> CycleLimit:
    owner = "" if rng.random() < 0.5 else queues[int(rng.integers(len(queues)))].name
    each = str(rng.choice(("user", "group", "all")))
    who = str(rng.choice(USERS)) if each == "user" and rng.random() < 0.3 else ""
    if rng.random() < 0.5:
        return CycleLimit(owner, each, int(rng.integers(1, 4)), who)
    return CycleLimit(owner, each, int(rng.integers(4, 17)), who, "ncpus")


def _settings(rng: np.random.Generator) -> CycleSettings:
    cap_s = float(rng.choice((50, 400)))
    return CycleSettings(
        strict_ordering=bool(rng.random() < 0.7),
        by_queue=bool(rng.random() < 0.5),
        backfill_depth=int(rng.choice((0, 1, 1, 2, 3))),
        formula=CycleFormula(cap_s) if rng.random() < 0.3 else None,
        widest_first=bool(rng.random() < 0.2),
        shares=CycleShares(SHARES, 11, int(rng.choice((30, 97))), 0.5, polls_s=10) if rng.random() < 0.3 else None,
        preempts=bool(rng.random() < 0.3),
        preempt_order=str(rng.choice(("SCR", "SCR", "CR", "R"))),
    )


def _job(rng: np.random.Generator, name: str, submit_s: int, site: CycleSite) -> CycleJob:
    walltime_s = int(rng.choice((5, 20, 60, 100)))
    runtime_s = int(rng.integers(0, walltime_s + 1)) if rng.random() < 0.9 else walltime_s + 5
    chunk = CycleAmounts(int(rng.integers(1, 5)), int(rng.choice((0, 0, 4, 12))), int(rng.random() < 0.1))
    chunks = (chunk,) * int(rng.integers(1, min(4, len(site.nodes)) + 1))
    if rng.random() < 0.2:
        chunks += (CycleAmounts(int(rng.integers(1, 9))),)
    coming = [each.name for each in site.reservations if each.end_s > submit_s]
    return CycleJob(
        name,
        submit_s,
        runtime_s,
        chunks,
        walltime_s if rng.random() < 0.93 else None,
        walltime_s // 2 if rng.random() < 0.05 else None,
        arrangement=str(rng.choice(("free", "free", "pack", "scatter"))),
        is_exclusive=bool(rng.random() < 0.15),
        queue=site.queues[int(rng.integers(len(site.queues)))].name,
        user=str(rng.choice(USERS)),
        group=str(rng.choice(("g", "h"))),
        reservation=str(rng.choice(coming)) if coming and rng.random() < 0.15 else "",
        released_s=submit_s + int(rng.integers(1, 60)) if rng.random() < 0.05 else 0,
    )
