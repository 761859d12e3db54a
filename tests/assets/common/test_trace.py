"""What a replay knows of a log: jobs, users, starts, cancellations, faults; everything counted by hand on small logs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import polars.selectors as cs
import pytest

from assets.common.trace import Trace, load_clock, load_trace, trace_sha256, waiting_at
from models.judging.machine import in_use
from simulator.jobs.jobs import NEVER
from tests.assets.ingest.test_canonical_jobs_formats import load
from tests.shared import shared_file
from tests.tiny import swf_line, warehouse_of

FAULTY = "; MaxProcs: 16\n; MaxNodes: 4 (of four)\n" + "".join([
    swf_line(1, 100, 5, 50, 4, 80, user=30, requested_procs=6),
    swf_line(2, 100, 0, 60, 2, 40, user=4),  # same second, ran past its request
    swf_line(3, 90, -20, 10, 1, -1, user=-1),  # out of order, start unknown, user unknown
    swf_line(3, 120, 0, 10, 1, 0, user=30),  # id seen before, no request
    swf_line(4, 130, 30, 0, 2, 600, user=4, status=5),  # cancelled after 30 s, before it started
    swf_line(5, 140, 7, -1, -1, 300, user=9, status=5, requested_procs=3),  # the same, with nothing allocated
    swf_line(6, 150, -1, 0, 2, 600, status=5),  # nobody knows when it was cancelled
    swf_line(7, 150, 30, 0, 2, -1, status=5),  # nor how long it would have run
    swf_line(8, 150, 30, 0, -1, 600, status=5),  # nor how wide it was
    swf_line(9, 150, 30, 0, 2, 600, status=0),  # it failed
    swf_line(10, 160, 0, 25, 2, 600, user=-1, status=5),  # cancelled while it ran: a job like any other
])  # fmt: skip


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trace, Trace]:
    """Without and with the cancelled jobs."""
    warehouse = warehouse_of(tmp_path_factory.mktemp("faulty"), FAULTY)
    return load_trace(warehouse, "mine"), load_trace(warehouse, "mine", cancelled=True)


def test_rows_are_in_replay_order_with_what_the_log_knows(faulty: tuple[Trace, Trace]) -> None:
    shown = [
        "job_id",
        "submit_s",
        "runtime_s",
        "procs",
        "requested_procs",
        "requested_walltime_s",
        "start_s",
        "cancel_s",
    ]
    assert faulty[0].rows.select(shown).rows() == [
        ("3", 90, 10, 1, 1, -1, None, None),
        ("1", 100, 50, 4, 6, 80, 105, None),
        ("2", 100, 60, 2, 2, 40, 100, None),
        ("3", 120, 10, 1, 1, -1, 120, None),
        ("10", 160, 25, 2, 2, 600, 160, None),
    ]


def test_users_are_numbered_and_the_unknown_are_one(faulty: tuple[Trace, Trace]) -> None:
    for trace in faulty:
        numbers = dict(zip(trace.rows["job_index"], trace.rows["user_number"], strict=True))
        of_known = {numbers[k] for k in numbers if k not in (0, 10)}
        assert trace.rows["user_number"].dtype == pl.Int64
        assert numbers[0] == numbers[10] == 4  # last, after the users 1, 30, 4 and 9
        assert max(of_known) < 4
        assert trace.jobs().user.tolist() == trace.rows["user_number"].to_list()


def test_cancelled_jobs_join_when_asked_for(faulty: tuple[Trace, Trace]) -> None:
    rows = faulty[1].rows.filter(pl.col("cancel_s").is_not_null())
    assert rows.select("job_id", "submit_s", "runtime_s", "procs", "cancel_s", "start_s").rows() == [
        ("4", 130, 600, 2, 160, None),
        ("5", 140, 300, 3, 147, None),
    ]
    assert faulty[1].rows["job_index"].is_sorted()
    jobs = faulty[1].jobs("actual")
    assert jobs.cancel[jobs.cancel < NEVER].tolist() == [160, 147]
    assert jobs.estimate[jobs.cancel < NEVER].tolist() == [600, 300]  # nobody knows better than the request


def test_faults_are_counted(faulty: tuple[Trace, Trace]) -> None:
    assert faulty[0].log_faults == {
        "jobs_out_of_order": 1, "repeated_job_ids": 1, "jobs_left_before_start": 4, "jobs_wider_than_cluster": 0,
        "jobs_still_waiting": 0,
    }  # fmt: skip
    assert (faulty[0].jobs_left_out, faulty[1].jobs_left_out) == (6, 4)
    assert faulty[1].log_faults["jobs_left_before_start"] == 2  # the others are replayed
    assert faulty[0].procs_per_node == 4.0


def test_processors_per_node_need_both_headers(tmp_path: Path) -> None:
    for number, header in enumerate(("; MaxProcs: 8\n", "; MaxNodes: 8\n", "; MaxProcs: 8\n; MaxNodes: 0\n", "")):
        warehouse = warehouse_of(tmp_path / str(number), header + swf_line(1, 0, 0, 5, 8))
        assert load_trace(warehouse, "mine").procs_per_node == 1.0


@pytest.mark.parametrize(
    ("header", "known"), [("", False), ("; UnixStartTime: 0\n", False), ("; UnixStartTime: 1767225600\n", True)]
)
def test_a_log_has_dates_where_its_header_tells_second_0(tmp_path: Path, header: str, known: bool) -> None:
    warehouse = warehouse_of(tmp_path, header + swf_line(1, 0, 0, 10, 1))
    assert load_clock(warehouse, "mine").has_dates == load_trace(warehouse, "mine").has_calendar == known


def test_running_jobs_are_those_that_the_log_says_ran_then(tmp_path: Path) -> None:
    log = "; MaxProcs: 64\n" + "".join([
        swf_line(1, 0, 10, 90, 1, 200),  # 10..100
        swf_line(2, 1, 9, 91, 2, 200, user=5),  # 10..101
        swf_line(3, 2, 98, 10, 4, 200),  # 100..110
        swf_line(4, 3, 98, 10, 8, 200),  # 101..111
        swf_line(5, 4, -5, 500, 16, 200),  # start unknown
        swf_line(6, 5, 10, 0, 2, 600, status=5),  # cancelled
        swf_line(7, 100, 0, 10, 32, 200),  # of the same second as the first job of the replay
        swf_line(8, 100, 0, 10, 1, 200),
    ])  # fmt: skip
    trace = load_trace(warehouse_of(tmp_path, log), "mine", cancelled=True)
    running = trace.running_at(trace.rows, 100)
    assert (running.procs.tolist(), running.start.tolist(), running.runtime.tolist()) == ([2], [10], [91])
    assert running.estimate.tolist() == running.limit.tolist() == [200]
    assert trace.running_at(trace.rows, 101).procs.tolist() == [4, 32, 1]
    assert trace.running_at(trace.rows, 101).user.tolist() == [0, 0, 0]
    assert len(trace.running_at(trace.rows, 10)) == 0
    actual = trace.running_at(trace.rows, 100, "actual", "requested")
    assert (actual.estimate.tolist(), actual.hold.tolist()) == ([91], [200])


def test_waiting_jobs_are_those_that_the_log_says_had_not_started(tmp_path: Path) -> None:
    log = "; MaxProcs: 64\n" + "".join([
        swf_line(1, 0, 99, 10, 1, 200),  # started at 99
        swf_line(2, 1, 99, 10, 2, 200),  # starts at 100
        swf_line(3, 2, 500, 10, 4, 200),
        swf_line(4, 3, -5, 500, 8, 200),  # start unknown
        swf_line(5, 4, 96, 0, 2, 600, status=5),  # leaves at 100
        swf_line(6, 5, 96, 0, 16, 600, status=5),  # leaves at 101
        swf_line(7, 100, 0, 10, 32, 200),  # submitted in that second
        swf_line(8, 101, 0, 10, 1, 200),
    ])  # fmt: skip
    warehouse = warehouse_of(tmp_path, log)
    for cancelled, ids in ((True, ["2", "3", "6", "7"]), (False, ["2", "3", "7"])):
        rows = load_trace(warehouse, "mine", cancelled).rows
        assert waiting_at(rows, 100)["job_id"].to_list() == ids
        assert waiting_at(rows[:6], 100)["job_id"].to_list()[:2] == ids[:2]
    assert waiting_at(rows, -1).is_empty()


def test_the_hash_is_that_of_the_jobs(faulty: tuple[Trace, Trace], tmp_path: Path) -> None:
    rows = faulty[1].rows
    digest = trace_sha256(rows)
    again = load_trace(warehouse_of(tmp_path, FAULTY.replace("MaxProcs: 16", "MaxProcs: 32")), "mine", cancelled=True)
    assert trace_sha256(again.rows) == digest  # the same jobs on another cluster
    changed = {trace_sha256(rows), trace_sha256(faulty[0].rows), trace_sha256(rows[1:])}
    for name in ("submit_s", "runtime_s", "procs", "requested_walltime_s", "user_number", "cancel_s"):
        changed.add(trace_sha256(rows.with_columns(pl.col(name) + 1)))
    assert len(changed) == 9
    assert trace_sha256(rows.with_columns(predicted_runtime_s=pl.lit(5.0), job_index=0)) == digest


def test_predictions_that_are_missing_are_asked_for(faulty: tuple[Trace, Trace]) -> None:
    with pytest.raises(ValueError, match="no predicted run times yet: make them with `tracehouse run mine`"):
        faulty[0].jobs("predicted")


def test_nothing_to_replay(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, "; MaxProcs: 8\n" + swf_line(1, 0, 5, 0, 2, 60, status=5))
    with pytest.raises(ValueError, match="nothing to replay"):
        load_trace(warehouse, "mine")
    assert load_trace(warehouse, "mine", cancelled=True).rows.height == 1
    with pytest.raises(ValueError, match="'other' is not in the warehouse yet"):
        load_trace(warehouse, "other")


def test_live_estimates_tell_jobs_apart_as_features_do(tmp_path: Path) -> None:
    """Processors allocated stand for those requested where the log has none, in replays as in features."""
    import sql
    from models.runtime.past.past_jobs import LikenessInParts, likeness_of

    text = "; MaxProcs: 16\n" + "".join(
        swf_line(k, 10 * k, 0, 5, 1 + k % 3, 60, user=k % 2, requested_procs=(-1, 4)[k % 5 == 0]) for k in range(1, 40)
    )
    warehouse = warehouse_of(tmp_path, text)
    of_features = LikenessInParts(39)
    with warehouse.read() as connection:
        names = sql.load("core.replay_names")
        connection.execute(f"CREATE TEMP TABLE replay_names AS {names}", {"source": "mine"})
        for first in range(0, 39, 10):
            bounds = {"source": "mine", "from_index": first, "to_index": first + 10}
            of_features.add(connection.sql(sql.load("features.job_history"), params=bounds).pl())
    ours, theirs = likeness_of(load_trace(warehouse, "mine").rows), of_features.finish()
    assert (ours.class_of == theirs.class_of).all()
    assert (ours.request == theirs.request).all()
    assert len(set(ours.class_of[0])) > len(set(ours.class_of[2])) > 1


@pytest.mark.parametrize("jobs", [1, 2, 3, 7])
def test_jobs_that_are_taken_out_in_slices_are_those_taken_out_at_once(
    jobs: int, faulty: tuple[Trace, Trace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some of these slices have no job, and columns that are constant in one are not in another."""
    warehouse = warehouse_of(tmp_path, FAULTY)
    with warehouse.write() as connection:
        index = faulty[0].rows["job_index"][-1]
        values = ", ".join(["7.0"] * 9)
        connection.execute(f"INSERT INTO predictions.runtime_predictions VALUES ('mine', {index}, 'x', 1, {values})")
    whole = [load_trace(warehouse, "mine", cancelled).rows for cancelled in (False, True)]
    assert whole[0]["predicted_runtime_s"].to_list() == [None] * (whole[0].height - 1) + [7.0]
    assert (
        whole[0]
        .drop(cs.contains("runtime_p", "predicted"))
        .equals(faulty[0].rows.drop(cs.contains("runtime_p", "predicted")))
    )
    monkeypatch.setattr("assets.common.trace.SLICE_JOBS", jobs)
    for cancelled, rows in zip((False, True), whole, strict=True):
        in_slices = load_trace(warehouse, "mine", cancelled).rows
        assert in_slices.equals(rows) and in_slices.schema == rows.schema


