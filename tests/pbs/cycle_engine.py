"""The engine of PBS's cycle on what the oracle of it takes: the same jobs and the same site, in the engine's words."""

from __future__ import annotations

import numpy as np

from simulator.pbs.loop import run_pbs
from simulator.pbs.replaying import new_pbs_replay
from simulator.pbs.requests import PbsJob, Piece
from simulator.pbs.settings import PbsPhases
from simulator.pbs.state import UNSET
from tests.pbs.cycle import LASTS_S
from tests.pbs.cycle_types import CycleAmounts, CycleHours, CycleJob, CycleLimit, CycleShares, CycleSite
from traces.cluster.accounts import Account, AccountUser, Limit
from traces.cluster.description import (
    AdvanceReservation,
    ClusterDescription,
    Node,
    Partition,
    SchedulerSettings,
    Setting,
)

_KIB = 1024
"""The oracle's memory is in MiB here, and the engine's requests in KiB."""
_RESOURCES = {"": "jobs", "ncpus": "cpu", "memory": "mem", "gpus": "gpu"}


def engine_starts(jobs: tuple[CycleJob, ...], site: CycleSite) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Second of the first start of each job that starts while the oracle goes on, and its last nodes. Arguments as those of
    `cycle_starts`."""
    cluster = described(site)
    asked = requests_of(jobs)
    submit = np.array([job.submit_s for job in jobs], dtype=np.int64)
    runtime = np.array([job.runtime_s for job in jobs], dtype=np.int64)
    shares = site.settings.shares
    decay_s = shares.began_s + shares.decay_s - int(submit.min()) if shares else None
    replay = new_pbs_replay(cluster, asked, (submit, runtime), PbsPhases(decay_s=decay_s))
    run_pbs(replay)
    running = replay.engine.running
    order = sorted(cluster.nodes, key=lambda node: node.weight)
    return {
        job.name: (
            int(replay.first_start[k]),
            tuple(sorted({order[n].name for n in running.node[running.first[k] :][: running.count[k]]})),
        )
        for k, job in enumerate(jobs)
        if replay.first_start[k] != UNSET and replay.first_start[k] <= submit.max() + LASTS_S
    }


def requests_of(jobs: tuple[CycleJob, ...]) -> list[PbsJob]:
    """The jobs in the engine's words."""
    arrays = {name: k for k, name in enumerate(dict.fromkeys(job.array for job in jobs if job.array))}
    return [_asked(job, arrays) for job in jobs]


def described(site: CycleSite) -> ClusterDescription:
    """The site as a cluster whose scheduler is PBS."""
    settings = site.settings
    values: dict[str, Setting] = {
        "strict_ordering": settings.strict_ordering,
        "by_queue": settings.by_queue,
        "backfill_depth": settings.backfill_depth,
        "preemptive_sched": settings.preempts,
        "preempt_order": settings.preempt_order,
        "scheduler_iteration": settings.iteration_s,
        "preempt_prio": ", ".join("+".join(words) for words in settings.levels),
    } | _hours(site.hours)
    if settings.formula:
        values["job_sort_formula"] = settings.formula.text
    if settings.widest_first:
        values["job_sort_key"] = "ncpus HIGH"
    accounts, members = _tree(settings.shares) if settings.shares else ((), ())
    if settings.shares:
        values |= {
            "fair_share": True,
            "fairshare_usage_res": "ncpus*walltime",
            "unknown_shares": settings.shares.unknown_shares,
            "fairshare_decay_time": str(settings.shares.decay_s),
            "fairshare_decay_factor": settings.shares.decay_factor,
        }
    return ClusterDescription(
        "oracle",
        tuple(
            Node(
                node.name,
                node.has.ncpus,
                node.has.memory,
                {"": node.has.gpus} if node.has.gpus else {},
                weight=100 - node.priority,
                host=node.host,
            )
            for node in site.nodes
        ),
        tuple(Partition(queue.name, tier=queue.priority, is_default=not k) for k, queue in enumerate(site.queues)),
        accounts,
        members,
        limits=tuple(map(_limit, site.limits)),
        reservations=tuple(
            AdvanceReservation(each.name, each.begin_s, each.end_s, each.announced_s, tuple(each.nodes))
            for each in site.reservations
        )
        + tuple(
            AdvanceReservation(f"D{begin}", begin, end, flags=("dedicated",), partitions=_dedicated(site))
            for begin, end in site.hours.dedicated
        ),
        scheduler=SchedulerSettings("pbs", "23.06", values),
    )


def _tree(shares: CycleShares) -> tuple[tuple[Account, ...], tuple[AccountUser, ...]]:
    groups = {parent for parent, _ in shares.tree.values()}
    return (
        tuple(Account(name, parent, amount) for name, (parent, amount) in shares.tree.items() if name in groups),
        tuple(
            AccountUser(name, parent, amount) for name, (parent, amount) in shares.tree.items() if name not in groups
        ),
    )


def _limit(limit: CycleLimit) -> Limit:
    owner = "partition" if limit.owner else "cluster"
    return Limit(
        owner,
        limit.owner,
        "running",
        limit.each,
        _RESOURCES[limit.resource],
        limit.bound,
        limit.who,
        is_soft=limit.is_soft,
    )


def _dedicated(site: CycleSite) -> tuple[str, ...]:
    return tuple(queue.name for queue in site.queues if queue.hours == "ded")


def _hours(hours: CycleHours) -> dict[str, Setting]:
    days = "MO,TU,WE,TH,FR,SA,SU"
    spans = [f"{days} {b // 60:02}{b % 60:02}-{e // 60:02}{e % 60:02}" for b, e in hours.prime]
    return {
        "prime_time": "; ".join(spans),
        "backfill_prime": hours.stays,
        "prime_spill": f"00:00:{hours.spill_s[0]:02}",
        "prime_spill.non_prime": f"00:00:{hours.spill_s[1]:02}",
        "prime_exempt_anytime_queues": hours.exempts,
    }


def _asked(job: CycleJob, arrays: dict[str, int]) -> PbsJob:
    return PbsJob(
        job.submit_s,
        tuple(_pieces(job.chunks)),
        job.walltime_s,
        job.soft_walltime_s,
        job.arrangement,
        "excl" if job.is_exclusive else "",
        job.queue if not job.reservation else "",
        job.user,
        job.group,
        job.project,
        reservation=job.reservation,
        array=arrays[job.array] if job.array else -1,
        array_limit=job.array_limit or 0,
        begin_s=job.released_s,
    )


def _pieces(chunks: tuple[CycleAmounts, ...]) -> list[Piece]:
    """Equal chunks that stand side by side are one piece."""
    pieces: list[tuple[CycleAmounts, int]] = []
    for chunk in chunks:
        if pieces and pieces[-1][0] == chunk:
            pieces[-1] = (chunk, pieces[-1][1] + 1)
        else:
            pieces.append((chunk, 1))
    return [
        Piece(
            count,
            {
                name: amount
                for name, amount in (("ncpus", each.ncpus), ("mem", each.memory * _KIB), ("ngpus", each.gpus))
                if amount
            },
        )
        for each, count in pieces
    ]
