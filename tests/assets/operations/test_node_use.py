"""Who held nodes, and what stood idle, against a plain count."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assets.common.storage import open_warehouse
from assets.operations.cluster_check import described_cluster
from assets.operations.node_use import NOBODY_WAITS, NODE_STATES, STRANDED, USED, WOULD_FIT, node_use
from tests.assets.replay.own.homes import CLUSTER, own_home

LARGE = 900


def states_of(folder: Path, jobs: list[tuple[int, int, int, int]], patch: pytest.MonkeyPatch) -> dict[str, float]:
    """Mean cores of each state of the small cluster: two nodes with 4 cores and 1,000 MiB each. All jobs are on node n1."""
    own_home(folder / "home", jobs, patch)
    warehouse = open_warehouse()
    use = node_use(warehouse, "mine", described_cluster(warehouse, "mine"), moments=100)
    assert use is not None and use.strange_nodes == 0
    return {row["state"]: row["mean"] for row in use.states.iter_rows(named=True)}


def test_memory_strands_the_cores_of_a_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # job 2 waits from 0 to 100 behind job 1; n2 would have it, n1 has no memory left
    states = states_of(tmp_path, [(0, 0, 100, LARGE), (0, 100, 200, LARGE)], monkeypatch)
    assert states == pytest.approx({USED: 1, NOBODY_WAITS: 3.5, WOULD_FIT: 2.0, STRANDED["memory"]: 1.5})


def test_without_waiting_jobs_nothing_is_stranded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert states_of(tmp_path, [(0, 0, 100, 10)], monkeypatch) == pytest.approx({USED: 1, NOBODY_WAITS: 7})


def test_random_logs_agree_with_a_plain_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    jobs = []
    for _ in range(40):
        submit = int(random.integers(0, 1000))
        start = submit + int(random.integers(0, 200))
        jobs.append((submit, start, start + int(random.integers(1, 150)), int(random.integers(1, 10)) * 100))
    own_home(tmp_path / "home", jobs, monkeypatch, CLUSTER.replace("cores = 4", "cores = 3"))
    warehouse = open_warehouse()
    use = node_use(warehouse, "mine", described_cluster(warehouse, "mine"), moments=50)
    assert use is not None
    begin, end = min(job[1] for job in jobs), max(job[2] for job in jobs)
    expected = dict.fromkeys(NODE_STATES, 0.0)
    for k in range(50):
        time = begin + (end - begin) * (2 * k + 1) // 100
        running = [job for job in jobs if job[1] <= time < job[2]]
        waiting = [job for job in jobs if job[0] <= time < job[1]]
        for cores, memory in ((3 - len(running), 1000 - sum(job[3] for job in running)), (3, 1000)):
            idle = max(cores, 0)
            expected[USED] += 3 - idle
            fit = [job for job in waiting if job[3] <= max(memory, 0) and idle >= 1]
            lacks_memory = [job for job in waiting if job[3] > max(memory, 0) and idle >= 1]
            state = NOBODY_WAITS if not waiting else WOULD_FIT if fit else STRANDED["memory"] if lacks_memory else ""
            if state:
                expected[state] += idle
    got = {row["state"]: 50 * row["mean"] for row in use.states.iter_rows(named=True)}
    assert got == pytest.approx({state: cores for state, cores in expected.items() if cores})


def test_holders_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", [(0, 0, 3600, 1024), (0, 0, 7200, 2048)], monkeypatch)
    use = node_use(open_warehouse(), "mine", None)
    assert use is not None and use.states.is_empty()
    row = use.holders["queue"].row(0, named=True)
    assert (row["value"], row["jobs"], row["node_hours"], row["core_hours"]) == ("main", 2, 3.0, 3.0)
    assert row["memory_gib_hours"] == pytest.approx(5.0)
