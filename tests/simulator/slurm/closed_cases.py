"""Random clusters under Slurm and jobs that follow each other, and a closed replay held against an open one of the same jobs."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import DEPENDENCIES, Request, Requests, request_arrays, some_requests
from simulator.jobs.cluster import Cluster
from simulator.jobs.followers import NEVER_SUBMITTED, NO_JOB, followers_of
from simulator.jobs.jobs import NEVER, Jobs
from simulator.jobs.schedule import CANCELLED
from simulator.policies.registry import parse_policy
from simulator.replayer import Outcome
from simulator.slurm.clockwork import Replay
from simulator.slurm.loop import run_replay
from simulator.slurm.replaying import Phases, SlurmReplayer
from simulator.slurm.variants.orders import is_fixed_order, run_in_order
from tests.simulator.busy import SITE
from tests.simulator.jobs.people import arrays_before
from traces.cluster.accounts import Limit, ServiceQuality
from traces.cluster.description import Absence, AdvanceReservation, ClusterDescription

IntArray = NDArray[np.int64]
POLICIES = (
    None,
    None,
    None,
    "FCFS",
    "LCFS",
    "SJF",
    "F1",
    "bounded-key",
    "searched:balanced",
    "random",
    "WFP3",
    "fairshare",
)
SORTED = (None, "FCFS", "LCFS", "WFP3")
"""Orders in which jobs do not tie, or by their submissions."""


@dataclass(frozen=True)
class Case:
    """site: the cluster. jobs: with whom they follow. replayer: with the requests of all."""

    site: ClusterDescription
    jobs: Jobs
    replayer: SlurmReplayer

    @property
    def cluster(self) -> Cluster:
        """Idle."""
        return Cluster(self.site.num_cpus)


def impatient(case: Case, seed: int, share: float = 0.4) -> Case:
    """The case with users who give up some jobs after 1 s to 20 minutes."""
    rng, jobs = np.random.default_rng((seed, 9)), case.jobs
    patience = np.where(rng.random(len(jobs)) < share, rng.choice([1, 10, 60, 200, 1200], len(jobs)), NEVER)
    return replace(case, jobs=replace(jobs, cancel=np.where(patience < NEVER, jobs.submit + patience, NEVER)))


def drawn_case(seed: int, most_jobs: int = 60) -> Case:
    """A small busy cluster, with any rules."""
    draw = random.Random(seed)
    site = drawn_site(draw)
    count = draw.randint(1, most_jobs)
    submit = sorted(draw.randint(0, 40 * count) // draw.choice((1, 10)) for _ in range(count))
    asked = [drawn_request(draw, job, second) for job, second in enumerate(submit)]
    limit = np.array([one.limit_s for one in asked], dtype=np.int64)
    runtime = np.array([draw.randint(1, one.limit_s or 1) for one in asked], dtype=np.int64)
    procs = np.array([max(one.tasks, one.min_nodes) for one in asked], dtype=np.int64)
    share = draw.choice((0.3, 0.6, 0.95))
    after = [
        draw.randint(max(job - 12, 0), job - 1) if job and draw.random() < share else NO_JOB for job in range(count)
    ]
    # a job that is cancelled ends behind the submissions of its second
    think = (
        [draw.choice((int(draw.random() < 0.5), 1, 7, 60, 400)) for _ in after]
        if leaves_at_ends(site)
        else [draw.choice((1, 2, 7, 60, 400)) for _ in after]
    )
    user = np.array(["uvw".index(one.user) for one in asked], dtype=np.int64)
    array = arrays_before(np.array(after), np.array([draw.random() < 0.4 for _ in after]))
    follows = {"after": np.array(after), "think": np.array(think), "array": array}
    jobs = Jobs(np.array(submit), runtime, procs, limit, limit, user=user, **follows)
    arrays = cluster_arrays(site)
    epilog_s = draw.choice((0, 0, 4))  # one for all jobs, as it is drawn by their places
    phases = Phases(draw.randint(0, 29), draw.randint(0, 59), (epilog_s, epilog_s), cycle_us=draw.randint(0, 999_999))
    policy = draw.choice(POLICIES)
    if site.scheduler.values["preempttype"] != "preempt/none":
        policy = None  # a job that comes after others by another order would preempt the same ones again and again
    replayer = SlurmReplayer(site, arrays, request_arrays(asked, site, arrays), phases, policy and parse_policy(policy))
    return Case(site, jobs, replayer)


def leaves_at_ends(site: ClusterDescription) -> bool:
    values = site.scheduler.values
    return values.get("jobrequeue", True) is True and values.get("preemptmode") != "cancel"


def drawn_site(draw: random.Random) -> ClusterDescription:
    """Four nodes, with some of the rules that a cluster may have."""
    values: dict[str, str | int | bool] = {"selecttype": "select/cons_tres", "bf_window": draw.choice((5, 60, 1440))}
    values["prioritytype"] = draw.choice(("priority/basic", "priority/multifactor", "priority/multifactor"))
    values |= {"priorityweightage": draw.choice((0, 100_000)), "priorityweightfairshare": draw.choice((0, 5000))}
    values |= {"priorityweightjobsize": draw.choice((0, 300)), "priorityweightqos": draw.choice((0, 90))}
    values |= {"prioritycalcperiod": draw.choice((10, 300)), "prioritymaxage": 3600}
    values |= {
        "prioritydecayhalflife": draw.choice((0, 1800)),
        "priorityflags": draw.choice(("", "accrue_always", "incr_only")),
    }
    values |= {"bf_interval": draw.choice((5, 30)), "bf_continue": draw.random() < 0.5}
    values |= {"schedulertype": draw.choice(("sched/backfill", "sched/backfill", "sched/builtin"))}
    values |= {"jobrequeue": draw.random() < 0.8, "minjobage": draw.choice((30, 300))}
    values["preempttype"] = draw.choice(("preempt/none", "preempt/qos", "preempt/partition_prio"))
    if values["preempttype"] != "preempt/none":
        by_partition = values["preempttype"] == "preempt/partition_prio"
        values["preemptmode"] = draw.choice(("requeue", "suspend,gang") if by_partition else ("requeue", "cancel"))
    qualities = (
        ServiceQuality("normal", grace_s=draw.choice((0, 20))),
        ServiceQuality("few", priority=10, preempts=("normal",)),
    )
    kinds = [
        Limit("user", "x/u", "submitted", "user", "jobs", draw.randint(1, 6)),
        Limit("account", "y", "submitted", "all", "jobs", draw.randint(1, 6)),
        Limit("account", "y", "running", "all", "cpu", draw.randint(2, 8)),
        Limit("account", "x", "used", "all", "cpu", draw.randint(2000, 90_000)),
        Limit("account", "x", "outstanding", "all", "cpu", draw.randint(2000, 9000)),
        Limit("qos", "few", "running", "user", "jobs", 2),
    ]
    if (
        values["preempttype"] != "preempt/none"
    ):  # what others keep from starting would preempt the same ones again and again
        kinds = [limit for limit in kinds if limit.counts == "submitted"]
        values |= {"prioritytype": "priority/multifactor", "priorityweightqos": 10_000_000}
    partitions = SITE.partitions
    if values["preempttype"] == "preempt/qos":
        partitions = tuple(replace(each, tier=1) for each in partitions)
    nodes = list(SITE.nodes)
    if draw.random() < 0.3:
        begin = draw.randint(50, 1500)
        nodes[1] = replace(
            nodes[1], absences=(Absence(begin, begin + draw.randint(50, 900), draw.choice(("down", "drain"))),)
        )
    begin = draw.randint(0, 1500)
    reserved = AdvanceReservation("r", begin, begin + draw.randint(100, 900), nodes=draw.choice((("a",), ("c", "d"))))
    return replace(
        SITE,
        nodes=tuple(nodes),
        partitions=partitions,
        qualities=qualities,
        limits=tuple(limit for limit in kinds if draw.random() < 0.3),
        reservations=(reserved,) if draw.random() < 0.4 and values["preempttype"] == "preempt/none" else (),
        scheduler=replace(SITE.scheduler, values=values),
    )


def drawn_request(draw: random.Random, job: int, submit_s: int) -> Request:
    """What one job asks for. Some depend on an earlier one, and some are tasks of an array."""
    user = draw.choice("uuvw")
    wide = draw.random() < 0.3
    nodes = draw.randint(1, 4) if wide else 0
    is_task = draw.random() < 0.15
    return Request(
        submit_s,
        limit_s=draw.choice((30, 60, 60, 300, 900)),
        min_nodes=nodes,
        max_nodes=nodes,
        tasks=nodes * draw.randint(1, 4) if wide else draw.randint(1, 6),
        exclusive=wide and draw.random() < 0.5,
        partitions=draw.choice(((), ("all",), ("gpu",), ("whole",), ("all", "gpu"))),
        qos=draw.choice(("normal", "normal", "few")),
        user=user,
        account={"u": "x", "v": "y", "w": ""}[user],
        gpus={"": 1} if not wide and draw.random() < 0.1 else {},
        array=job // 20 if is_task else -1,
        array_task=job,
        array_limit=2 if is_task else 0,
        begin_s=submit_s + draw.randint(0, 600) if draw.random() < 0.1 else 0,
        nice=draw.choice((0, 0, 50)),
        dependencies=((draw.choice(DEPENDENCIES[:2]), draw.randint(0, job - 1)),)
        if job and draw.random() < 0.1
        else (),
    )


def check_case(case: Case) -> Outcome:
    """The closed replay is the open one of the same jobs at the submissions that it has, and these follow from the ends there."""
    jobs = case.jobs
    closed = case.replayer.replay(jobs, case.cluster)
    if not jobs.is_closed:
        assert closed.submit is None
        return closed
    assert closed.submit is not None
    came = np.flatnonzero(closed.submit != NEVER_SUBMITTED)
    by_submission = came[np.lexsort((came, closed.submit[came]))]
    name = case.replayer.policy and case.replayer.policy.name
    for places in (came, by_submission) if name in SORTED else (came,):
        check_open(case, closed, places)
    return closed


def check_same(case: Case) -> int:
    """The closed replay of the same scheduler has the submissions and the starts of the open one. Returns how many jobs follow others."""
    open_jobs = case.jobs.without_followers()
    replay, _ = case.replayer.begun(open_jobs, case.cluster)
    run_open(case.replayer, replay, open_jobs, case.cluster)
    left = np.where(replay.refused, open_jobs.submit, replay.finished)
    after, think = followers_of(open_jobs.submit, left, open_jobs.user)
    closed = case.replayer.replay(replace(open_jobs, after=after, think=think), case.cluster)
    start = replay.engine.running.start
    waited = start - open_jobs.submit  # the patience of one that started is longer than its wait
    more = np.where((start >= 0) & (open_jobs.cancel == NEVER), open_jobs.submit + waited + 1, open_jobs.cancel)
    more = np.where(replay.preempted > 0, open_jobs.cancel, more)
    patient = case.replayer.replay(replace(open_jobs, after=after, think=think, cancel=more), case.cluster)
    assert (patient.schedule.start == closed.schedule.start).all()
    assert (closed.schedule.start == np.where(start < 0, CANCELLED, start)).all()
    assert (after == NO_JOB).all() if closed.submit is None else (closed.submit == open_jobs.submit).all()
    return int((after != NO_JOB).sum())


def check_open(case: Case, closed: Outcome, places: IntArray) -> None:
    """places: of the jobs that came, in the order that the open replay has them in."""
    assert closed.submit is not None
    jobs, submit = case.jobs, closed.submit
    requests = placed_requests(case.replayer.requests, places)
    columns = {name: getattr(jobs, name)[places] for name in ("runtime", "procs", "estimate", "limit", "user")}
    cancel = np.where(jobs.cancel < NEVER, jobs.cancel - jobs.submit + submit, NEVER)[places]
    open_jobs = Jobs(submit[places], **columns, cancel=cancel, is_replayed=True)
    replayer = replace(case.replayer, requests=requests)
    if replayer.policy is not None and replayer.policy.name == "random":  # it draws by place
        score = replayer.policy.fixed(jobs, 1)[places]  # type: ignore[misc]
        replayer = replace(replayer, policy=replace(replayer.policy, fixed=lambda *_: score))
    # the replay begins with the first submission of the log, and so with that of the first job
    replay, _ = replayer.begun(open_jobs, case.cluster)
    run_open(replayer, replay, open_jobs, case.cluster)
    running = replay.engine.running
    assert closed.schedule.start[places].tolist() == running.start.tolist()
    assert closed.schedule.backfilled[places].tolist() == replay.backfilled.tolist()
    assert closed.counts.get("refused", 0) == replay.refused.sum()
    assert closed.counts.get("preempted", 0) == (replay.preempted > 0).sum()
    assert closed.held is not None
    for row, job in enumerate(places.tolist()):
        if running.start[row] >= 0:
            first = running.first[row]
            held = closed.held.node[closed.held.first[job] : closed.held.first[job + 1]]
            assert held.tolist() == running.node[first : first + running.nodes[row]].tolist()
    left = np.full(len(jobs), -1)
    left[places] = np.where(replay.refused, submit[places], replay.finished)
    for job in range(len(jobs)):
        before = jobs.after[job]
        if before == NO_JOB:
            assert submit[job] == jobs.submit[job]
        else:
            tasks = jobs.array == jobs.array[before] if jobs.array[before] >= 0 else np.arange(len(jobs)) == before
            has_left = (left[tasks] >= 0).all()
            assert submit[job] == (left[tasks].max() + jobs.think[job] if has_left else NEVER_SUBMITTED)
    gave_up = replay.giving.gave_up
    assert (jobs.cancel[places] < NEVER)[gave_up].all() and (running.start[gave_up] < 0).all()
    assert (replay.finished[gave_up] == cancel[gave_up]).all()
    assert closed.counts["never started"] == ((running.start < 0) & ~gave_up).sum()
    assert closed.counts.get("never submitted", 0) == len(jobs) - len(places)


def run_open(replayer: SlurmReplayer, replay: Replay, jobs: Jobs, cluster: Cluster) -> None:
    """To its end, as `replay` of the replayer does."""
    if replayer.policy is None or is_fixed_order(replayer.policy):
        run_replay(replay)
    else:
        run_in_order(replay, replayer.policy, jobs, cluster)


def placed_requests(requests: Requests, places: IntArray) -> Requests:
    """The requests of the jobs at these places, in this order. One that depends on a job which is not among them is held."""
    new = dict(zip(places.tolist(), range(len(places)), strict=True))
    rows, first, held = [], [0], requests.held[places].copy()
    for k, job in enumerate(places.tolist()):
        for kind, other in requests.dependency[
            requests.first_dependency[job] : requests.first_dependency[job + 1]
        ].tolist():
            held[k] |= other not in new
            rows.append((kind, new.get(other, 0)))
        first.append(len(rows))
    return some_requests(requests, places)._replace(
        held=held, first_dependency=np.array(first), dependency=np.array(rows, dtype=np.int64).reshape(-1, 2)
    )
