"""Slurm's nodes and limits against a second, plain implementation on small random clusters."""

from __future__ import annotations

import random
from itertools import product

from simulator.cluster.requests import Request
from simulator.slurm.limits import over_limit, too_many_jobs
from simulator.slurm.nodes.selection import choose_nodes
from simulator.slurm.starting import begin_job
from tests.simulator.busy import engine_of
from tests.simulator.oracle_slurm import (
    FreeNode,
    Use,
    Wish,
    asked_as,
    fits_somewhere,
    nodes_by_hand,
    over_by_hand,
)
from traces.cluster.accounts import Account, AccountUser, Limit, ServiceQuality
from traces.cluster.description import ClusterDescription, Node, Partition, SchedulerSettings

CUT, ALL = range(300), range(5000)
"""Cases of `make test`, and of `make test-all`."""


def drawn_nodes(draw: random.Random) -> list[FreeNode]:
    nodes = []
    for _ in range(draw.randint(1, 6)):
        cores, memory, gpus = draw.randint(1, 8), draw.choice((0, 8, 16)) * 100, draw.choice((0, 0, 2, 4))
        node = FreeNode(cores, cores, memory, gpus, draw.choice((1, 1, 2)))
        if draw.random() < 0.5:
            node.holders = draw.randint(1, 3)
            node.cpus, node.memory = draw.randint(0, cores), draw.randint(0, memory // 100) * 100
            node.gpus, node.is_whole = draw.randint(0, gpus), draw.random() < 0.2
        nodes.append(node)
    return nodes


def drawn_wish(draw: random.Random) -> Wish:
    least = draw.choice((1, 1, 1, 2, 3))
    most = draw.choice((least, least, least + 1, 1 << 61))
    per_node = draw.choice((0, 0, 1, 2)) if most == least else 0
    tasks = least * per_node if per_node else draw.randint(least, 12)
    return Wish(
        least,
        most,
        tasks,
        draw.choice((1, 1, 1, 2)),
        per_node,
        draw.choice((0, 1, 3)) * 100,
        draw.random() < 0.5,
        draw.choice((0, 0, 0, 1, 2)),
        draw.random() < 0.2,
    )


def check_nodes(seed: int) -> None:
    draw = random.Random(seed)
    nodes, wish = drawn_nodes(draw), drawn_wish(draw)
    site = ClusterDescription(
        "drawn",
        tuple(Node(f"n{k}", node.cores, 1600, {"": 4}, weight=node.weight) for k, node in enumerate(nodes)),
        partitions=(Partition("all", is_default=True),),
    )
    engine = engine_of([asked_as(wish)], site)
    free = engine.free
    free.cpus[:] = [node.cpus for node in nodes]
    free.memory[:] = [node.memory for node in nodes]
    free.gpus[:, 0] = [node.gpus for node in nodes]
    free.jobs[:] = [node.holders for node in nodes]
    free.whole[:] = [node.is_whole for node in nodes]
    engine.scratch.allowed[:] = True
    chosen = choose_nodes(engine, free, 0, 0)
    ours = dict(zip(engine.scratch.chosen[:chosen].tolist(), engine.scratch.cpus[:chosen].tolist(), strict=True))
    assert ours == nodes_by_hand(nodes, wish), (seed, nodes, wish)
    assert not ours or fits_somewhere(nodes, wish), (seed, nodes, wish)
    if wish.min_nodes == wish.max_nodes and len({node.weight for node in nodes}) == 1 and not wish.gpus:
        assert bool(ours) == fits_somewhere(nodes, wish), (seed, nodes, wish)


RESOURCES = ("jobs", "nodes", "cpu", "mem", "gpu")
OWNERS = (
    ("qos", "normal"),
    ("qos", "high"),
    ("qos", "of-partition"),
    ("account", "a"),
    ("account", "b"),
    ("account", "root"),
    ("user", "a/u"),
    ("user", "b/v"),
    ("cluster", ""),
)


def drawn_site(draw: random.Random) -> ClusterDescription:
    limits = []
    for (owner, name), resource in product(OWNERS, RESOURCES):
        if draw.random() < 0.25:
            counts = draw.choice(("running", "running", "job")) if resource != "jobs" else "running"
            each = "job" if counts == "job" else draw.choice(("all", "user", "account") if owner == "qos" else ("all",))
            if owner == "user" and counts == "running":
                each = "user" if draw.random() < 0.5 else "all"
            most = {"jobs": 4, "nodes": 8, "cpu": 24, "mem": 3000, "gpu": 6}[resource]
            limits.append(Limit(owner, name, counts, each, resource, draw.randint(1, most)))
    return ClusterDescription(
        "drawn",
        tuple(Node(f"n{k}", 8, 2000, {"": 2}) for k in range(6)),
        partitions=(Partition("all", is_default=True), Partition("other", qos="of-partition")),
        accounts=(Account("a"), Account("b", "a")),
        members=(AccountUser("u", "a"), AccountUser("v", "b"), AccountUser("u", "b")),
        qualities=(ServiceQuality("normal"), ServiceQuality("high"), ServiceQuality("of-partition")),
        limits=tuple(limits),
        scheduler=SchedulerSettings("slurm", "22.05", {"selecttype": "select/cons_tres"}),
    )


def drawn_job(draw: random.Random) -> Request:
    nodes = draw.choice((1, 1, 2))
    user, account = draw.choice((("u", "a"), ("v", "b"), ("u", "b")))
    wish = Wish(nodes, nodes, nodes * 2, 1, 2, draw.choice((0, 100, 300)), True, draw.choice((0, 0, 1)))
    return asked_as(
        wish,
        user=user,
        account=account,
        qos=draw.choice(("normal", "high")),
        partitions=(draw.choice(("all", "other")),),
    )


def check_limits(seed: int) -> None:
    draw = random.Random(seed)
    site = drawn_site(draw)
    asked = [drawn_job(draw) for _ in range(draw.randint(1, 6))]
    engine = engine_of(asked, site)
    engine.scratch.allowed[:] = True
    running: list[Use] = []
    for job, request in enumerate(asked):
        amounts = {
            "jobs": 1,
            "nodes": request.min_nodes,
            "cpu": request.tasks,
            "mem": request.memory_mib * request.tasks,
            "gpu": request.gpus.get("", 0) * request.min_nodes,
        }
        new = Use(request, amounts)
        chosen = choose_nodes(engine, engine.free, job, 0)
        ours = bool(too_many_jobs(engine, job)) or bool(over_limit(engine, job, chosen))
        assert ours == over_by_hand(site, running, new), (seed, job, site.limits, asked)
        if not ours and chosen > 0:
            begin_job(engine, job, 0, chosen, 0)
            running.append(new)


def test_nodes_and_limits_of_some_cases() -> None:
    for seed in CUT:
        check_nodes(seed)
        check_limits(seed)


def test_nodes_and_limits_of_five_thousand_cases() -> None:
    for seed in ALL:
        check_nodes(seed)
        check_limits(seed)
