"""PBS as a replayer."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.pbs.replaying import PbsReplayer, sort_amount
from tests.simulator.pbs_site import asking, pbs_site, starts_on


def test_an_outcome_has_starts_and_refuses_other_jobs() -> None:
    asked = [asking(0, 1, 60), asking(5, 5, 60)]
    assert starts_on(pbs_site(), asked, [30, 30]) == [0, -1]
    one = np.ones(1, dtype=np.int64)
    with pytest.raises(ValueError, match="1 jobs, but requests of 2"):
        PbsReplayer(pbs_site(), asked).replay(Jobs(one, one, one, one, one), Cluster(16))


def test_keys_sort_by_amounts_of_the_whole_job() -> None:
    assert sort_amount(asking(0, 2, 90), "ncpus", pbs_site()) == 8
    assert sort_amount(asking(0, 2, 90), "walltime", pbs_site()) == 90
    assert sort_amount(asking(0, 2, 90), "fair_share_perc", pbs_site()) == 50
