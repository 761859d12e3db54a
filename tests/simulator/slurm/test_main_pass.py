"""The main scheduler."""

from __future__ import annotations

from simulator.cluster.requests import Request
from simulator.slurm.main_pass import main_pass
from tests.simulator.slurm_site import SITE, engine_of, queue_of, with_reservation


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
