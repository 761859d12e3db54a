"""What keeps the jobs of a live queue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assets.common.storage import open_warehouse
from assets.replay.own.queue_causes import queue_causes
from tests.assets.replay.own.homes import CLUSTER, SUBMITTED, own_home
from tests.tiny import busy_log, warehouse_of
from tracehouse.cli.predicting.queue import _why_words
from tracehouse.queue import QueueAnswer, with_causes
from traces.queues import parse_queue

NOW = SUBMITTED + 100_000


def entry(job_id: int, submitted: int, **fields: Any) -> dict[str, Any]:
    memory = fields.pop("memory", 100)
    return {
        "job_id": job_id, "job_state": ["PENDING"], "state_reason": "Priority", "user_name": f"u{job_id}", "partition": "main",
        "account": "physics", "cpus": 1, "tres_req_str": f"cpu=1,mem={memory}M,node=1", "time_limit": 60,
        "submit_time": NOW - submitted, "start_time": 0,
    } | fields  # fmt: skip


def test_the_cause_of_each_waiting_job_is_that_of_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", [(0, 0, 100, 100)], monkeypatch, CLUSTER.replace("n[1-2]", "n1"))
    running = {"job_state": ["RUNNING"], "start_time": NOW - 900, "nodes": "n1"}
    jobs = [
        entry(10, 1000, memory=900, **running),
        entry(11, 800, memory=500),
        entry(12, 700),
        entry(13, 600, hold=True),
    ]
    snapshot = parse_queue(json.dumps({"jobs": jobs, "last_update": NOW}), "queue", "UTC")
    causes = queue_causes(open_warehouse(), "mine", snapshot, NOW)
    rows = {row["job_id"]: row for row in causes.jobs.iter_rows(named=True)}
    assert {name: row["now"] for name, row in rows.items()} == {"11": "memory", "12": "behind_earlier"}
    assert (rows["12"]["behind_job"], rows["12"]["behind_user"], rows["11"]["behind_job"]) == ("11", "u11", None)
    assert "cluster two" in causes.basis and causes.odd_layouts == 0
    rows_of_queue = pl.DataFrame({"job": ["11", "12", "13"], "not_predicted": [None, None, "held"]})
    answer = with_causes(QueueAnswer(rows_of_queue, ["first"]), "mine", snapshot, NOW)
    assert answer.rows["why"].to_list() == ["memory is missing", "behind jobs submitted earlier", None]
    assert answer.rows["reason"].to_list()[:2] == ["Priority", "Priority"] and "cluster two" in answer.lines[1]
    assert _why_words(answer.rows)[1] == "behind jobs submitted earlier: job 11 of u11"
    alone = parse_queue(json.dumps({"jobs": jobs[:1], "last_update": NOW}), "queue", "UTC")
    assert queue_causes(open_warehouse(), "mine", alone, NOW).jobs.is_empty()


def test_a_source_without_a_cluster_has_no_rules(tmp_path: Path) -> None:
    snapshot = parse_queue(json.dumps({"jobs": [entry(1, 5)]}), "queue", "UTC")
    with pytest.raises(ValueError, match="cluster import"):
        queue_causes(warehouse_of(tmp_path, busy_log(30)), "mine", snapshot, NOW)
