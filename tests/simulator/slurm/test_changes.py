"""Changes that make the backfill scheduler run."""

from __future__ import annotations

from dataclasses import replace

from simulator.cluster.arrays import cluster_arrays
from simulator.slurm.changes import edges_of
from simulator.slurm.settings import slurm_settings
from simulator.slurm.state import site_of
from tests.simulator.busy import with_reservation
from traces.cluster.description import Absence


def test_reservations_begin_and_end_and_nodes_come_back() -> None:
    """A node that never comes back is no change."""
    site = with_reservation("a")
    nodes = (replace(site.nodes[0], absences=(Absence(0, 300), Absence(900, None))), *site.nodes[1:])
    site = replace(site, nodes=nodes)
    edges = edges_of(site_of(cluster_arrays(site), slurm_settings(site.scheduler)))
    assert edges.tolist() == [[300, 0], [600, 1], [1200, 0]]
