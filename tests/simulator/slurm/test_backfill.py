"""The backfill cycle: on small cases, and on recorded cycles of the real one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.cluster.requests import Request
from simulator.slurm.backfill import NEITHER, PLANNED, STARTED, backfill_cycle
from simulator.slurm.nodes.selection import choose_nodes
from simulator.slurm.starting import begin_job
from studies.slurm.decisions import judge
from studies.slurm.golden_runs import read_golden_run
from tests.shared import shared_file
from tests.simulator.slurm_site import SITE, engine_of, no_decisions, queue_of


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
