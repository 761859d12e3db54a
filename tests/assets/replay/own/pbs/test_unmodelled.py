"""What a replay under PBS leaves out."""

from __future__ import annotations

from assets.replay.own.pbs.unmodelled import unmodelled_by_pbs
from tests.simulator.pbs_site import pbs_site
from traces.cluster.accounts import Limit

QUEUED = Limit("cluster", "", "submitted", "user", "jobs", 10)
COUNTED = Limit("cluster", "", "running", "user", "jobs", 10)


def test_rules_without_a_model_are_named() -> None:
    site = pbs_site((QUEUED, COUNTED), backfill_prime=True, job_sort_formula="fairshare_perc", round_robin=False)
    words = "\n".join(unmodelled_by_pbs(site))
    assert "backfill_prime=True" in words and "job_sort_formula=fairshare_perc" in words
    assert "1 limit (jobs, submitted)" in words and "round_robin" not in words
    assert len(unmodelled_by_pbs(pbs_site((COUNTED,)))) == 1
