"""The order of the queue. Rules: docs/reference/pbs.md, "The order".

Fair share: who has used the least of the part that is his. Rules: docs/reference/pbs.md, "Fair share".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulator.compiled import referring, referring_apart
from simulator.formula.machine import CLUSTER, ESTIMATE, PROCS, QUEUED, USER_SHARE, WAIT, evaluate
from simulator.pbs.requests import PbsJob
from simulator.pbs.state import UNSET, PbsShareTree
from traces.cluster.description import ClusterDescription

ASKED_EVERY_S = 10
"""Seconds after which PBS asks nodes again what their jobs have used."""
NEXT_DECAY, NUM_ADDED = range(2)
"""Places in `PbsShareTree.clock`."""


def pbs_share_tree(cluster: ClusterDescription, names: Sequence[str], num_jobs: int, first_decay: int) -> PbsShareTree:
    """The tree of shares. names: of the entities, which are users. All usage is 1, as it is at PBS's first start.

    first_decay: second of the first decay."""
    accounts = {account.name: k for k, account in enumerate(cluster.accounts)}
    members = {member.user: member for member in reversed(cluster.members)}
    share = [float(account.shares) for account in cluster.accounts]
    chains: dict[str, list[int]] = {}
    for account in cluster.accounts:
        chains[account.name] = [*chains.get(account.parent, []), accounts[account.name]]
    unknown = len(share)
    share.append(float(str(cluster.scheduler.values.get("unknown_shares", 10))))
    paths = []
    for name in names:
        member = members.get(name)
        paths.append([*(chains.get(member.account, []) if member else [unknown]), len(share)])
        share.append(float(member.shares) if member else 1.0)
    path = np.full((max(len(names), 1), max((len(each) for each in paths), default=1)), UNSET, dtype=np.int64)
    for place, each in enumerate(paths):
        path[place, : len(each)] = each
    return PbsShareTree(
        path,
        np.array(share, dtype=np.float64),
        np.ones(len(share), dtype=np.float64),
        np.zeros(num_jobs, dtype=np.int64),
        np.zeros(num_jobs, dtype=np.int64),
        np.array([first_decay, 0], dtype=np.int64),
    )


def usage_rate(resource: str, one: PbsJob) -> float:
    """What a running job adds to usage in a second, by `fairshare_usage_res`. Processor time is taken for all that it holds."""
    if one.rate is not None:
        return one.rate
    words = [word.strip() for word in resource.split("*")]
    rate = 1.0
    for word in words:
        if word not in ("walltime", "cput"):
            rate *= float(one.amount(word))
    return rate * (one.amount("ncpus") if "cput" in words and "ncpus" not in words else 1)


@referring
def goes_first_by_share(shares, mine, theirs):
    """Positive where the first entity comes first, negative where the second does, zero where they are equal.

    They are compared on the first floor of the tree on which they differ, by usage for each share."""
    for floor in range(shares.path.shape[1]):
        left, right = shares.path[mine, floor], shares.path[theirs, floor]
        if left == right:
            continue
        if left < 0 or right < 0:
            return 0
        a, b = shares.usage[left] * shares.share[right], shares.usage[right] * shares.share[left]
        return 1 if a < b else (-1 if a > b else 0)
    return 0


@referring
def add_to_usage(shares, entity, amount):
    """Adds to the usage of an entity and of all groups above it."""
    for floor in range(shares.path.shape[1]):
        place = shares.path[entity, floor]
        if place < 0:
            return
        shares.usage[place] += amount


@referring_apart
def count_running(engine, now):
    """At the beginning of a pass, what running jobs have used since the last one counts, and old usage decays."""
    shares, running, settings = engine.shares, engine.running, engine.settings
    for k in range(running.length[0]):
        count_one(engine, running.job[k], now)
    while shares.clock[NEXT_DECAY] <= now:
        shares.clock[NEXT_DECAY] += settings.decay_time
        for place in range(len(shares.usage)):
            shares.usage[place] = max(1.0, shares.usage[place] * settings.decay_factor)
    shares.clock[NUM_ADDED] = 0


@referring
def count_one(engine, job, now):
    """What a running job had used when its node was last asked, as far as it is not counted yet. What it uses after that and until it ends
    is never counted."""
    shares, phase = engine.shares, engine.settings.poll_phase
    last = (now - phase) // ASKED_EVERY_S * ASKED_EVERY_S + phase
    if last > shares.counted[job]:
        add_to_usage(shares, engine.jobs.entity[job], (last - shares.counted[job]) * engine.jobs.rate[job])
        shares.counted[job] = last


@referring
def add_request(engine, job):
    """A job that starts, or that gets a plan, counts as a whole for the rest of the pass."""
    shares = engine.shares
    add_to_usage(shares, engine.jobs.entity[job], engine.jobs.rate[job] * engine.jobs.wall[job])
    shares.added[shares.clock[NUM_ADDED]] = job
    shares.clock[NUM_ADDED] += 1


@referring
def forget_requests(engine):
    """At the end of a pass, its requests no longer count."""
    shares = engine.shares
    for k in range(shares.clock[NUM_ADDED]):
        job = shares.added[k]
        add_to_usage(shares, engine.jobs.entity[job], -engine.jobs.rate[job] * engine.jobs.wall[job])
    shares.clock[NUM_ADDED] = 0


# --- queueing


@referring
def is_ahead(jobs, queue, shares, has_shares, job, other):
    """Whether a waiting job comes before another one."""
    if jobs.level[job] != jobs.level[other]:
        return jobs.level[job] < jobs.level[other]
    if queue.preempted[job] != queue.preempted[other]:
        mine, theirs = queue.preempted[job], queue.preempted[other]
        return theirs < 0 or 0 <= mine < theirs
    if jobs.turn[job] != jobs.turn[other]:
        return jobs.turn[job] < jobs.turn[other]
    if queue.score[job] != queue.score[other]:
        return queue.score[job] > queue.score[other]
    if has_shares:
        first = goes_first_by_share(shares, jobs.entity[job], jobs.entity[other])
        if first != 0:
            return first > 0
    if jobs.static[job] != jobs.static[other]:
        return jobs.static[job] < jobs.static[other]
    return jobs.number[job] < jobs.number[other]


@referring_apart
def join_pbs_queue(engine, job, low):
    """The job takes its place in the queue, behind the first `low` of it."""
    jobs, queue, shares = engine.jobs, engine.waiting, engine.shares
    has_shares = engine.settings.fair_share > 0
    place = queue.length[0]
    while place > low and is_ahead(jobs, queue, shares, has_shares, job, queue.pending[place - 1]):
        queue.pending[place] = queue.pending[place - 1]
        place -= 1
    queue.pending[place] = job
    queue.length[0] += 1


@referring_apart
def sort_pbs_queue(engine, begin):
    """Sorts the queue from a place on. It is nearly sorted when it comes."""
    jobs, queue, shares = engine.jobs, engine.waiting, engine.shares
    has_shares, pending = engine.settings.fair_share > 0, queue.pending
    for k in range(begin + 1, queue.length[0]):
        job = pending[k]
        place = k
        while place > begin and is_ahead(jobs, queue, shares, has_shares, job, pending[place - 1]):
            pending[place] = pending[place - 1]
            place -= 1
        pending[place] = job


@referring
def eligible_time(queue, job, now):
    """Seconds that the job has waited while nothing but resources kept it."""
    return queue.eligible[job] + (now - queue.since[job] if queue.since[job] >= 0 else 0)


@referring
def keep_eligible_time(queue, job, is_limited, now):
    """A limit stops the clock of eligible time, until a pass in which none keeps the job."""
    if is_limited and queue.since[job] >= 0:
        queue.eligible[job] += now - queue.since[job]
        queue.since[job] = -1
    elif not is_limited and queue.since[job] < 0:
        queue.since[job] = now


@referring_apart
def score_queue(engine, now):
    """The formula's value of all jobs that wait. A formula that has none for a job gives 0."""
    queue, jobs, slots = engine.waiting, engine.jobs, engine.scratch.slots
    if len(engine.formula.ops) == 0:
        return
    for k in range(queue.length[0]):
        job = queue.pending[k]
        slots[WAIT] = eligible_time(queue, job, now)
        slots[ESTIMATE] = jobs.walltime[job]
        slots[PROCS] = jobs.procs[job]
        slots[CLUSTER] = jobs.priorities[job, 0]
        slots[QUEUED] = jobs.priorities[job, 1]
        if engine.formula.uses_usage[0] > 0:
            slots[USER_SHARE] = _usage_of(engine, job)
        value, failed = evaluate(engine.formula.ops, engine.formula.constants, slots, engine.scratch.stack)
        queue.score[job] = value if failed < 0 else 0.0


@referring
def _usage_of(engine, job):
    """The usage of a job's owner as a part of all usage."""
    shares = engine.shares
    entity, total = engine.jobs.entity[job], 0.0
    for other in range(len(shares.path)):
        total += shares.usage[_leaf(shares, other)]
    return shares.usage[_leaf(shares, entity)] / total if total > 0 else 0.0


@referring
def _leaf(shares, entity):
    floor = shares.path.shape[1] - 1
    while shares.path[entity, floor] < 0:
        floor -= 1
    return shares.path[entity, floor]
