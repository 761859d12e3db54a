"""What a log says of the jobs before a replay begins."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracehouse
from assets.common.storage import open_warehouse
from assets.common.trace import load_trace
from assets.replaying.own.ahead import HALF_LIVES, jobs_ahead, nodes_held
from assets.replaying.running.settings import REQUEST_LABELS
from tests.assets.replaying.own.homes import CLUSTER, PBS_CLUSTER, RUNS_AND_WAITS, own_home
from traces.cluster.description import ClusterDescription, Node


@pytest.mark.parametrize(("policy", "cluster"), [("slurm", CLUSTER), ("pbs", PBS_CLUSTER)])
def test_a_warm_start_has_the_running_and_the_waiting_jobs_of_the_log(
    policy: str, cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large job fills the memory of a node: the one that waited gets n2 at once, and the asked one waits for its end. Slurm's cycles
    come within a minute."""
    own_home(tmp_path / "home", RUNS_AND_WAITS, monkeypatch, cluster)
    cold = tracehouse.replay("mine", window=(3, 1)).replayed
    warm = tracehouse.replay("mine", window=(3, 1), warm_start=True).replayed
    in_our_order = tracehouse.replay("mine", f"{policy}:SAF", window=(3, 1), warm_start=True).replayed

    assert warm.policy.text == cold.policy.text == policy
    assert warm.counts["running_jobs"] == warm.counts["waiting_jobs"] == 1
    assert "running_jobs_without_room" not in warm.counts
    first, late_s = int(cold.jobs.submit[0]), 0 if policy == "pbs" else 60
    assert first <= cold.schedule.start[0] <= first + late_s
    for waited, asked in (warm.all_starts.start, in_our_order.all_starts.start):
        assert first <= waited <= first + late_s and first + 300 <= asked <= first + 300 + 2 * late_s


def test_ended_jobs_count_for_some_half_lives_and_of_queues_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_home(tmp_path / "home", RUNS_AND_WAITS, monkeypatch)
    trace = load_trace(open_warehouse(), "mine", labels=REQUEST_LABELS)
    rows, begin = trace.rows[:3], int(trace.rows["submit_s"][3])
    assert jobs_ahead(trace, (rows, begin), None).started.equals(rows[:1])
    for half_life_s, jobs in ((0.0, 2), (101 / HALF_LIVES, 2), (99 / HALF_LIVES, 1)):
        assert jobs_ahead(trace, (rows, begin), half_life_s).started.height == jobs
    assert jobs_ahead(trace, (rows, begin), 0.0, lambda queue: queue == "other").started.height == 1
    ahead = jobs_ahead(trace, (rows, begin), 0.0)
    assert ahead.running_rows.equals(rows[:1]) and [each - begin for each in map(int, ahead.past[0])] == [-440]
    assert int(ahead.past[1][0]) - begin == -100


def test_nodes_are_those_of_the_log_where_the_cluster_has_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", RUNS_AND_WAITS, monkeypatch)
    trace = load_trace(open_warehouse(), "mine")
    running = trace.rows[:1]
    held = nodes_held(trace, running, ClusterDescription("two", (Node("n1", 4), Node("n2", 4))))
    assert (held.node.tolist(), held.cpus.tolist()) == ([0], [1])
    elsewhere = nodes_held(trace, running, ClusterDescription("one", (Node("other", 4),)))
    assert elsewhere.first.tolist() == [0, 0]
