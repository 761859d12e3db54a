"""Requests that are made once."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from assets.replaying.own.kept_requests import kept_for_rows
from tests.simulator.busy import SITE
from traces.cluster.description import ClusterDescription, SchedulerSettings

ROWS = pl.DataFrame({"procs": [1, 2, 3], "queue": ["a", None, "b"]})


def test_requests_are_made_again_for_other_rows_and_nodes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    @kept_for_rows
    def requests(rows: pl.DataFrame, cluster: ClusterDescription) -> list[int]:
        made.append(rows.height)
        return rows["procs"].to_list()

    other_limits = replace(SITE, limits=(), scheduler=SchedulerSettings())
    first = requests(ROWS, SITE)
    assert requests(ROWS.clone(), other_limits) is first and made == [3]
    assert requests(ROWS[:2], SITE) == [1, 2] and requests(ROWS, replace(SITE, name="other")) == [1, 2, 3]
    requests(ROWS.with_columns(queue=pl.lit("a")), SITE)
    assert made == [3, 2, 3, 3] and requests(ROWS, SITE) is first
    monkeypatch.setattr("assets.replaying.own.kept_requests.MOST_JOBS_KEPT", 4)
    requests(ROWS[1:], SITE)
    assert requests(ROWS, SITE) == first and made == [3, 2, 3, 3, 2, 3], "few are kept"
