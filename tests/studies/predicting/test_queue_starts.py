"""Tests of studies/predicting: queue_starts, recorded_queues."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assets.common.storage import open_warehouse
from models.waits.history import history_of
from models.waits.scoring import binomial_bounds
from studies.predicting.queue_starts import (
    BINOMIAL,
    OURS,
    OWN,
    PREDICTORS,
    ROW,
    SIMILAR,
    ZERO,
    PastBounds,
    Scored,
    _together,
    score_recording,
    score_table,
)
from studies.predicting.recorded_queues import (
    Listed,
    RecordedLog,
    Recording,
    _snapshots,
    known_from,
    read_bundled,
    read_run,
    with_ends,
)
from tests.assets.replaying.own.homes import CLUSTER, LARGE, SUBMITTED, log_of
from tests.models.waits.states import rows_of
from traces.common.queue import HELD, RUNNING, WAITING

FIRST, SECOND = SUBMITTED + 1600, SUBMITTED + 2000
RUN = [(90 * k, 300 * (k // 2) + 100, 300 * (k // 2) + 400, LARGE) for k in range(40)]
"""Two large jobs fit on a cluster of two nodes: each pair starts as the one before ends."""


def listed_at(moment: int) -> dict[str, Listed]:
    """What squeue would have shown of RUN, and of one more job, which never starts. Slurm has no plan for job 18."""
    jobs: dict[str, Listed] = {"41": Listed("PENDING", 1, "Dependency", None)}
    for number, (submit, start, end, _) in enumerate(RUN, 1):
        if SUBMITTED + start <= moment < SUBMITTED + end:
            jobs[str(number)] = Listed("RUNNING", 50, "None", SUBMITTED + start)
        elif SUBMITTED + submit <= moment < SUBMITTED + start:
            planned = None if number == 18 else moment + 3600
            jobs[str(number)] = Listed("PENDING", 50 - number, "Priority", planned)
    return jobs


def recorded(lines: list[str], name: str = "two") -> RecordedLog:
    waiting = "41|ann|physics|main|{0}|Unknown|Unknown|01:00:00|PENDING|1|1|1|900M|cpu=1,mem=900M,node=1||None assigned"
    lines = [*lines, waiting.format(SUBMITTED + 100)]
    listed = {moment: listed_at(moment) for moment in (SUBMITTED + 200, FIRST, SECOND)}
    return RecordedLog(name, "slurm", lines, "UTC", listed)


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The log of RUN, with its cluster in a home of its own."""
    (tmp_path / "clusters").mkdir()
    for name in ("two", "again"):
        text = CLUSTER.replace('name = "two"', f'name = "{name}"')
        (tmp_path / "clusters" / f"{name}.toml").write_text(text, encoding="utf-8")
    (tmp_path / "sources.local.toml").touch()
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setenv("TRACEHOUSE_SOURCES", "")
    return log_of(RUN).splitlines()


def test_a_snapshot_and_the_source_have_what_was_known_then(lines: list[str]) -> None:
    recording = Recording(recorded(lines))
    jobs = {job.job_id: job for job in recording.snapshot(FIRST).jobs}
    assert {job: jobs[job].state for job in jobs} == {
        **dict.fromkeys(("11", "12"), RUNNING),
        **dict.fromkeys(("13", "14", "15", "16", "17", "18"), WAITING),
        "41": HELD,
    }
    assert (jobs["11"].start_s, jobs["11"].asked.node_names) == (FIRST, ("n1",))
    assert (jobs["13"].start_s, jobs["13"].asked.node_names) == (None, ())
    assert (jobs["13"].asked.priority, jobs["13"].requested_walltime_s, jobs["41"].because) == (37, 3600, "Dependency")
    assert recording.planned(FIRST) == dict.fromkeys(("13", "14", "15", "16", "17"), 3600.0)
    true = recording.true_starts(FIRST)
    assert [true[str(job)] for job in range(13, 19)] == [300, 300, 600, 600, 900, 900] and "41" not in true
    assert recording.moments(5) == [FIRST, SECOND]  # at the other one no job had ended
    recording.cut(FIRST)
    with open_warehouse().read() as connection:
        rows = connection.sql(
            "SELECT job_id, end_time FROM core.jobs WHERE source = 'two_then' ORDER BY job_index"
        ).pl()
    assert rows["job_id"].to_list() == [str(number) for number in range(1, 11)]
    assert rows["end_time"].dt.epoch("s").to_numpy().max() == FIRST