def test_what_is_the_same_for_all_jobs_takes_no_memory(tmp_path: Path) -> None:
    lines = [swf_line(k, 10 * k, 5, 50 + k % 7, 1 + k % 4, 80, user=k % 9) for k in range(1, 2001)]
    rows = load_trace(warehouse_of(tmp_path, "; MaxProcs: 16\n" + "".join(lines)), "mine").rows
    assert rows.height == 2000 and rows["predicted_runtime_s"].null_count() == 2000
    assert rows["longest_runtime_s"].to_list() == [56] * 2000
    assert rows.estimated_size() < 2000 * 16 * 8  # of 26 columns


def test_a_suspended_job_holds_nothing(tmp_path: Path) -> None:
    """Nor does it run, and later it counts as started so much later."""
    trace = load_trace(load(tmp_path, shared_file("cases", "pbs", "suspended-by-preemption.log")), "mine")
    start, end, procs = trace.held(trace.rows)
    assert ((end - start) * procs).sum() == (trace.rows["runtime_s"] * trace.rows["procs"]).sum()
    assert int(in_use(start, end, procs)[1].max()) <= 320  # 48 more while 44 and 45 are suspended, if they held theirs
    one = trace.rows.filter(job_id="48.pbs3")  # which runs for 10 s
    began = int(one["start_s"][0])
    paused = pl.DataFrame({"job_index": one["job_index"], "from_s": [began + 2], "to_s": [began + 6]})
    trace = replace(trace, suspensions=paused)
    runs = [trace.running_at(one, began + after) for after in (1, 3, 5, 6, 13, 14)]
    assert [running.start.tolist() for running in runs] == [[began], [], [], [began + 4], [began + 4], []]
