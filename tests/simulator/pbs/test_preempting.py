"""Jobs of express queues take the nodes of others."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.pbs.preempting import preempt_youngest
from simulator.pbs.replaying import PbsReplayer
from tests.simulator.pbs_site import asking, pbs_site, starts_on

ASKED = [asking(0, 2, 100), asking(1, 1, 100), asking(2, 1, 100), asking(10, 2, 20, queue="express"), asking(11, 4, 50)]


@pytest.mark.parametrize(("order", "last"), [("SCR", 62), ("CR", 62), ("R", 70)])
def test_the_youngest_jobs_give_way_and_go_on(order: str, last: int) -> None:
    """The two jobs of one node ran 9 and 8 s. Suspended, they have the rest behind the express job, and requeued, all of it."""
    assert starts_on(pbs_site(preempt_order=order), ASKED, [40, 40, 40, 20, 10]) == [0, 1, 2, 10, last]


def test_preempted_jobs_are_counted() -> None:
    submit = np.array([job.submit_s for job in ASKED])
    ran = np.array([40, 40, 40, 20, 10])
    limit = np.array([job.time_s for job in ASKED])
    outcome = PbsReplayer(pbs_site(), ASKED).replay(
        Jobs(submit, ran, np.ones(5, dtype=np.int64), limit, limit), Cluster(16)
    )
    assert outcome.counts == {"never started": 0, "preempted": 2} and preempt_youngest is not None


def test_preempted_jobs_come_before_queues_in_the_order_of_their_preemption() -> None:
    """The high queue's job was there first, and waits until the two that gave way have gone on."""
    asked = [asking(0, 4, 100), asking(1, 4, 50, queue="high"), asking(5, 4, 20, queue="express")]
    assert starts_on(pbs_site(by_queue=True), asked, [40, 10, 20]) == [0, 60, 5]
