"""Tests of simulator/slurm: backfill, loop, main_pass, replaying."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.slurm.backfill import NEITHER, PLANNED, STARTED, backfill_cycle
from simulator.slurm.loop import run_replay
from simulator.slurm.main_pass import main_pass
from simulator.slurm.nodes.selection import choose_nodes
from simulator.slurm.replaying import Phases, SlurmReplayer, new_replay
from simulator.slurm.starting import begin_job
from studies.slurm.decisions import judge
from studies.slurm.golden_runs import read_golden_run
from tests.shared import shared_file
from tests.simulator.busy import SITE, columns_of, engine_of, no_decisions, queue_of, with_reservation
from traces.cluster.accounts import Limit
from traces.cluster.description import Absence, ClusterDescription

# backfill: The backfill cycle: on small cases, and on recorded cycles of the real one.


def test_a_plan_takes_whole_nodes_and_lower_jobs_start_only_before_it() -> None:
    whole = {"min_nodes": 4, "max_nodes": 4, "exclusive": True}
    engine = engine_of(
        [
            Request(0, limit_s=600, min_nodes=3, max_nodes=3, exclusive=True),
            Request(0, limit_s=600, **whole),
            Request(0, limit_s=900, tasks=1),
            Request(0, limit_s=300, tasks=1),
            Request(0, limit_s=60, tasks=17),
        ]
    )
    engine.scratch.allowed[:] = True
    begin_job(engine, 0, 0, choose_nodes(engine, engine.free, 0, 0), 0)
    decisions = no_decisions(engine)
    backfill_cycle(engine, queue_of(engine, *((job, 0) for job in (1, 2, 3, 4))), decisions, 30)
    assert decisions.kind[:4].tolist() == [PLANNED, PLANNED, STARTED, NEITHER]
    assert decisions.start[:3].tolist() == [600, 1200, 30] and decisions.end[:2].tolist() == [1200, 2100]
    assert decisions.nodes[0].all() and decisions.nodes[2].astype(int).tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(("rows", "tested"), [(3, 2), (4, 3), (9, 4)])
def test_a_cycle_ends_when_its_table_is_full(rows: int, tested: int) -> None:
    """The first plan begins with the window and takes two rows, the others one: they begin where one ends."""
    site = replace(
        SITE,
        scheduler=replace(
            SITE.scheduler, values={"bf_node_space_size": rows, "bf_window": 600, "selecttype": "cons_tres"}
        ),
    )
    whole = {"min_nodes": 4, "max_nodes": 4, "exclusive": True}
    engine = engine_of([Request(0, limit_s=600, **whole) for _ in range(5)], site)
    engine.scratch.allowed[:] = True
    begin_job(engine, 0, 0, choose_nodes(engine, engine.free, 0, 0), 0)
    queue = queue_of(engine, *((job, 0) for job in (1, 2, 3, 4)))
    assert backfill_cycle(engine, queue, no_decisions(engine), 570) == tested


@pytest.mark.parametrize("scenario", ["S2", "S8", "S10"])
def test_first_recorded_cycles_are_decided_as_by_the_real_one(scenario: str) -> None:
    tally = judge(read_golden_run(shared_file("golden", "slurm", scenario, "run1")), 40)
    assert tally.cycles == 40 and tally.differences == []


# loop: Replays in the order of time.

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
    # two jobs are tested in a cycle, 4 s each, and it sleeps for half a second after every two: cycles are at 1, 41, 81 and 121
    running = Request(0, limit_s=600, min_nodes=3, max_nodes=3, exclusive=True)
    late = [
        running,
        Request(0, limit_s=600, **WHOLE),
        Request(0, limit_s=600, **WHOLE),
        Request(92, limit_s=60, tasks=1),
    ]
    assert starts(late, [400, 50, 50, 20], Phases(1, 59, test_us=4_000_000))[3] == 121


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


# main_pass: The main scheduler.


def started(asked: list[Request], rows: list[tuple[int, int]], depth: int = 100, site: object = SITE) -> list[int]:
    engine = engine_of(asked, site)  # type: ignore[arg-type]
    main_pass(engine, queue_of(engine, *rows), depth, 0)
    return [job for job in range(len(asked)) if engine.running.start[job] >= 0]


def test_a_job_that_does_not_fit_closes_its_partition_and_its_nodes_for_others() -> None:
    small, large = Request(0, limit_s=600, tasks=1), Request(0, limit_s=600, min_nodes=3, max_nodes=3, tasks=12)
    too_large = Request(0, limit_s=600, min_nodes=3, max_nodes=3)
    assert started([large, large, small], [(0, 0), (1, 0), (2, 0)]) == [0]
    assert started([too_large, small, small], [(0, 1), (1, 0), (2, 1)]) == [1]


def test_jobs_over_a_limit_and_reservations_of_all_nodes_block_nobody() -> None:
    over, small = Request(0, limit_s=600, tasks=17), Request(0, limit_s=600, tasks=1)
    assert started([over, small], [(0, 0), (1, 0)]) == [1]
    long, short = Request(0, limit_s=900, tasks=1), Request(0, limit_s=60, tasks=1)
    assert started([long, short], [(0, 0), (1, 0)], site=with_reservation()) == [1]


def test_it_looks_at_so_many_jobs() -> None:
    small = Request(0, limit_s=600, tasks=1)
    assert started([small] * 4, [(job, 0) for job in range(4)], depth=2) == [0, 1]


# replaying: Slurm as a replayer.


def jobs_of(submit: list[int], runtime: list[int]) -> Jobs:
    limit = np.maximum(np.array(runtime), 60)
    return Jobs(np.array(submit), np.array(runtime), np.ones(len(submit), dtype=np.int64), limit, limit)


def test_an_outcome_has_starts_and_names_jobs_that_never_start() -> None:
    asked = [Request(0, limit_s=60, tasks=2), Request(5, limit_s=60, tasks=17)]
    replayer = SlurmReplayer(SITE, cluster_arrays(SITE), columns_of(asked), Phases.drawn(1))
    outcome = replayer.replay(jobs_of([0, 5], [30, 30]), Cluster(16))
    assert outcome.schedule.start.tolist() == [0, -1] and outcome.counts == {"never started": 1}
    with pytest.raises(ValueError, match="3 jobs, but requests of 2"):
        replayer.replay(jobs_of([0, 5, 6], [30, 30, 30]), Cluster(16))


def test_a_job_that_outlives_its_estimate_is_planned_to_its_limit() -> None:
    """The first job holds three nodes for 1,000 s, the second wants all four, and the third would take the fourth for 500 s."""
    asked = [
        Request(0, limit_s=2000, min_nodes=3, max_nodes=3, exclusive=True),
        Request(1, limit_s=2000, min_nodes=4, max_nodes=4, exclusive=True),
        Request(2, limit_s=500, min_nodes=1, max_nodes=1, exclusive=True),
    ]
    procs, submit, runtime = np.array([12, 16, 4]), np.array([0, 1, 2]), np.array([1000, 100, 500])
    limit = np.array([2000, 2000, 500])

    def starts(estimate: list[int], plans_by_estimate: bool) -> list[int]:
        jobs = Jobs(submit, runtime, procs, np.array(estimate), limit)
        replayer = SlurmReplayer(SITE, cluster_arrays(SITE), columns_of(asked), Phases.drawn(1))
        return replace(replayer, plans_by_estimate=plans_by_estimate).replay(jobs, Cluster(16)).schedule.start.tolist()

    by_limit = starts([200, 2000, 500], False)
    assert by_limit[2] < 60 and by_limit == starts([2000, 2000, 500], True)
    believed = starts([200, 2000, 500], True)
    assert 200 <= believed[2] < 260, "it is not in the way of the second job once the first has outlived its 200 s"
    known = starts([1000, 100, 500], True)
    assert known[2] < 60 and starts([300, 100, 500], True)[1] >= 1000, "no job starts on nodes that are held"
