"""What compact jobs would be worth if run times grew with hops: `python -m studies hop_sensitivity`, about 20 CPU-seconds.

The model: each hop more between two nodes of a job than on an empty machine makes the job a share `s` longer. The schedules stay as they
are, so it leaves out that longer jobs delay others. A rule then loses `s` times its extra hops of all node-hours: a straight line in `s`.
The logs do not say how run times depend on nodes.
"""

from __future__ import annotations

import numpy as np

from assets.replaying.running.on_nodes import placement_metrics
from papers.archive import SHARED, jobs_of_file
from papers.markdown import markdown
from simulator.jobs.jobs import Jobs
from studies.placing.placements import LOGS, PlacedLog, placed_by_rules

GROWTHS = (0.005, 0.01, 0.02, 0.05)
"""Values of `s`."""
REFERENCE = "first"
YEAR_S = 365.25 * 86_400


def main() -> None:
    titles = ["log", "rule", "extra hops", *(f"{100 * growth:g} % a hop" for growth in GROWTHS)]
    rows = []
    for name, log in LOGS.items():
        jobs = jobs_of_file(SHARED / log.file)
        rows += sensitivity_rows(name, extra_hops(log, jobs), yearly_node_hours(log, jobs))
    print(f"node-hours a year saved against first fit\n\n{markdown(titles, rows)}")


def extra_hops(log: PlacedLog, jobs: Jobs) -> dict[str, float]:
    """Extra hops by rule, weighted by node-hours; 0 for jobs that are each alone."""
    placed = placed_by_rules(log, jobs)
    extra = {
        rule: placement_metrics(ground.units, placement, jobs)["area_weighted_extra_hops"]
        for rule, (ground, _, placement) in placed.items()
    }
    return extra | {"each job alone": 0.0}


def yearly_node_hours(log: PlacedLog, jobs: Jobs) -> float:
    """Node-hours that the jobs of a year use, by the span of submissions."""
    hours = float((jobs.procs * jobs.runtime).sum()) / log.procs_per_node / 3600
    return hours * YEAR_S / float(jobs.submit[-1] - jobs.submit[0])


def saved_share(extra: float, reference: float, growth: float) -> float:
    """Share of the node-hours under a reference that another rule saves. extra, reference: extra hops of both."""
    return growth * (reference - extra) / (1 + growth * reference)


def sensitivity_rows(name: str, extra: dict[str, float], node_hours: float) -> list[list[str]]:
    """A row for each rule. node_hours: of a year, without extra hops."""
    reference = extra[REFERENCE]
    rows = []
    for rule, hops in extra.items():
        shares = np.array([saved_share(hops, reference, growth) for growth in GROWTHS])
        hours = shares * node_hours * (1 + np.array(GROWTHS) * reference)
        cells = [f"{hour:,.0f} ({100 * share:.2f} %)" for hour, share in zip(hours, shares, strict=True)]
        rows.append([name, rule, f"{hops:.3f}", *(cells if rule != REFERENCE else [""] * len(cells))])
    return rows
