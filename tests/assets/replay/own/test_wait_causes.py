"""Why jobs waited, of a source."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from assets.common.storage import open_warehouse
from assets.replay.own.wait_causes import CAUSE_COLUMNS, chosen_waits, limit_words, wait_causes
from tests.assets.replay.own.homes import CLUSTER, own_home
from tests.tiny import busy_log, warehouse_of
from traces.cluster.accounts import Limit

# on one node, whose memory has room for one of them: job 2 waits for it, and job 3 behind job 2
JOBS = [(0, 0, 100, 900), (5, 100, 200, 900), (10, 200, 300, 900)]
ONE_NODE = CLUSTER.replace("n[1-2]", "n1")


def test_causes_of_slurm_s_own_log_and_of_a_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", JOBS, monkeypatch, ONE_NODE)
    causes = wait_causes(open_warehouse(), "mine")
    assert "cluster two" in causes.basis and causes.odd_layouts == 0
    assert dict(causes.of().select("cause", "jobs").iter_rows()) == {"memory": 2, "behind_earlier": 1}
    last = causes.jobs.row(2, named=True)
    assert (last["behind_job"], last["behind_user"], last["behind_s"]) == ("2", last["user"], 90)
    replayed = wait_causes(open_warehouse(), "mine", replayed=True)
    assert replayed.basis.startswith("a replay") and replayed.odd_layouts == 0
    for table in (causes.jobs, replayed.jobs):
        assert table.select(pl.sum_horizontal(CAUSE_COLUMNS)).to_series().to_list() == table["wait_s"].to_list()
    groups = causes.by_group(causes.jobs, "user").row(0, named=True)
    assert groups["value"] == last["user"] and groups["jobs"] == 2 and groups["hours"] == pytest.approx(285 / 3600)


def test_without_a_cluster_it_is_a_row_of_processors(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(400))
    causes = wait_causes(warehouse, "mine")
    assert "row of" in causes.basis
    waits = causes.jobs.select(pl.sum_horizontal(CAUSE_COLUMNS)).to_series()
    assert waits.to_list() == causes.jobs["wait_s"].to_list() and waits.sum() > 0
    with pytest.raises(ValueError, match="no cluster of Slurm"):
        wait_causes(warehouse, "mine", replayed=True)
    rows, words = chosen_waits(warehouse, "mine", causes, {"user": causes.jobs["user"][0]})
    assert 0 < rows.height < 400 and words.startswith("user ")
    with pytest.raises(ValueError, match=r"no such job of 'mine' .* 2020-01.*: the log is of 2026-01-01 to 20"):
        chosen_waits(warehouse, "mine", causes, {}, "2020-01")
    for wanted, jobs, said in (({"user": "x"}, (), "most are of"), ({}, ("none",), "no job 'none'")):
        with pytest.raises(ValueError, match=said):
            chosen_waits(warehouse, "mine", causes, wanted, jobs=jobs)


def test_a_limit_is_said_as_an_operator_says_it() -> None:
    assert (
        limit_words(Limit("qos", "few", "running", "user", "jobs", 10)) == "at most 10 running jobs of a user (qos few)"
    )
