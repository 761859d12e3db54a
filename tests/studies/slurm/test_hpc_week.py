"""A week of UB-HPC."""

from __future__ import annotations

from simulator.slurm.replaying import Phases
from studies.slurm.hpc_week import hpc_week, week_waits
from tests.shared import shared_file


def test_jobs_of_a_better_qos_wait_less_where_it_counts() -> None:
    folder = shared_file("traces", "clusters", "ub-hpc-week")
    cluster, asked, runtime = hpc_week(folder, "")
    assert (len(cluster.nodes), len(asked), len({one.user for one in asked})) == (217, 19_579, 64)
    assert runtime.min() >= 1
    better = [one.qos == "priority-supporters" for one in asked]
    waits = [week_waits(folder, setting, Phases())[1] for setting in ("_nopriority", "")]
    assert all((of_all >= 0).all() for of_all in waits)
    assert waits[1][better].mean() < 0.9 * waits[0][better].mean()
