"""Fair share."""

from __future__ import annotations

import numpy as np

from simulator.pbs.settings import PbsPhases
from simulator.pbs.sharing import add_to_usage, goes_first_by_share, pbs_share_tree, usage_rate
from tests.simulator.pbs_site import asking, pbs_site, starts_on


def test_the_first_floor_that_differs_decides() -> None:
    shares = pbs_share_tree(pbs_site(), ["ann", "bob", "cid", "eve"], 1, 0)
    assert goes_first_by_share(shares, 0, 2) == 1  # 1 / 60 is less than 1 / 40
    add_to_usage(shares, 0, 100.0)
    assert goes_first_by_share(shares, 0, 2) == -1 and goes_first_by_share(shares, 1, 2) == -1
    assert goes_first_by_share(shares, 1, 0) == 1 and goes_first_by_share(shares, 0, 0) == 0
    assert goes_first_by_share(shares, 2, 3) == 1  # one who is in no group has the shares of the unknown


def test_usage_is_of_the_resource_that_the_site_names() -> None:
    assert usage_rate("ncpus*walltime", asking(0, 2, 60)) == 8.0
    assert usage_rate("walltime", asking(0, 2, 60)) == 1.0
    assert usage_rate("cput", asking(0, 2, 60)) == 8.0


def test_who_has_used_less_comes_first() -> None:
    site = pbs_site(fair_share=True, fairshare_usage_res="ncpus*walltime", scheduler_iteration=10)
    asked = [asking(0, 4, 60), asking(5, 4, 60), asking(6, 4, 60, user="cid")]
    assert starts_on(site, asked, [50, 10, 10], PbsPhases()) == [0, 60, 50]
    assert np.isfinite(pbs_share_tree(site, ["ann"], 1, 0).usage).all()
