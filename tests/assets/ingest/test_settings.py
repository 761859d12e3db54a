"""The settings of a log in the ledger: in words, and as the hash of the first releases."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assets.ingest.reading import reader_of
from assets.ingest.settings import ReadingSettings, reading_settings, recorded_settings
from tests.assets.ingest.incremental import Log, OpenWarehouse, ended
from tests.traces.slurm.slurm_lines import document, job_line
from traces.catalogue.sources import Source


@pytest.mark.parametrize(
    "settings",
    [ReadingSettings(), ReadingSettings(8, True, "JobID|End", ("job", "user"), "0f", "Europe/Berlin")],
)
def test_what_is_written_is_read(settings: ReadingSettings) -> None:
    assert recorded_settings(str(settings)) == settings
    assert recorded_settings("0123456789abcdef") is None


def test_the_time_zone_matters_where_rows_were_converted() -> None:
    zones = {
        name: reading_settings(Source("x", name, Path()), None, None, "Asia/Tokyo").time_zone
        for name in ("swf", "pbs", "slurm")
    }
    assert zones == {"swf": "", "pbs": "", "slurm": "Asia/Tokyo"}


def with_hash(log: Log) -> None:
    """Makes the ledger one of the first releases."""
    former = reader_of(log.source).former_settings
    with log.warehouse.write() as connection:
        connection.execute("UPDATE raw.log_files SET settings = ?", [former])


def test_a_hash_of_todays_settings_is_todays(tmp_path: Path) -> None:
    log = Log(OpenWarehouse(tmp_path), tmp_path, procs=8)
    log.write("1", ended(1, 0, 10, 20))
    log.ingest()
    with_hash(log)
    assert +log.ingest().files == {"unchanged": 1}
    log.source = replace(log.source, procs=9)
    assert log.ingest().files["read"] == 1


def test_behind_a_hash_are_the_reading_settings_the_last_ingest(tmp_path: Path) -> None:
    """An upgrade and a correction of the time zone, before anything was ingested: the rows of a file that is gone move."""
    log = Log(OpenWarehouse(tmp_path), tmp_path, "slurm", time_zone="Asia/Tokyo")
    log.write("1.psv", document(job_line()))
    log.write("2.psv", document(job_line(JobID="2", JobIDRaw="2")))
    log.ingest()
    with_hash(log)
    (log.folder / "1.psv").unlink()
    log.source = replace(log.source, time_zone="UTC")
    assert log.ingest().corrected.files == 1
    assert log.rows("SELECT DISTINCT submit_s FROM raw.slurm_jobs WHERE source = $source") == [(1_705_312_800,)]
