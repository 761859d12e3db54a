"""Tests of assets/replaying/limits: identified, unhonoured.

A trace as the search takes it, and what it finds as a cluster file.

Declared, found and unknown rules of a source, in words.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from assets.common.trace import Trace
from assets.replaying.limits.identified import found_cluster, gates_of_queues, logged_jobs, rules_of_trace
from assets.replaying.limits.unhonoured import origin_words, origins_text
from models.identification.rules import RUNNING_JOBS, IdentifiedRule
from tests.models.identification.hidden import PROCS, hidden_log
from traces.cluster.accounts import FOUND, Limit
from traces.cluster.description import Gate


def hidden_trace(count: int = 2400) -> Trace:
    """A log under three running jobs a user, with a group for each user and one row that has no start."""
    log = hidden_log(IdentifiedRule(RUNNING_JOBS, "user", 3), count=count)
    names = [log.holders["user"].names[number] for number in log.jobs.user]
    start = log.start.tolist()
    start[7] = None
    rows = pl.DataFrame(
        {
            "job_index": range(count),
            "submit_s": log.jobs.submit,
            "runtime_s": log.jobs.runtime,
            "procs": log.jobs.procs,
            "requested_walltime_s": log.jobs.limit,
            "start_s": start,
            "user_number": log.jobs.user,
            "user_name": names,
            "group_name": [f"of-{name}" for name in names],
            "account": [None] * count,
            "queue": ["batch"] * count,
            "qos": [None] * count,
            "cancel_s": [None] * count,
        },
        schema_overrides={"account": pl.String, "qos": pl.String, "cancel_s": pl.Int64},
    )
    zero = datetime(2026, 1, 5)
    return Trace("mine", rows, PROCS, "the log", 0, 0, None, zero, True, "Europe/Berlin", 1.0, {})


@pytest.fixture(autouse=True)
def without_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assets.common.trace.logged_facts", lambda rows, believed: {})


def test_scopes_that_part_jobs_alike_are_one() -> None:
    log = logged_jobs(hidden_trace(400))
    assert len(log.jobs) == 399 and set(log.holders) == {"user", "queue"} and log.zero_s == 1767571200


def test_found_rules_are_limits_of_a_cluster() -> None:
    trace = hidden_trace()
    identification = rules_of_trace(trace, None, None, 100)
    description = found_cluster(trace, identification).description
    (limit,) = description.limits
    sentence = identification.rules[0].sentence
    assert limit == Limit("cluster", "", "running", "user", "jobs", 3, source=sentence, origin=FOUND)
    assert description.num_cpus == PROCS


def test_a_gate_for_long_jobs_becomes_one_of_their_queue_where_that_stands_still() -> None:
    day_s, gate = 86_400, Gate((0, 1, 2, 3, 4), 480, 1020, over_time_s=3600, timezone="UTC")
    trace = hidden_trace(400)
    rows = trace.rows.head(4).with_columns(
        queue=pl.Series(["long", "long", "day", "day"]),
        requested_walltime_s=pl.Series([7200, 3600, 3600, 60]),
        start_s=pl.Series([3600, 18 * 3600, 9 * 3600, 5 * day_s + 9 * 3600]),  # from a Monday on
    )
    (moved,) = gates_of_queues(replace(trace, rows=rows), [gate])
    assert moved == replace(gate, over_time_s=None, partition="long")
    near = rows.with_columns(start_s=pl.Series([8 * 3600 + 600, 16 * 3600 + 3000, 9 * 3600, 0]))
    (shorter,) = gates_of_queues(replace(trace, rows=near), [gate])
    assert shorter == replace(moved, begin_minute=510, end_minute=990)
    inside = rows.with_columns(start_s=pl.Series([3600, 12 * 3600, 9 * 3600, 0]))
    assert list(gates_of_queues(replace(trace, rows=inside), [gate])) == [gate]
    assert list(gates_of_queues(replace(trace, rows=rows), [moved])) == [moved]


# --- origins


HEAD = 'name = "mine"\n[[nodes]]\nnames = "n1"\ncores = 4\n'
LIMIT = (
    '[[limits]]\nowner = "cluster"\nowner_name = ""\ncounts = "running"\neach = "user"\nresource = "jobs"\nbound = 5\n'
)
FOUND_LIMIT = LIMIT + 'origin = "found"\n'


@pytest.mark.parametrize(
    ("declared", "seen", "words"),
    [
        (LIMIT, None, ""),
        (
            LIMIT,
            FOUND_LIMIT,
            "rules: 1 declared, 1 found in the log and not adopted (tracehouse cluster adopt log)",
        ),
        (LIMIT + FOUND_LIMIT, FOUND_LIMIT, "rules: 1 declared, 1 found in the log and adopted"),
        (
            LIMIT + '[scheduler]\nname = "slurm"\n',
            '[scheduler]\nname = "none"\norder = { policy = "LCFS" }\n',
            "rules: 1 declared, none found in the log but an order, which the cluster's scheduler has of its own",
        ),
        (None, "", "rules: none declared, none found in the log, what else held jobs back is unknown"),
    ],
)
def test_words(
    declared: str | None, seen: str | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setenv("TRACEHOUSE_SOURCES", "")
    (tmp_path / "clusters" / "found").mkdir(parents=True)
    cluster = "" if declared is None else 'cluster = "mine"\n'
    (tmp_path / "sources.local.toml").write_text(f'[sources.log]\nformat = "swf"\npath = "a.swf"\n{cluster}')
    if declared is not None:
        (tmp_path / "clusters" / "mine.toml").write_text(HEAD + declared)
    if seen is not None:
        (tmp_path / "clusters" / "found" / "log.toml").write_text(HEAD + seen)
    assert origins_text("log") == words
    assert origin_words("log") == words.removeprefix("rules: ") or (
        seen is None and origin_words("log").startswith("1 declared, others unknown, since nobody looked")
    )
