"""What a replay under PBS leaves out."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from assets.replay.own.pbs.unmodelled import places_of_held_jobs, unmodelled_by_pbs, unread_by_pbs
from tests.simulator.pbs_site import pbs_site
from traces.cluster.accounts import Limit

QUEUED = Limit("cluster", "", "submitted", "user", "jobs", 10)
COUNTED = Limit("cluster", "", "running", "user", "jobs", 10)


def test_rules_without_a_model_are_named() -> None:
    site = pbs_site((QUEUED, COUNTED), backfill_prime=True, job_sort_formula="fairshare_perc", round_robin=False)
    words = "\n".join(unmodelled_by_pbs(site))
    assert "backfill_prime=True" in words and "job_sort_formula=fairshare_perc" in words
    assert "1 limit (jobs, submitted)" in words and "round_robin" not in words
    assert unmodelled_by_pbs(pbs_site((COUNTED,))) == []


def test_what_the_log_does_not_say_is_named() -> None:
    texts = {
        "selected_chunks": ["1:ncpus=1", None],
        "place": ["free:group=switch", None],
        "reservation": ["R7.head", None],
    }
    words = unread_by_pbs(pbs_site(()), pl.DataFrame(texts, schema=dict.fromkeys(texts, pl.Utf8)))
    assert [rule.split(":")[0] for rule in words] == [
        "chunks of 1 jobs and their placement",
        "place=group of 1 jobs",
        "reservations of 1 jobs",
    ]


@pytest.mark.parametrize(
    ("values", "is_said"), [({}, True), ({"strict_ordering": False}, False), ({"backfill_depth": 0}, False)]
)
def test_jobs_that_a_limit_holds_back_take_places(values: dict[str, Any], is_said: bool) -> None:
    assert bool(places_of_held_jobs(pbs_site((COUNTED,), **values))) == is_said
    assert places_of_held_jobs(pbs_site(())) == []
