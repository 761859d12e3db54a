"""GPUs of a type and of all, against a plain count on small random clusters."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pytest

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request, request_arrays
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.slurm.limits import over_limit
from simulator.slurm.loop import run_replay
from simulator.slurm.nodes.selection import choose_nodes
from simulator.slurm.priority import resource_priority
from simulator.slurm.replaying import SlurmReplayer
from simulator.slurm.starting import begin_job
from simulator.slurm.waiting.missing import GPUS, missing_resource
from tests.simulator.busy import columns_of, engine_of
from traces.cluster.accounts import Limit, ServiceQuality
from traces.cluster.description import ClusterDescription, Node, Partition, SchedulerSettings

CASES = 2000
PACE_S = 70
"""The main scheduler looks at the queue at least so often."""
GPUS_OF_A_NODE = (
    {},
    {"a100": 2},
    {"v100": 4},
    {"": 2},
    {"a100": 1, "v100": 1},
    {"a100": 2, "v100": 2},
    {"v100": 1, "": 2},
)


@dataclass(frozen=True)
class Ran:
    """A job of a replay: when it started, on which nodes, and when it ended."""

    submit_s: int
    start_s: int
    end_s: int
    nodes: tuple[str, ...]
    gpus: dict[str, int]


def cluster_of(nodes: tuple[Node, ...], scheduler: str = "sched/builtin") -> ClusterDescription:
    values = {"schedulertype": scheduler, "prioritytype": "priority/basic", "selecttype": "select/cons_tres"}
    partition = Partition("gpu", is_default=True)
    return ClusterDescription("g", nodes, (partition,), scheduler=SchedulerSettings("slurm", "22.05", values))


def replayed(cluster: ClusterDescription, asked: list[Request], runtime: list[int]) -> list[Ran]:
    arrays = cluster_arrays(cluster)
    submit, ran = (np.array(column, dtype=np.int64) for column in ([one.submit_s for one in asked], runtime))
    jobs = Jobs(submit, ran, np.ones_like(ran), ran, ran)
    replayer = SlurmReplayer(cluster, arrays, request_arrays(asked, cluster, arrays))
    replay, _ = replayer.begun(jobs, Cluster(cluster.num_cpus))
    run_replay(replay)
    running = replay.engine.running
    placed = [running.node[running.first[j] : running.first[j] + running.nodes[j]].tolist() for j in range(len(asked))]
    return [
        Ran(
            one.submit_s,
            start,
            start + runtime[job],
            tuple(cluster.nodes[node].name for node in placed[job]),
            dict(one.gpus),
        )
        for job, (one, start) in enumerate(zip(asked, running.start.tolist(), strict=True))
    ]


class PlainCount:
    """What is free of each type on each node. Jobs that name no type take the first types that are free."""

    def __init__(self, cluster: ClusterDescription) -> None:
        self.order = [*dict.fromkeys(kind for node in cluster.nodes for kind in node.gpus if kind), ""]
        self.free = {node.name: Counter(node.gpus) for node in cluster.nodes}
        self.held: dict[tuple[int, str], Counter[str]] = {}

    def has_room(self, node: str, gpus: dict[str, int]) -> bool:
        free = self.free[node]
        return all(free[kind] >= gpus[kind] for kind in gpus if kind) and free.total() >= sum(gpus.values())

    def begin(self, job: int, node: str, gpus: dict[str, int]) -> None:
        took = Counter({kind: count for kind, count in gpus.items() if kind})
        self.free[node] -= took
        for kind in self.order:
            of_kind = min(
                gpus.get("", 0) - (took.total() - sum(gpus[kind] for kind in gpus if kind)), self.free[node][kind]
            )
            took[kind] += of_kind
            self.free[node][kind] -= of_kind
        self.held[job, node] = took

    def end(self, job: int, node: str) -> None:
        self.free[node].update(self.held.pop((job, node)))


def check_first_come(cluster: ClusterDescription, jobs: list[Ran], is_first_come: bool) -> None:
    """Every job finds its GPUs free. Under first come, each starts as soon as those before it have started and enough nodes have room."""
    count = PlainCount(cluster)
    running: set[int] = set()
    events = sorted({moment for job in jobs for moment in (job.submit_s, job.start_s, job.end_s)})
    next_job, free_since = 0, -1
    for now in events:
        for job in sorted(running):
            if jobs[job].end_s <= now:
                running.remove(job)
                for node in jobs[job].nodes:
                    count.end(job, node)
        for job, ran in enumerate(jobs):
            if ran.start_s != now:
                continue
            for node in ran.nodes:
                assert count.has_room(node, ran.gpus), (job, node, cluster.nodes, jobs)
                count.begin(job, node, ran.gpus)
            running.add(job)
            if is_first_come:
                assert job == next_job, (job, jobs)
                assert free_since < 0 or now - free_since <= PACE_S, (job, free_since, cluster.nodes, jobs)
                next_job, free_since = job + 1, -1
        if next_job < len(jobs) and free_since < 0 and jobs[next_job].submit_s <= now:
            waits = jobs[next_job]
            with_room = sum(count.has_room(node.name, waits.gpus) for node in cluster.nodes)
            free_since = now if with_room >= len(waits.nodes) else -1
    assert not running or max(events) == max(job.end_s for job in jobs)


def drawn_request(draw: random.Random, nodes: tuple[Node, ...], submit_s: int) -> Request:
    """A request that one of the nodes, or two of them, can serve."""
    node = draw.choice([node for node in nodes if node.gpus])
    typed = {kind: draw.randint(0, count) for kind, count in node.gpus.items() if kind and draw.random() < 0.5}
    gpus = {kind: count for kind, count in typed.items() if count}
    untyped = (
        draw.randint(0 if gpus else 1, node.num_gpus - sum(gpus.values())) if node.num_gpus > sum(gpus.values()) else 0
    )
    gpus |= {"": untyped} if untyped else {}
    fitting = sum(
        all(each.gpus.get(kind, 0) >= count for kind, count in gpus.items() if kind)
        and each.num_gpus >= sum(gpus.values())
        for each in nodes
    )
    count = draw.randint(1, min(fitting, 2))
    return Request(submit_s, limit_s=9000, min_nodes=count, max_nodes=count, tasks_per_node=1, gpus=gpus)


@pytest.mark.parametrize("part", range(4))
def test_a_gpu_is_of_its_type_and_of_all(part: int) -> None:
    for seed in range(part, CASES, 4):
        draw = random.Random(seed)
        groups = [draw.choice(GPUS_OF_A_NODE) for _ in range(draw.randint(1, 3))]
        if not any(groups):
            groups.append({"a100": 2})
        nodes = tuple(Node(f"n{k}", 64, gpus=gpus) for k, gpus in enumerate(groups))
        is_first_come = draw.random() < 0.7
        cluster = cluster_of(nodes, "sched/builtin" if is_first_come else "sched/backfill")
        submit = sorted(draw.randint(0, 6000) for _ in range(draw.randint(2, 8)))
        asked = [drawn_request(draw, nodes, second) for second in submit]
        jobs = replayed(cluster, asked, [draw.randint(500, 8000) for _ in asked])
        assert all(job.start_s >= 0 for job in jobs), (seed, nodes, asked)
        check_first_come(cluster, jobs, is_first_come)


@pytest.mark.parametrize(
    ("first", "second"), [({"a100": 2}, {"": 1}), ({"": 2}, {"a100": 1}), ({"": 1}, {"": 1, "a100": 1})]
)
def test_a_node_of_two_gpus_never_has_three_in_use(first: dict[str, int], second: dict[str, int]) -> None:
    asked = [
        Request(second_s, limit_s=600, min_nodes=1, tasks=1, gpus=gpus) for second_s, gpus in ((0, first), (1, second))
    ]
    jobs = replayed(cluster_of((Node("g1", 8, gpus={"a100": 2}),)), asked, [600, 60])
    assert jobs[1].start_s >= 600


def test_gpus_of_any_type_are_the_first_that_are_free() -> None:
    """The first job gets the a100, so the one that names it waits, and the one that names the v100 does not."""
    kinds: tuple[dict[str, int], ...] = ({"": 1}, {"a100": 1}, {"v100": 1})
    asked = [Request(10 * k, limit_s=600, min_nodes=1, tasks=1, gpus=gpus) for k, gpus in enumerate(kinds)]
    cluster = cluster_of((Node("g1", 8, gpus={"a100": 1, "v100": 1}),), "sched/backfill")
    jobs = replayed(cluster, asked, [600, 60, 60])
    assert jobs[1].start_s >= 600 and jobs[2].start_s < 100


ALIKE = tuple(Node(f"g{k}", 8, gpus={"a100": 4}) for k in range(2))


@pytest.mark.parametrize(
    ("resource", "bound", "waits"),
    [("gpu", 4, True), ("gpu", 5, False), ("gpu:a100", 2, True), ("gpu:a100", 3, False), ("gpu:a100", 4, False)],
)
def test_a_limit_counts_what_it_names(resource: str, bound: int, waits: bool) -> None:
    """Two GPUs of the type and two of any type run, and a job asks for one of the type."""
    asked = [
        Request(10 * k, limit_s=600, min_nodes=1, tasks=1, gpus=gpus, qos="normal")
        for k, gpus in enumerate(({"a100": 2}, {"": 2}, {"a100": 1}))
    ]
    limit = Limit("qos", "normal", "running", "all", resource, bound)
    cluster = replace(cluster_of(ALIKE), qualities=(ServiceQuality("normal"),), limits=(limit,))
    jobs = replayed(cluster, asked, [600, 600, 60])
    assert [job.start_s < 100 for job in jobs[:2]] == [True, True] and (jobs[2].start_s >= 600) == waits


@pytest.mark.parametrize(
    ("resource", "bound", "gpus", "may"),
    [
        ("gpu", 2, {"a100": 2}, True),
        ("gpu", 2, {"a100": 2, "": 1}, False),
        ("gpu:a100", 2, {"a100": 2, "": 2}, True),
        ("gpu:a100", 0, {"": 4}, True),
    ],
)
def test_a_limit_of_one_job_counts_what_it_names(resource: str, bound: int, gpus: dict[str, int], may: bool) -> None:
    cluster = replace(cluster_of(ALIKE), limits=(Limit("cluster", "", "job", "job", resource, bound),))
    engine = engine_of([Request(0, limit_s=60, min_nodes=1, tasks=1, gpus=gpus)], cluster)
    assert over_limit(engine, 0, 0) != may


@pytest.mark.parametrize(
    ("held", "asked"), [({"a100": 3}, {"": 2}), ({"": 3}, {"a100": 2}), ({"": 3}, {"a100": 1, "": 1})]
)
def test_what_is_missing_are_gpus(held: dict[str, int], asked: dict[str, int]) -> None:
    requests = [Request(0, limit_s=60, min_nodes=1, tasks=1, gpus=gpus) for gpus in (held, asked)]
    engine = engine_of(requests, cluster_of(ALIKE[:1]))
    engine.scratch.allowed[:] = True
    begin_job(engine, 0, 0, choose_nodes(engine, engine.free, 0, 0), 0)
    assert choose_nodes(engine, engine.free, 1, 0) == 0 and missing_resource(engine, 1, 0) == GPUS


def test_a_type_that_is_in_use_is_missing_where_others_are_free() -> None:
    """Neither node has enough of anything, so that the sums decide."""
    nodes = (Node("g1", 4, gpus={"a100": 1}), Node("g2", 4, gpus={"v100": 1}))
    engine = engine_of([Request(0, limit_s=60, min_nodes=1, tasks=1, gpus={"a100": 1})], cluster_of(nodes))
    engine.scratch.allowed[:] = True
    engine.free.gpus[0] = 0
    engine.free.cpus[:] = 0
    assert missing_resource(engine, 0, 0) == GPUS


def test_gpus_of_a_type_are_billed_as_gpus() -> None:
    """By weights of all GPUs and of their type, each for what it names."""
    partition = Partition("gpu", is_default=True, billing={"gpu": 2.0, "gpu:a100": 1.0})
    cluster = replace(cluster_of(ALIKE), partitions=(partition,))
    arrays = cluster_arrays(cluster)
    asked = columns_of(
        [
            Request(0, limit_s=60, min_nodes=1, tasks=1, gpus=gpus)
            for gpus in ({"a100": 2}, {"": 2}, {"a100": 1, "": 1})
        ],
        cluster,
    )
    weights = arrays.billing[0]
    assert [resource_priority(asked, weights, job) for job in range(3)] == [6.0, 4.0, 5.0]
