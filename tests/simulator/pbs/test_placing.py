"""Which nodes jobs get."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.pbs.placing import find_nodes
from simulator.pbs.replaying import idle_pbs
from simulator.pbs.requests import PbsJob, Piece
from simulator.pbs.settings import PbsPhases
from simulator.pbs.starting import start_pbs_job
from tests.simulator.pbs_site import asking, pbs_site, starts_on

TWO_KINDS = PbsJob(0, (Piece(2, {"ncpus": 2}), Piece(1, {"ncpus": 1, "ngpus": 1})), 60)


@pytest.mark.parametrize(
    ("job", "nodes"),
    [
        (asking(0, 3, 60, 2), [0, 0, 1]),
        (asking(0, 3, 60, 2, arrangement="scatter"), [0, 1, 2]),
        (asking(0, 2, 60, 2, arrangement="pack"), [0, 0]),
        (asking(0, 3, 60, 2, arrangement="pack"), []),
        (asking(0, 1, 60, 1, mem=2048 * 1024), []),
        (asking(0, 2, 60, 1, ngpus=1), [0, 0]),
        (asking(0, 3, 60, 1, ngpus=1), []),
        (TWO_KINDS, []),
    ],
)
def test_chunks_go_to_the_first_nodes_with_room(job: PbsJob, nodes: list[int]) -> None:
    engine = idle_pbs(pbs_site(), [job], np.array([0]), PbsPhases())
    rows = find_nodes(engine.site, engine.asks, engine.tops, engine.scratch, engine.load, 0, (0, 60))
    assert engine.scratch.node[:rows].tolist() == nodes


def test_an_exclusive_job_has_its_node_alone() -> None:
    asked = [
        asking(0, 1, 60, 1, sharing="excl"),
        asking(0, 1, 60, 1),
        asking(0, 4, 60, 1, arrangement="scatter", sharing="excl"),
    ]
    engine = idle_pbs(pbs_site(), asked, np.zeros(3, dtype=np.int64), PbsPhases())
    for job, node in ((0, 0), (1, 1)):
        rows = find_nodes(
            engine.site, engine.asks, engine.tops, engine.scratch, engine.load, engine.jobs.ask[job], (0, 60)
        )
        assert rows == 1 and engine.scratch.node[0] == node
        start_pbs_job(engine, job, rows, 0)
    assert (
        find_nodes(engine.site, engine.asks, engine.tops, engine.scratch, engine.load, engine.jobs.ask[2], (0, 60)) == 0
    )


def test_free_processors_on_other_nodes_do_not_help() -> None:
    """Half of each node is free, which is eight processors, but no whole node."""
    asked = [asking(0, 4, 60, 2, arrangement="scatter"), asking(1, 1, 60, 4)]
    assert starts_on(pbs_site(), asked, [50, 10]) == [0, 50]
