"""Whose waits grow and shrink."""

from __future__ import annotations

import polars as pl
import pytest

from assets.replay.scenarios.fate import GROUP_SCHEMA, NONE, fate_of_groups, labelled_jobs, most_changed

ROWS = pl.DataFrame(
    {
        "job_index": [0, 1, 2, 3],
        "procs": [1, 4, 16, 64],
        "user_name": ["ann", "ann", "bob", None],
        "account": ["x", "x", None, "y"],
        "queue": ["a", "b", "b", None],
    }
)
WAITS = pl.DataFrame({"job_index": [0, 1, 3], "base_wait_s": [0, 7200, 3600], "wait_s": [3600, 14_400, 0]})


def test_groups_are_accounts_sizes_and_queues() -> None:
    labels = labelled_jobs(ROWS, 64)
    assert labels.columns == ["job_index", "account", "size", "queue"]
    assert labels["account"].to_list() == ["x", "x", NONE, "y"]
    assert labels["size"].to_list() == ["serial", "small", "medium", "large"]
    assert labels["queue"].to_list() == ["a", "b", "b", NONE]


def test_users_where_there_is_no_account_and_no_queue_where_all_are_of_one() -> None:
    labels = labelled_jobs(ROWS.with_columns(account=pl.lit(None, pl.Utf8), queue=pl.lit("a")), 64)
    assert labels.columns == ["job_index", "user", "size"]
    assert labels["user"].to_list() == ["ann", "ann", "bob", NONE]


def test_the_fate_of_a_group_is_that_of_its_jobs() -> None:
    groups = fate_of_groups("more", WAITS, labelled_jobs(ROWS, 64))
    assert dict(groups.schema) == GROUP_SCHEMA
    x, y = groups.filter(grouped_by="account").to_dicts()
    assert (x["scenario"], x["group"], x["jobs"]) == ("more", "x", 2)
    assert (x["base_wait_h"], x["wait_h"], x["change_h"], x["total_change_h"]) == pytest.approx((1.0, 2.5, 1.5, 3.0))
    assert (x["jobs_longer_by_1h"], x["jobs_shorter_by_1h"]) == (1, 0)  # an hour exactly is not over an hour
    assert (y["group"], y["change_h"], y["jobs_shorter_by_1h"]) == ("y", -1.0, 0)
    assert groups.filter(grouped_by="size")["jobs"].sum() == 3


def test_those_that_change_most_come_first() -> None:
    groups = fate_of_groups("more", WAITS, labelled_jobs(ROWS, 64))
    parts = {(kind, word): part["group"].to_list() for kind, word, part in most_changed(groups, 1)}
    assert parts[("account", "longer")] == ["x"] and parts[("account", "shorter")] == ["y"]
    assert parts[("size", "longer")] == ["small"] and parts[("queue", "shorter")] == [NONE]
    same = fate_of_groups("same", WAITS.with_columns(wait_s="base_wait_s"), labelled_jobs(ROWS, 64))
    assert most_changed(same, 3) == [] and most_changed(groups, 0) == []
