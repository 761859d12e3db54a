"""Tests of assets/sharing: job_files, metrics_text."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from assets.replaying.running.scored_part import PartOptions
from assets.sharing.job_files import EVALYS_COLUMNS, export_jobs, export_swf, first_idle_processors
from assets.sharing.metrics_text import Gauge, exposition_text, metrics_text
from tests.assets.sharing.exposition import Samples, read_exposition
from tests.shared import shared_file
from tests.tiny import SOURCE, Home, busy_log, in_queues, swf_line, warehouse_of
from traces.catalogue.sources import Source
from traces.common.ends import FAULTS
from traces.swf.fields import FIELDS
from traces.swf.reader import read_swf
from warehouse import Warehouse

# job_files: Files of jobs: what stands in them.

ALL = PartOptions()
SLURM = (
    "JobID|User|Group|Partition|Submit|Start|End|State|NCPUS|ReqCPUS|Timelimit|TotalCPU|JobName\n"
    "11|ann|g|short|2026-03-01T10:00:00|2026-03-01T10:01:00|2026-03-01T11:01:00|COMPLETED|4|4|02:00:00|03:00:00|a\n"
    "12|bob|g|long|2026-03-01T10:00:30|Unknown|2026-03-01T10:10:30|CANCELLED by 5|0|8|1-00:00:00|00:00:00|b\n"
    "13|ann||short|2026-03-01T10:02:00|2026-03-01T10:02:00|2026-03-01T10:02:10|FAILED|1|2|UNLIMITED|00:00:05|a\n"
    "14||g||2026-03-01T10:03:00|2026-03-01T10:03:01|2026-03-01T10:03:02|BAR|1|1||00:00:01|\n"
)


def test_evalys_by_hand(tmp_path: Path) -> None:
    """Job 13 runs from second 120 to 130 while job 11 does, and 12 never ran."""
    (tmp_path / "log").write_text(SLURM.replace("\n14|", "\n13|"))
    warehouse = Warehouse(tmp_path / "w.duckdb")
    update_raw_log(warehouse, Source("mine", "slurm", tmp_path / "log"))
    write_jobs(warehouse, "mine")
    done = export_jobs(warehouse, "mine", tmp_path / "out.csv", "evalys", ALL)
    assert (tmp_path / "out.csv").read_text().splitlines() == [
        ",".join(EVALYS_COLUMNS),
        "11,mine,a,0,4,7200,1,COMPLETED_SUCCESSFULLY,60,3600,3660,60,3660,1.0166666666666666,0-3",
        "13.2,mine,a,120,1,,0,COMPLETED_FAILED,120,10,130,0,10,1.0,4",
        '13.3,mine,"",180,1,,0,"",181,1,182,1,2,2.0,4',
    ]
    assert (done.jobs, done.left_out) == (3, 1)


def test_a_part_keeps_the_processors_and_the_clock_of_the_whole(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(100))
    export_jobs(warehouse, "mine", tmp_path / "all.csv", "evalys", ALL)
    part = export_jobs(warehouse, "mine", tmp_path / "part.csv", "evalys", PartOptions(begin="2026-01-11", user="3"))
    everything, some = (pl.read_csv(tmp_path / name) for name in ("all.csv", "part.csv"))
    assert 0 < some.height == part.jobs < 100 and "user 3" in part.words
    assert some.rows() == everything.join(some, on="job_id", how="semi").rows()
    assert everything["submission_time"].min() == 0 < some["submission_time"].min()  # type: ignore[operator]


def test_parquet_has_every_column_of_the_jobs(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(50) + swf_line(51, 9_000_000, -1, -1, -1))
    assert export_jobs(warehouse, "mine", tmp_path / "out.parquet", "parquet", ALL).jobs == 51
    with warehouse.read() as connection:
        jobs = connection.sql("FROM core.jobs ORDER BY job_index").pl()
    assert pl.read_parquet(tmp_path / "out.parquet").equals(jobs)
    codecs = duckdb.execute(f"SELECT DISTINCT compression FROM parquet_metadata('{tmp_path}/out.parquet')").fetchall()
    assert codecs == [("ZSTD",)]


def test_a_part_as_swf_has_the_chosen_lines(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(100))
    done = export_jobs(warehouse, "mine", tmp_path / "out.swf", "swf", PartOptions(user="3"))
    before, after = read_swf(tmp_path / "mine.swf").records, read_swf(tmp_path / "out.swf").records
    columns = [name for name in after.columns if name not in ("file", "line")]
    assert after.select(columns).rows() == before.filter(user_id=3).select(columns).rows()
    assert done.jobs == after.height > 0


def test_the_clock_of_a_part_of_another_format_stays(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(SLURM)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    update_raw_log(warehouse, Source("mine", "slurm", tmp_path / "log"))
    write_jobs(warehouse, "mine")
    export_jobs(warehouse, "mine", tmp_path / "all.swf", "swf", ALL)
    export_jobs(warehouse, "mine", tmp_path / "bob.swf", "swf", PartOptions(queue="long"))
    lines = [line for line in (tmp_path / "bob.swf").read_text().splitlines() if not line.startswith(";")]
    assert len(lines) == 1 and lines[0] in (tmp_path / "all.swf").read_text().splitlines()


def numbers(text: str) -> set[int]:
    """The processors that a text such as `0-3 7` names."""
    chosen: set[int] = set()
    for part in text.split():
        first, _, last = part.partition("-")
        chosen |= set(range(int(first), int(last or first) + 1))
    return chosen


def test_processors_by_hand() -> None:
    # job 0 leaves 0-1 at second 5, when job 2 takes them and the next idle one behind job 1
    assert first_idle_processors([0, 0, 5, 6], [5, 9, 8, 7], [2, 2, 3, 1]) == ["0-1", "2-3", "0-1 4", "5"]


def test_a_job_that_takes_no_time_leaves_nothing_behind() -> None:
    assert first_idle_processors([3, 3, 3], [3, 4, 3], [4, 2, 1]) == ["0-3", "0-1", "0"]


@pytest.mark.parametrize("seed", range(5))
def test_no_two_running_jobs_share_a_processor(seed: int) -> None:
    rng = np.random.default_rng(seed)
    jobs = 300
    start = rng.integers(0, 500, jobs)
    end = start + rng.integers(0, 60, jobs)
    procs = rng.integers(1, 20, jobs)
    names = first_idle_processors(start.tolist(), end.tolist(), procs.tolist())
    sets = [numbers(name) for name in names]
    assert [len(chosen) for chosen in sets] == procs.tolist()
    for second in range(0, 560):
        running = [sets[job] for job in np.flatnonzero((start <= second) & (second < end))]
        assert len(set().union(*running)) == sum(map(len, running))
    in_use = max(int(procs[(start <= second) & (second < end)].sum()) for second in range(560))
    assert max(map(max, sets)) < in_use + 20  # the lowest idle ones: never far beyond the most in use


def load(folder: Path, log: Path, log_format: str, name: str = "mine") -> Warehouse:
    warehouse = Warehouse(folder / f"{name}.duckdb")
    update_raw_log(warehouse, Source(name, log_format, log))
    write_jobs(warehouse, name)
    return warehouse


def jobs_of(warehouse: Warehouse, name: str = "mine") -> pl.DataFrame:
    """All canonical columns but those that say which line of which file a job comes from."""
    with warehouse.read() as connection:
        return connection.sql(
            "SELECT * EXCLUDE (source, file, line) FROM core.jobs WHERE source = $source ORDER BY job_index",
            params={"source": name},
        ).pl()


def test_an_swf_source_keeps_every_field_and_its_header(tmp_path: Path) -> None:
    text = busy_log(100).replace("; MaxProcs", "; MaxJobs: 7\n; Note: a: b\n; MaxProcs")
    text += "101 9000000 -5 60 2 12.5 100.25 2 90 -1 5 3 1 2 4 1 17 20\n"
    warehouse = warehouse_of(tmp_path, text + "1 2 3\n")
    assert export_swf(warehouse, "mine", tmp_path / "out.swf.gz") == 101
    before, after = read_swf(tmp_path / "mine.swf"), read_swf(tmp_path / "out.swf.gz")
    assert after.records.select(FIELDS).rows() == before.records.select(FIELDS).rows()
    assert after.header == [(key, "101" if key == "MaxJobs" else value) for key, value in before.header]
    assert jobs_of(load(tmp_path, tmp_path / "out.swf.gz", "swf", "again"), "again").equals(jobs_of(warehouse))


def test_a_whole_real_log_makes_the_round(tmp_path: Path) -> None:
    log = shared_file("traces", "swf", "HPC2N-2002-2.2-cln.swf.gz")
    first = load(tmp_path, log, "swf")
    assert export_swf(first, "mine", tmp_path / "out.swf") == 202_871
    second = load(tmp_path, tmp_path / "out.swf", "swf", "again")
    assert jobs_of(second, "again").equals(jobs_of(first))


def test_slurm_as_swf_by_hand(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(SLURM)
    warehouse = load(tmp_path, tmp_path / "log", "slurm")
    assert export_swf(warehouse, "mine", tmp_path / "out.swf") == 4
    lines = (tmp_path / "out.swf").read_text().splitlines()
    comments = [line for line in lines if line.startswith(";")]
    assert [line for line in lines if not line.startswith(";")] == [
        # job submit wait run procs cpu memory | requested procs time memory | status user group app queue partition ...
        "1 0 60 3600 4 2700 -1 4 7200 -1 1 1 1 1 1 -1 -1 -1",
        "2 30 600 0 8 0 -1 8 86400 -1 5 2 1 2 2 -1 -1 -1",
        "3 120 0 10 1 5 -1 2 -1 -1 0 1 -1 1 1 -1 -1 -1",
        "4 180 1 1 1 1 -1 1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1",
    ]
    assert {"; Version: 2.2", "; UnixStartTime: 1772359200", "; MaxRecords: 4", "; Queue: 2 long", "; MaxProcs: 8"} <= {
        *comments
    }
    again = jobs_of(load(tmp_path, tmp_path / "out.swf", "swf", "again"), "again")
    kept = ["submit_time", "wait_s", "runtime_s", "procs", "requested_procs", "requested_walltime_s", "status"]
    assert again.select(kept).rows() == jobs_of(warehouse).select(kept).rows()


def test_pbs_and_slurm_logs_read_back_as_the_same_jobs(tmp_path: Path) -> None:
    kept = ["submit_time", "wait_s", "runtime_s", "procs", "requested_walltime_s", "status", "start_time", "end_time"]
    for log_format, folder, name in (
        ("pbs", "pbs", "hnormalise-torque-spec.log"),
        ("slurm", "slurm", "pozidriv.sacct.psv.gz"),
    ):
        home = tmp_path / log_format
        home.mkdir()
        first = load(home, shared_file("traces", folder, name), log_format)
        export_swf(first, "mine", home / "out.swf")
        second = load(home, home / "out.swf", "swf", "again")
        # SWF has one word for all faults
        in_swf = jobs_of(first).with_columns(pl.col("status").replace(dict.fromkeys(FAULTS, "failed")))
        assert jobs_of(second, "again").select(kept).rows() == in_swf.select(kept).rows()


def test_an_unknown_source_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not in the warehouse yet: load it with `tracehouse run other --job ingest`"):
        export_swf(warehouse_of(tmp_path, busy_log(10)), "other", tmp_path / "out.swf")
    assert not (tmp_path / "out.swf").exists()


# metrics_text: Results for Prometheus: the format, and the values beside the tables that they come from.


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[f"tracehouse_{name}", frozenset(labels.items())]


def test_labels_and_meanings_are_escaped() -> None:
    odd = 'a "b"\\c\nd'
    text = exposition_text(
        [Gauge("tracehouse_x", "one\\two\nthree", [({"source": odd, "queue": "ü,{}"}, 1.5)]), Gauge("y", "none", [])]
    )
    assert text.splitlines()[0] == r"# HELP tracehouse_x one\\two\nthree"
    assert read_exposition(text) == {("tracehouse_x", frozenset({("source", odd), ("queue", "ü,{}")})): 1.5}
    assert "y" not in text.split()


def test_waits_of_the_last_complete_month_by_hand(tmp_path: Path) -> None:
    """Four jobs in January, of which one waits two hours, and one in February, which is not over."""
    log = "; UnixStartTime: 1767225600\n; TimeZoneString: UTC\n; MaxProcs: 4\n"
    for number, wait in enumerate((0, 60, 3600, 7200)):
        log += swf_line(number + 1, 86_400 * number, wait, 43_200, 2)
    warehouse = warehouse_of(tmp_path, log + swf_line(5, 86_400 * 40, 9999, 10, 4) + "1 2\n")
    samples = read_exposition(metrics_text(warehouse, []))
    assert value(samples, "month_start_timestamp_seconds", source="mine") == 1767225600
    assert (
        value(samples, "month_jobs", source="mine") == value(samples, "queue_month_jobs", source="mine", queue="1") == 4
    )
    assert value(samples, "month_wait_mean_seconds", source="mine") == (60 + 3600 + 7200) / 4
    assert value(samples, "month_wait_median_seconds", source="mine") == 1830
    assert value(samples, "month_wait_p95_seconds", source="mine") == pytest.approx(3600 + 0.85 * 3600)
    assert value(samples, "month_started_within_1h_ratio", source="mine") == 0.75
    assert value(samples, "month_covered_ratio", source="mine") == 1
    assert value(samples, "rejected_lines", source="mine") == 1 and value(samples, "jobs", source="mine") == 5
    assert value(samples, "newest_submission_timestamp_seconds", source="mine") == 1767225600 + 40 * 86_400
    assert not any("model" in name or "grade" in name for name, _ in samples)


def test_grades_are_numbers(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(20))
    for grade, number in {"A": 1, "B": 2, "C": 3, "D": 4}.items():
        with warehouse.write() as connection:
            connection.execute("DELETE FROM replay.fidelity")
            for part, given in (("all", grade), ("size", "D")):
                connection.execute(
                    "INSERT INTO replay.fidelity (source, part, value, jobs, grade) VALUES ('mine', ?, '', 20, ?)",
                    [part, given],
                )
        assert value(read_exposition(metrics_text(warehouse, [])), "fidelity_grade", source="mine") == number


def test_a_log_without_dates_has_no_month(tmp_path: Path) -> None:
    log = "".join(line for line in busy_log(50).splitlines(keepends=True) if "UnixStartTime" not in line)
    samples = read_exposition(metrics_text(warehouse_of(tmp_path, log), ["mine"]))
    assert value(samples, "jobs", source="mine") == 50
    assert not any("month" in name or "newest" in name for name, _ in samples)


def test_odd_queues_stay_apart(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, in_queues(busy_log(100)))
    with warehouse.write() as connection:
        connection.execute("""UPDATE core.jobs SET queue = 'lo"ng\\' || chr(10) WHERE queue = '7'""")
    samples = read_exposition(metrics_text(warehouse, []))
    queues = [dict(labels)["queue"] for name, labels in samples if name == "tracehouse_queue_month_jobs"]
    assert sorted(queues) == ["1", "2", 'lo"ng\\\n']


def test_a_source_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'other' is not in the warehouse yet"):
        metrics_text(warehouse_of(tmp_path, busy_log(10)), ["mine", "other"])


def test_values_are_those_of_the_tables(finished: Home) -> None:
    samples = read_exposition(metrics_text(Warehouse(finished.database), [SOURCE]))
    with Warehouse(finished.database).read() as connection:

        def one(query: str) -> float:
            return pl.DataFrame(connection.sql(query).pl()).item()

        # the log is of one month
        assert value(samples, "month_jobs", source=SOURCE) == one("SELECT sum(jobs) FROM marts.waits_by_queue")
        assert value(samples, "runtime_model_error_seconds", source=SOURCE) == one(
            "SELECT mean_absolute_error_s FROM predictions.champions"
        )
        assert value(samples, "runtime_model_drift_ratio", source=SOURCE) == one(
            "SELECT value FROM predictions.model_drift WHERE measure = 'error'"
        )
        grade = one("SELECT coalesce(any_value(grade), '') FROM replay.fidelity WHERE part = 'all'")
        assert samples.get(("tracehouse_fidelity_grade", frozenset({("source", SOURCE)}))) == (
            "ABCD".index(str(grade)) + 1 if grade else None
        )
        begin = value(samples, "month_start_timestamp_seconds", source=SOURCE)
        assert value(samples, "month_utilisation_ratio", source=SOURCE) == pytest.approx(
            one(
                "SELECT avg(mean_procs) / 64 FROM core.capacity "
                f"WHERE epoch(date_trunc('month', day)) = {begin} AND source = '{SOURCE}'"
            )
        )
