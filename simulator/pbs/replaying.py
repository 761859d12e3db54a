"""PBS as a replayer: whole schedules from submissions, walltimes, run times and the configuration alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from simulator.formula.machine import NUM_SLOTS, STACK_SIZE, USER_SHARE
from simulator.jobs.cluster import FOREVER, Cluster, no_nodes
from simulator.jobs.coming import giving_up_of
from simulator.jobs.followers import NEVER_SUBMITTED, NO_JOB, chain_of, order_of_coming
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import CANCELLED, Schedule
from simulator.pbs.limiting import is_soft_limit, refused_jobs, run_limits
from simulator.pbs.loop import run_pbs
from simulator.pbs.planning import mark_hopeless
from simulator.pbs.queueing import pbs_share_tree, usage_rate
from simulator.pbs.requests import PbsJob, site_and_asks
from simulator.pbs.settings import (
    DELETED,
    EXPRESS,
    CycleSettings,
    PbsPhases,
    cycle_settings,
    preemption_levels,
    queue_depths,
    soft_limit_owners,
    sort_formula,
)
from simulator.pbs.state import (
    AFTER_ENDS,
    BEGINS,
    CONFIRMED,
    NEXT_SUBMIT,
    UNSET,
    Asks,
    Formulas,
    NodeLoad,
    PbsEngine,
    PbsQueue,
    PbsReplay,
    PbsRunning,
    PbsScratch,
    PbsSite,
    QueuedJobs,
    RunLimits,
    TopJobs,
    Victims,
)
from simulator.pbs.variants.warm import PbsWarmStart, begin_pbs_warm
from simulator.replayer import Outcome, nodes_of_jobs, watched
from traces.cluster.description import ClusterDescription

IntArray = NDArray[np.int64]
MOST_PREEMPTED = 16
"""Plans of a pass for preempted jobs, beside those of its depth."""
DEPENDENCY_KINDS = ("after", "afterany", "afterok", "afternotok")


@dataclass(frozen=True)
class PbsReplayer:
    """Replays a described cluster under its own PBS. asked: of the same jobs, in the same order.

    turns: (jobs,) for submissions and for ends, which of those of the same second come first; those of the same turn have one pass. None
    for ends before submissions, both in the order of submissions. late: (jobs,), seconds between the pass that starts a job and the stamp
    of its start, from which PBS expects its end in later passes. None for zero. drive: runs a replay, such as one that changes what jobs
    are planned for on the way. warm: what runs when the replay begins, which it does with `Cluster.running` and the waiting jobs. Then
    turns and late are of the running jobs and then of the others, and places of other jobs are among all of these."""

    description: ClusterDescription
    asked: Sequence[PbsJob]
    phases: PbsPhases = field(default_factory=PbsPhases)
    turns: tuple[IntArray, IntArray] | None = None
    late: IntArray | None = None
    drive: Callable[[PbsReplay], object] = run_pbs
    warm: PbsWarmStart | None = None
    honours: ClassVar[frozenset[str]] = frozenset()

    def replay(self, jobs: Jobs, cluster: Cluster) -> Outcome:
        """Replays all jobs. Jobs that can never start are CANCELLED, and `counts` says how many. So are jobs whose users give up, which do
        not count there, and jobs that are never submitted, which `counts` also has by themselves. Running jobs are not in the outcome.

        Raises ValueError if the requests are of other jobs, if jobs run that no warm start knows, or if a job follows another that already
        waits when the replay begins."""
        if len(jobs.submit) != len(self.asked):
            raise ValueError(f"{len(jobs.submit)} jobs, but requests of {len(self.asked)}")
        warm = self.warm or PbsWarmStart((), no_nodes(0))
        if len(cluster.outages) or len(cluster.running) != len(warm.asked):
            raise ValueError("PBS's replay begins without outages, and with running jobs of a warm start alone")
        asked = [*warm.asked, *self.asked]
        if (jobs.after[: cluster.waiting] != NO_JOB).any():
            raise ValueError("a job that waits when the replay begins has been submitted, and so follows no other job")
        earlier = len(warm.asked)
        submit = np.concatenate([np.array([one.submit_s for one in warm.asked], dtype=np.int64), jobs.submit])
        runtime = np.concatenate([cluster.running.runtime, jobs.runtime])
        after = np.concatenate([_unset(earlier), np.where(jobs.after == NO_JOB, NO_JOB, jobs.after + earlier)])
        think, array = (
            np.concatenate([none(earlier), of]) for none, of in ((_zeros, jobs.think), (_unset, jobs.array))
        )
        follows = after, think, array
        replay = new_pbs_replay(self.description, asked, (submit, runtime), self.phases, follows)
        replay = replay._replace(giving=giving_up_of(jobs.submit, jobs.cancel, earlier))
        if self.turns is not None:
            replay.submit_turn[:], replay.end_turn[:] = self.turns
        if self.late is not None:
            replay.late[:] = self.late
        homeless = 0
        if self.warm is not None and len(jobs):
            begins = cluster, cluster.begins(jobs.submit)
            replay, homeless = begin_pbs_warm(replay, self.description, asked, warm, begins)
        with watched("jobs of the replay under PBS", replay.first_start):
            self.drive(replay)
        own = slice(earlier, None)
        submit = replay.engine.jobs.submit
        start = replay.first_start[own].copy()
        never = start == UNSET
        start[never] = CANCELLED
        gave_up = replay.giving.gave_up[own]
        counts = {"never started": int(never.sum()) - int(gave_up.sum())}
        if replay.preempted[own].any():
            is_gone = replay.engine.settings.preempt_way == DELETED
            counts["deleted for others" if is_gone else "preempted"] = int((replay.preempted[own] > 0).sum())
        if never_submitted := int((submit[own] == NEVER_SUBMITTED).sum()):
            counts["never submitted"] = never_submitted
        if refused := refused_jobs(self.description, asked, submit, replay.finished, earlier + cluster.waiting):
            counts["over a limit on queued jobs"] = refused
        if homeless:
            counts["running without room"] = homeless
        running = replay.engine.running
        order = np.argsort([node.weight for node in self.description.nodes], kind="stable")  # places in PBS's order
        return Outcome(
            Schedule(start, np.zeros(len(start), dtype=np.bool_), suspensions(replay, runtime, own)),
            counts=counts,
            held=nodes_of_jobs(running.first[:-1][own], np.where(never, 0, running.count[own]), order[running.node]),
            submit=submit[own].copy() if jobs.is_closed else None,
            gave_up=gave_up,
        )


def suspensions(replay: PbsReplay, runtime: IntArray, own: slice = slice(None)) -> tuple[IntArray, IntArray] | None:
    """When each job of a replay that has ended was suspended and for how many seconds, as a Schedule has it. None where none was. runtime:
    of all jobs, int64 (jobs,). own: those that are asked for."""
    seconds = np.where(replay.preempted > 0, replay.finished - replay.first_start - runtime, 0)[own]
    return (replay.engine.running.start[own] - seconds, seconds) if seconds.any() else None


def new_pbs_replay(
    description: ClusterDescription,
    asked: Sequence[PbsJob],
    times: tuple[IntArray, IntArray],
    phases: PbsPhases,
    follows: tuple[IntArray, IntArray, IntArray] | None = None,
) -> PbsReplay:
    """A replay in which nothing has happened yet. times: submissions and run times. follows: `after`, `think` and `array` of
    simulator.jobs.jobs.Jobs, None where no job follows another."""
    submit, runtime = times
    count = len(asked)
    after, think, array = follows or (_unset(count), _zeros(count), _unset(count))
    submit = np.where(after == NO_JOB, submit, NEVER_SUBMITTED)
    first = int(submit[after == NO_JOB].min(initial=FOREVER)) if count else 0
    engine = idle_pbs(description, asked, submit, phases)
    spans, number = engine.site.reservation_times, engine.jobs.number
    again = np.ones(len(spans), dtype=np.bool_)
    again[np.unique(engine.site.reservation_group, return_index=True)[1]] = False
    arrival = np.maximum(submit, np.array([one.begin_s for one in asked], dtype=np.int64)).astype(np.int64)
    rank = np.argsort(np.lexsort((number, arrival)), kind="stable")
    order, room = order_of_coming(rank, after)
    replay = PbsReplay(
        engine=engine,
        begin=np.array([one.begin_s if one.begin_s > one.submit_s else UNSET for one in asked], dtype=np.int64),
        arrival=arrival,
        order=order,
        chain=chain_of(after, think, array),
        giving=giving_up_of(_zeros(0), _zeros(0), count),
        runtime=np.array(runtime, dtype=np.int64),
        submit_turn=np.where(after == NO_JOB, AFTER_ENDS + number, UNSET),
        end_turn=np.where(after == NO_JOB, number, UNSET),
        late=np.zeros(count, dtype=np.int64),
        ending=np.zeros(count + 1, dtype=np.int64),
        finished=np.full(count, UNSET, dtype=np.int64),
        first_start=np.full(count, UNSET, dtype=np.int64),
        preempted=np.zeros(count, dtype=np.int64),
        ran_before=np.zeros(count, dtype=np.int64),
        held=np.zeros(count, dtype=np.int64),
        reservation_state=again.astype(np.int64),
        reservation_due=np.where(again, spans[:, BEGINS], np.minimum(spans[:, BEGINS], spans[:, CONFIRMED])),
        clock=np.array([0, 0, first, 0, 0, 0, 0, 0, 0], dtype=np.int64),
    )
    replay.clock[NEXT_SUBMIT] = room
    return replay


def idle_pbs(
    description: ClusterDescription, asked: Sequence[PbsJob], submit: IntArray, phases: PbsPhases
) -> PbsEngine:
    """The state in which nothing waits and nothing runs. submit: NEVER_SUBMITTED for jobs that follow others.

    Raises ValueError for a job of a queue that the cluster does not have, and FormulaError."""
    settings = cycle_settings(description.scheduler, phases)
    weights = np.array([node.weight for node in description.nodes])
    order, is_closed = np.argsort(weights, kind="stable"), bool((submit == NEVER_SUBMITTED).any())
    site, asks, ask = site_and_asks(description, asked, order, phases.minute_s, is_closed)
    limits = run_limits(description, asked)
    decay = int(submit[submit != NEVER_SUBMITTED].min(initial=FOREVER))
    decay += settings.decay_time if phases.decay_s is None else phases.decay_s
    jobs, users = _queued_jobs(description, asked, submit, ask, settings)
    num_jobs, soft = len(asked), _soft_limits(description, asked)
    if not len(soft.bound):
        settings = settings._replace(lowest=int(jobs.level.max(initial=0)))
    rows = asks.chunks[ask] if num_jobs else np.zeros(0, dtype=np.int64)
    arrays = int(jobs.array.max(initial=0)) + 1
    engine = PbsEngine(
        site=site,
        asks=asks,
        jobs=jobs,
        settings=settings,
        load=_all_free(site),
        running=_none_runs(rows, arrays),
        tops=_top_jobs(description, site, asks, settings, len(limits.bound)),
        limits=limits,
        shares=pbs_share_tree(description, users, num_jobs, decay),
        soft=soft,
        masks=np.array(preemption_levels(description.scheduler), dtype=np.int64),
        scratch=_scratch(site, asks, arrays),
        victims=Victims(_zeros(1), _zeros(num_jobs), _zeros(1), _zeros(num_jobs)),
        waiting=_empty_queue(num_jobs),
        formula=_formula(description),
    )
    mark_hopeless(engine)
    return engine


def _soft_limits(description: ClusterDescription, asked: Sequence[PbsJob]) -> RunLimits:
    """The soft limits that preempt_prio has a level for."""
    owners = soft_limit_owners(description.scheduler)
    return run_limits(description, asked, lambda limit: is_soft_limit(limit) and limit.owner in owners)


def _zeros(count: int) -> IntArray:
    return np.zeros(count, dtype=np.int64)


def _unset(count: int) -> IntArray:
    return np.full(count, UNSET, dtype=np.int64)


def _none_runs(rows: IntArray, arrays: int) -> PbsRunning:
    """No running job. rows: chunks of each job. arrays: how many arrays there are."""
    first = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
    count, total = len(rows), int(first[-1])
    return PbsRunning(
        length=_zeros(1),
        job=_zeros(count),
        start=_unset(count),
        end=_unset(count),
        first=first,
        count=_zeros(count),
        node=np.zeros(total, dtype=np.int32),
        chunk=np.zeros(total, dtype=np.int32),
        of_array=_zeros(arrays),
    )


def _empty_queue(count: int) -> PbsQueue:
    return PbsQueue(
        length=_zeros(1),
        pending=_zeros(count),
        score=np.zeros(count),
        since=_unset(count),
        eligible=_zeros(count),
        preempted=_unset(count),
        suspended=np.zeros(count, dtype=np.bool_),
        hopeless=np.zeros(count, dtype=np.bool_),
    )


def _all_free(site: PbsSite) -> NodeLoad:
    return NodeLoad(site.amounts.copy(), np.zeros(len(site.amounts), dtype=np.int64), site.amounts.sum(axis=0))


def _scratch(site: PbsSite, asks: Asks, arrays: int) -> PbsScratch:
    chunks = int(asks.chunks.max(initial=0)) + 1
    num_nodes = len(site.amounts)
    return PbsScratch(
        trial=_all_free(site),
        node=np.zeros(chunks, dtype=np.int32),
        chunk=np.zeros(chunks, dtype=np.int32),
        taken=np.zeros_like(site.amounts),
        taken_for=np.zeros(num_nodes, dtype=np.int64),
        host_taken=np.zeros(len(site.host_first) - 1, dtype=np.int64),
        search=np.zeros(3, dtype=np.int64),
        failed_in=np.zeros(len(asks.chunks), dtype=np.int64),
        failed_wall=np.zeros(len(asks.chunks), dtype=np.int64),
        array_failed=np.zeros(arrays, dtype=np.int64),
        slots=np.zeros(NUM_SLOTS),
        stack=np.zeros(STACK_SIZE),
    )


def _top_jobs(
    description: ClusterDescription, site: PbsSite, asks: Asks, settings: CycleSettings, slots: int
) -> TopJobs:
    depth = np.array([*queue_depths(description), settings.depth], dtype=np.int64)
    preempted = MOST_PREEMPTED if settings.preempts else 0
    most = int(np.maximum(depth, 0).sum()) + preempted if settings.strict else 0
    rows = int(asks.chunks.max(initial=0)) + 1
    zeros = np.zeros
    return TopJobs(
        length=zeros(1, dtype=np.int64),
        job=zeros(most, dtype=np.int64),
        start=zeros(most, dtype=np.int64),
        end=zeros(most, dtype=np.int64),
        count=zeros(most, dtype=np.int64),
        node=zeros((most, rows), dtype=np.int32),
        chunk=zeros((most, rows), dtype=np.int32),
        free=zeros((most, *site.amounts.shape), dtype=np.int64),
        jobs=zeros((most, len(site.amounts)), dtype=np.int64),
        used=zeros((most, slots), dtype=np.int64),
        left=depth.copy(),
        depth=depth,
    )


def _formula(description: ClusterDescription) -> Formulas:
    formula = sort_formula(description.scheduler)
    if formula is None:
        return Formulas(np.zeros((0, 2), dtype=np.int64), np.zeros(0), np.zeros(1, dtype=np.int64))
    uses = np.array([USER_SHARE in formula.uses], dtype=np.int64)
    return Formulas(formula.ops, formula.constants, uses)


def _queued_jobs(
    description: ClusterDescription,
    asked: Sequence[PbsJob],
    submit: IntArray,
    ask: IntArray,
    settings: CycleSettings,
) -> tuple[QueuedJobs, list[str]]:
    """The jobs as columns, and the names of the entities of fair share."""
    places = {partition.name: k for k, partition in enumerate(description.queues)}
    named = [description.partition_named("" if one.reservation else one.queue) for one in asked]
    queue = np.array([places[each.name] for each in named], dtype=np.int64)
    priority = np.array([each.tier for each in named], dtype=np.int64)
    own = np.array([one.priority for one in asked], dtype=np.int64)
    in_reservation = np.array([bool(one.reservation) for one in asked], dtype=np.bool_)
    express = (priority >= settings.express_priority) & bool(settings.preempts) & ~in_reservation
    levels = preemption_levels(description.scheduler)
    of_express = levels.index(EXPRESS if EXPRESS in levels else 0) + 1
    queues = sorted(range(len(description.queues)), key=lambda k: -description.queues[k].tier)
    turn = np.argsort(queues)[queue] if settings.by_queue and len(queue) else np.zeros(len(asked), dtype=np.int64)
    users = list(dict.fromkeys(one.user for one in asked))
    entity = {name: k for k, name in enumerate(users)}
    resource = str(description.scheduler.values.get("fairshare_usage_res", "cput"))
    dependencies = [(DEPENDENCY_KINDS.index(kind), job) for one in asked for kind, job in one.dependencies]
    counts = np.array([len(one.dependencies) for one in asked], dtype=np.int64)

    def column(name: str) -> IntArray:
        return np.array([getattr(one, name) for one in asked], dtype=np.int64)

    return QueuedJobs(
        submit=np.array(submit, dtype=np.int64),
        wall=np.array([one.soft_walltime_s or one.time_s for one in asked], dtype=np.int64),
        limit=column("time_s"),
        walltime=np.array([one.walltime_s or 0 for one in asked], dtype=np.int64),
        ask=ask,
        queue=queue,
        level=np.where(in_reservation, 0, np.where(express, of_express, levels.index(0) + 1)).astype(np.int64),
        turn=turn.astype(np.int64),
        static=_static_order(description, asked),
        number=submit * len(asked) + np.arange(len(asked)),
        express=express,
        procs=np.array([one.amount("ncpus") for one in asked], dtype=np.int64),
        entity=np.array([entity[one.user] for one in asked], dtype=np.int64),
        rate=np.array([usage_rate(resource, one) for one in asked], dtype=np.float64),
        priorities=np.stack([priority, own], axis=1),
        array=column("array"),
        array_limit=column("array_limit"),
        held=column("held").astype(np.bool_),
        first_dependency=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        dependency=np.array(dependencies, dtype=np.int64).reshape(-1, 2),
    ), users


def _static_order(description: ClusterDescription, asked: Sequence[PbsJob]) -> IntArray:
    """The place of each job in the order of job_sort_key. Jobs of the same keys have the same one."""
    keys: list[IntArray] = [_zeros(len(asked))]
    text = str(description.scheduler.values.get("job_sort_key", "")).replace('"', "")
    for words in reversed([part.split() for part in text.split(",") if part.strip()]):
        sign = -1 if len(words) > 1 and words[1].upper() == "HIGH" else 1
        amounts = [sign * sort_amount(one, words[0], description) for one in asked]
        keys.append(np.array(amounts, dtype=np.int64))
    order = np.lexsort(keys)
    static = np.zeros(len(asked), dtype=np.int64)
    static[order[1:]] = np.cumsum((np.diff(np.stack(keys)[:, order]) != 0).any(axis=0))
    return static


def sort_amount(one: PbsJob, key: str, description: ClusterDescription) -> int:
    """What job_sort_key sorts a job by."""
    if key in ("walltime", "soft_walltime"):
        return one.time_s
    if key in ("job_priority", "sort_priority"):
        return one.priority
    if key == "fair_share_perc":
        return next((member.shares for member in description.members if member.user == one.user), 0)
    return one.amount(key)
