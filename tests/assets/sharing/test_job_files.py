"""Files of jobs: what stands in them."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl

from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from assets.sharing.job_files import EVALYS_COLUMNS, export_jobs
from assets.what_if.scored_part import PartOptions
from tests.assets.ingest.test_export import SLURM
from tests.tiny import busy_log, swf_line, warehouse_of
from traces.catalogue.sources import Source
from traces.swf.reader import read_swf
from warehouse import Warehouse

ALL = PartOptions()


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