def test_jobs_are_scored_and_the_future_changes_no_prediction(lines: list[str]) -> None:
    scored = score_recording(Recording(recorded(lines)), 1, 5)
    assert scored.rows["true_s"].to_list() == [300, 300, 600, 600, 900, 900]
    assert scored.counts == {"held by a dependency or for good": 1}
    assert scored.rows[OWN].to_list() == [[3600.0] * 3] * 5 + [None]
    assert scored.rows[ZERO].to_list() == [[0.0] * 3] * 6
    for name in (OURS, ROW, SIMILAR, BINOMIAL):
        ends = np.array(scored.rows[name].to_list())
        assert (ends[:, 0] <= ends[:, 1]).all() and (ends[:, 1] <= ends[:, 2]).all(), name
    later = [(a, b + 5000 * (b > 1600), c + 5000 * (c > 1600), memory) for a, b, c, memory in RUN]
    changed = score_recording(Recording(recorded(log_of(later).splitlines(), "again")), 1, 5)
    assert changed.rows["true_s"].to_list() != scored.rows["true_s"].to_list()
    assert changed.rows.select(PREDICTORS).equals(scored.rows.select(PREDICTORS))


def test_bounds_at_a_submission_are_those_of_qbets() -> None:
    history = history_of(rows_of(300), 16)
    whole, bounds = binomial_bounds(history), PastBounds(history)
    waited = np.flatnonzero((history.start > history.submit) & (np.diff(history.submit, append=0) != 0))
    assert len(waited) > 50
    for job in waited.tolist():
        group = int(history.class_of(history.procs, history.request)[job])
        np.testing.assert_array_equal(bounds.of(group, int(history.submit[job])), whole[job])


def made_up(errors: dict[str, float], moments: int = 10) -> pl.DataFrame:
    """Two jobs a moment that start after 1,000 s. Of the second Slurm has no plan."""
    rows = [{"moment": moment, "true_s": 1000.0} for moment in range(moments) for _ in range(2)]
    frame = pl.DataFrame(rows)
    for name, error in errors.items():
        ends = [[1000 + error - 100, 1000 + error, 1000 + error + 100]] * len(rows)
        known = [name != OWN or place % 2 == 0 for place in range(len(rows))]
        values = [each if told else None for each, told in zip(ends, known, strict=True)]
        frame = frame.with_columns(pl.Series(name, values, dtype=pl.List(pl.Float64)))
    return frame


def test_the_table_compares_the_same_jobs() -> None:
    errors = dict.fromkeys(PREDICTORS, 700.0) | {OURS: 50.0, OWN: 200.0}
    rows = dict(line.strip("| ").split(" | ", 1) for line in score_table(made_up(errors)).splitlines()[2:])
    assert rows[OURS] == "20 | 50 | 10 | 50 | 0.25 [0.25, 0.25] | 100.0% | 200 | 100.0%"
    assert rows[OWN].startswith("10 | 200 | 10 | 200 | 1.00 [1.00, 1.00] |") and rows[OWN].endswith("| 100.0%")
    assert rows[ROW].startswith("20 | 700 | 10 | 700 | 3.50 ") and rows[ROW].endswith(" | 0.0% | 200 | 0.0%")


def test_blocks_of_two_runs_are_not_mixed() -> None:
    scored = Scored(made_up(dict.fromkeys(PREDICTORS, 1.0), 7), Counter(), [1.0])
    both = _together([scored, scored]).rows["moment"].to_list()
    assert both[:14] == scored.rows["moment"].to_list() and both[14] == 10


def test_snapshots_of_squeue_are_read() -> None:
    text = (
        "### 0.9\n## squeue\n### 60.2\n## squeue\n5|j|RUNNING|9|None|70|900|80|(null)|n1|main|normal|a\n"
        "6|j|PENDING|8|Priority|75|N/A|N/A|(null)||main|normal|a\n## sprio\n6|8|0\n"
    )
    jobs = {"5": Listed("RUNNING", 9, "None", 80), "6": Listed("PENDING", 8, "Priority", None)}
    assert list(_snapshots(text, 100)) == [(160, jobs)]


def test_when_a_line_was_known() -> None:
    stamped = RecordedLog("p", "pbs", ["01/01/2024 01:00:00;Q;1.pbs;user=u"], "Europe/Berlin", {})
    assert known_from(stamped) == [SUBMITTED] and with_ends(stamped) == stamped.lines
    log = RecordedLog("s", "slurm", ["JobID|End|State", f"1|{SUBMITTED}|COMPLETED", "2|Unknown|PENDING"], "UTC", {})
    assert known_from(log)[:2] == [0, SUBMITTED] and known_from(log)[2] > SUBMITTED
    assert with_ends(log)[2] == "2|2024-01-01T00:00:01|CANCELLED"


def test_unknown_runs_and_sources_are_refused() -> None:
    with pytest.raises(ValueError, match="no run 'X9': expected one of S2, S5"):
        read_run("X9")
    with pytest.raises(ValueError, match="no bundled source 'oak': expected one of birch, larch"):
        read_bundled("oak")
