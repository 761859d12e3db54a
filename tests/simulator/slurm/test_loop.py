"""Replays in the order of time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request
from simulator.slurm.loop import run_replay
from simulator.slurm.replaying import Phases, new_replay
from tests.simulator.slurm_site import SITE, columns_of
from traces.cluster.accounts import Limit
from traces.cluster.description import ClusterDescription
from traces.cluster.nodes import Absence

WHOLE = {"min_nodes": 4, "max_nodes": 4, "exclusive": True}


def starts(asked: list[Request], runtime: list[int], phases: Phases, site: ClusterDescription = SITE) -> list[int]:
    replay = new_replay(site, cluster_arrays(site), columns_of(asked, site), np.array(runtime), phases)
    run_replay(replay)
    assert replay.engine.running.length[0] == 0 and (replay.engine.free.cpus == replay.engine.site.cpus).all()
    return replay.engine.running.start.tolist()


def test_when_jobs_start() -> None:
    asked = [
        Request(100, limit_s=600, min_nodes=3, max_nodes=3, exclusive=True),
        Request(110, limit_s=600, **WHOLE),
        Request(111, limit_s=300, tasks=1),
        Request(112, limit_s=60, tasks=17),
        Request(113, limit_s=60, tasks=1, dependencies=(("afterany", 1),)),
    ]
    # the first pass is three seconds after the last one at the earliest, job 2 waits for the cycle, job 1 for an epilog of 4 s
    assert starts(asked, [200, 50, 20, 9, 9], Phases(25, 59, (4, 4))) == [100, 304, 125, -1, 358]


def test_tasks_of_an_array_run_so_many_at_a_time() -> None:
    asked = [Request(0, limit_s=60, tasks=1, array=0, array_task=k, array_limit=2) for k in range(4)]
    assert starts(asked, [50, 30, 10, 10], Phases(20, 59)) == [0, 0, 30, 40]


def test_a_task_that_came_later_does_not_start_its_array_again() -> None:
    first = Request(0, limit_s=600, tasks=1, array=0, array_task=0, begin_s=100)
    others = [Request(0, limit_s=600, tasks=1, array=0, array_task=k) for k in (1, 2)]
    assert starts([first, *others], [50, 300, 300], Phases(20, 59)) == [119, 0, 0]


def test_backfill_waits_for_something_to_change_and_is_later_by_what_cycles_take() -> None:
    # the queue is empty from second 0 on: the cycle of second 10 finds nobody, the next one follows the submissions at once
    behind = [Request(200, limit_s=600, **WHOLE), Request(200, limit_s=60, tasks=1)]
    assert starts([Request(0, limit_s=600, tasks=1), *behind], [400, 50, 20], Phases(10, 59)) == [0, 400, 201]
    # two jobs are tested in a cycle, 4 s each: cycles are at 1, 39, 77 and 115
    running = Request(0, limit_s=600, min_nodes=3, max_nodes=3, exclusive=True)
    late = [
        running,
        Request(0, limit_s=600, **WHOLE),
        Request(0, limit_s=600, **WHOLE),
        Request(80, limit_s=60, tasks=1),
    ]
    assert starts(late, [400, 50, 50, 20], Phases(1, 59, test_us=4_000_000))[3] == 115


@pytest.mark.parametrize(
    ("state", "values", "expected"),
    [("down", {}, [239, 389]), ("down", {"jobrequeue": False}, [0, 100]), ("drain", {}, [0, 150])],
)
def test_nodes_that_go_away(state: str, values: dict[str, bool], expected: list[int]) -> None:
    """Node a is away from 100 to 300. Job 0 runs on it, job 1 waits for its end, and job 2 wants all nodes."""
    nodes = (replace(SITE.nodes[0], absences=(Absence(100, 300, state),)), *SITE.nodes[1:])
    scheduler = replace(SITE.scheduler, values={**SITE.scheduler.values, **values})
    asked = [
        Request(0, limit_s=900, tasks=1),
        Request(5, limit_s=900, tasks=1, dependencies=(("afterany", 0),)),
        Request(110, limit_s=900, min_nodes=4, max_nodes=4, tasks=4),
    ]
    got = starts(asked, [150, 50, 50], Phases(10, 59), replace(SITE, nodes=nodes, scheduler=scheduler))
    assert got[:2] == expected and got[2] > 300


def test_a_job_over_a_limit_on_submitted_jobs_is_refused() -> None:
    site = replace(SITE, limits=(Limit("user", "x/u", "submitted", "user", "jobs", 1),))
    asked = [Request(second, limit_s=60, tasks=1) for second in (0, 5, 40)]
    assert starts(asked, [30, 30, 30], Phases(10, 59), site) == [0, -1, 40]
