"""Jobs and nodes chosen together on real logs: `python -m studies looking_ahead`, about 2 CPU-minutes.

A scheduler that acts every minute, whole nodes, and the trees of `placements`. FCFS with EASY and best fit on the tree, with
requested times, beside `--place looking-ahead` with guards of 11 minutes, 4 hours and a day. These reserve nothing and read no times.
"""

from __future__ import annotations

import numpy as np

from assets.replaying.running.on_nodes import ground_of, placement_metrics
from assets.replaying.running.settings import NodeSettings
from models.allocation.looking_ahead import LookingAheadReplayer
from papers.archive import SHARED, jobs_of_file
from papers.markdown import markdown
from simulator.engine.replay import replay
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.words import TOGETHER
from studies.placing.placements import LOGS, PlacedLog

MINUTE_S = 60
SHORT_LOGS = ("KTH-SP2", "SDSC-SP2")
"""Those that take minutes. On the others long queues make it slow."""
GUARDS = (11, 240, 1440)
"""In periods."""


def main() -> None:
    rows = [row for name in SHORT_LOGS for row in rows_of_log(name, LOGS[name], jobs_of_file(SHARED / LOGS[name].file))]
    titles = ["log", "rule", "hop cost", "extra hops", "mean wait, s", "p99 wait, s", "longest, h"]
    print(f"real logs\n\n{markdown(titles, rows)}")


def rows_of_log(name: str, log: PlacedLog, jobs: Jobs) -> list[list[str]]:
    """A row for EASY with best fit, and one for each guard."""
    rows = []
    for guard in (None, *GUARDS):
        settings = NodeSettings(
            topology=log.tree,
            procs_per_node=log.procs_per_node,
            nodes="whole",
            period=MINUTE_S,
            place="tree" if guard is None else TOGETHER,
            guard=guard,
        )
        ground = ground_of(settings, log.procs, 1)
        rounded, cluster = ground.rounded(jobs, Cluster(log.procs))
        if guard is None:
            schedule = replay(rounded, cluster)
            placement = ground.place(rounded, cluster, schedule)
        else:
            outcome = LookingAheadReplayer(ground.units, MINUTE_S, guard).replay(rounded, cluster)
            schedule, placement = outcome.schedule, outcome.placement
            assert placement is not None
        metrics, wait = placement_metrics(ground.units, placement, jobs), schedule.start - jobs.submit
        rows.append(
            [
                name,
                "EASY, tree" if guard is None else f"looking ahead, guard {guard:,}",
                f"{metrics['average_hop_cost']:.2f}",
                f"{metrics['area_weighted_extra_hops']:.3f}",
                f"{wait.mean():,.0f}",
                f"{np.percentile(wait, 99):,.0f}",
                f"{wait.max() / 3600:,.1f}",
            ]
        )
    return rows
