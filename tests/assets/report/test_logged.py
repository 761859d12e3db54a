"""What is read from a log: waits of those that started, the backlog, who used what."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assets.report.happened import happened_section
from assets.report.logged import LoggedSystem, read_logged
from assets.report.summary import _use
from tests.tiny import busy_log, swf_line, warehouse_of
from warehouse import Warehouse


def logged_of(folder: Path, text: str) -> LoggedSystem:
    return read_logged(warehouse_of(folder, text), "mine")


def test_waits_are_those_of_jobs_that_started(tmp_path: Path) -> None:
    lines = [swf_line(1, 0, 30, 100, 1), swf_line(2, 10, 7200, 100, 4), swf_line(3, 20, 90_000, 100, 4)]
    lines.append(swf_line(4, 30, 50, 0, 4, status=5))  # cancelled while it waited
    logged = logged_of(tmp_path, "; MaxProcs: 4\n" + "".join(lines))
    waits = logged.all_waits
    assert waits is not None and logged.extent.jobs == 4
    assert (waits["jobs"], waits["mean_s"], waits["longest_s"]) == (3, pytest.approx((30 + 7200 + 90_000) / 3), 90_000)
    assert (waits["within_1_h"], waits["within_24_h"]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert {row["value"]: row["jobs"] for row in logged.waits.filter(part="size").to_dicts()} == {
        "serial": 1,
        "large": 2,
    }
    assert logged.curve["jobs"].sum() == 3 and logged.curve.filter(size_class="serial")["step"].to_list() == [0]


def test_the_backlog_is_the_mean_of_every_step(tmp_path: Path) -> None:
    """Two jobs of two hours on all of four processors, submitted together: the second waits two hours; a third comes a day later."""
    text = "".join(swf_line(k, at, wait, 7200, 4) for k, at, wait in ((1, 0, 0), (2, 0, 7200), (3, 86_400, 0)))
    logged = logged_of(tmp_path, f"; UnixStartTime: 1767225600\n; MaxProcs: 4\n{text}")
    backlog = logged.backlog
    assert backlog.height == 25 and backlog["at_s"][0] == 1767225600
    assert backlog["used"].to_list() == [4.0] * 4 + [0.0] * 20 + [4.0]
    assert backlog["waiting"].to_list() == [1.0, 1.0] + [0.0] * 23
    assert backlog["work"].to_list() == [8.0, 8.0] + [0.0] * 23
    assert logged.utilisation == pytest.approx(20 / 25 / 4)


def test_what_an_accounting_tool_left_out_is_not_told_as_idle(tmp_path: Path) -> None:
    """sacct was asked for two days. It knows of a job that has run for ten, and of no other that ended before these days."""
    lines = [swf_line(1, 0, 0, 10 * 86_400 + 60, 1, 20 * 86_400)]
    lines += [swf_line(k, 10 * 86_400 + 3600 * k, 0, 3600, 3, 7200) for k in range(2, 50)]
    logged = logged_of(tmp_path, "; UnixStartTime: 1767225600\n; MaxProcs: 4\n" + "".join(lines))
    assert logged.extent.complete_from_s == 1767225600 + 10 * 86_400 + 60
    assert logged.utilisation == pytest.approx(0.75, abs=0.03)
    text = next(block for block in happened_section(logged).blocks if isinstance(block, str) and "in use" in block)
    assert "This is from 11 January 2026 on: jobs that ended earlier are not in the log" in text
    assert "were in use since 11 Jan 2026, when the log begins to have all jobs" in " ".join(_use(logged))


def test_a_log_whose_jobs_hardly_end(tmp_path: Path) -> None:
    lines = [swf_line(k, 3600 * k, 0, 2 * 86_400 + 5000, 1, 259_200) for k in range(1, 50)]
    logged = logged_of(tmp_path, "; UnixStartTime: 1767225600\n; MaxProcs: 64\n" + "".join(lines))
    assert logged.complete_backlog.height and logged.utilisation is not None
    assert happened_section(logged).blocks


def test_the_backlog_of_a_log_is_what_its_jobs_add_up_to(tmp_path: Path) -> None:
    logged = logged_of(tmp_path, busy_log(300, days=20))
    steps = logged.backlog
    assert 100 < steps.height <= 501
    length = steps["at_s"][1] - steps["at_s"][0]
    with Warehouse(tmp_path / "w.duckdb").read() as connection:
        submit, start = (
            connection.execute(f"SELECT epoch({x}_time) AS x FROM core.jobs").fetchnumpy()["x"]
            for x in ("submit", "start")
        )
    end = steps["at_s"][-1] + length
    assert steps["waiting"].sum() * length == pytest.approx(
        np.maximum(np.minimum(start, end) - submit, 0).sum(), rel=1e-6
    )


def test_who_used_the_cluster_is_the_best_that_the_log_tells(tmp_path: Path) -> None:
    """An SWF log has groups. Where all are in one, users are shown."""
    logged = logged_of(tmp_path, busy_log(200, days=10))
    assert logged.payer == "user" and logged.use.height == 8
    assert logged.use["core_hours"].to_list() == sorted(logged.use["core_hours"], reverse=True)
    assert logged.use["core_hours"].sum() == pytest.approx(logged.core_hours)
    assert logged.months["core_hours"].sum() == pytest.approx(logged.core_hours)


def test_a_log_that_tells_little(tmp_path: Path) -> None:
    nobody = "".join(f"{k} {k}0 -1 100 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n" for k in range(1, 20))
    logged = logged_of(tmp_path, f"; MaxProcs: 4\n{nobody}")
    assert logged.all_waits is None and logged.backlog.is_empty() and logged.utilisation is None
    assert logged.payer is None and logged.asked is None and logged.requests.is_empty()
    assert logged.statuses["status"].unique().to_list() == ["unknown"]
    assert not logged.extent.clock.has_dates and logged.extent.submitted == "over 3 min, without dates"


def test_requests_beside_what_was_used(tmp_path: Path) -> None:
    text = "".join(swf_line(k, k, 0, 100 * k, 1, 1000) for k in (1, 2, 9, 12))
    logged = logged_of(tmp_path, f"; MaxProcs: 4\n{text}")
    assert logged.requests.rows() == [(2, 1), (4, 1), (18, 1), (20, 1)]
    assert logged.asked == pytest.approx({"median": 0.55, "little": 0.5, "unused": 1 - 2200 / 4000})


def test_a_source_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="source 'other' has no job in the warehouse"):
        read_logged(warehouse_of(tmp_path, busy_log(20)), "other")
