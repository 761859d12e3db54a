"""Loading: any format, packed or not, sources, and the command line's messages for what is neither."""

from __future__ import annotations

import gc
import gzip
from pathlib import Path

import pytest

import tracehouse
from tests.pipelines.command_line import fail
from tests.tiny import swf_line
from tests.traces.pbs_lines import end_record
from tests.traces.slurm_lines import JOB


def test_a_log_stays_in_the_object_and_goes_with_it(log: Path) -> None:
    loaded = tracehouse.load_log(log)
    assert (loaded.name, loaded.procs, loaded.in_catalogue) == ("busy.swf", 16, False)
    assert repr(loaded) == "Log(busy.swf: 400 jobs to replay, 16 processors)"
    assert loaded.jobs.height == 400 == loaded.query("SELECT count(*) FROM core.jobs").item()
    assert loaded.trace() is loaded.trace()
    log.unlink()
    assert tracehouse.replay(loaded).jobs.height == 400
    database = loaded.warehouse.path
    assert database.exists()
    del loaded
    gc.collect()
    assert not database.parent.exists()


def test_pbs_and_slurm_logs_packed_or_not(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    accounting = log.parent / "accounting"
    accounting.mkdir()
    (accounting / "20170405.gz").write_bytes(gzip.compress((end_record() + "\n").encode()))
    sacct = log.parent / "sacct.psv"
    sacct.write_text("|".join(JOB) + "\n" + "|".join(JOB.values()) + "\n")
    for path, procs, user in ((accounting, 4, "u1"), (sacct, 8, "ann")):
        loaded = tracehouse.load_log(str(path))
        assert (loaded.procs, loaded.jobs["procs"].to_list()) == (procs, [procs])
        assert loaded.jobs["user_name"].to_list() == [user]
        assert f"took the peak of processors in use ({procs})" in capsys.readouterr().err
    assert tracehouse.load_log(accounting, procs=64).procs == 64
    assert capsys.readouterr().err == ""


def test_jobs_wider_than_the_cluster(log: Path) -> None:
    log.write_text("; MaxProcs: 4\n" + swf_line(1, 0, 5, 10, 8) + swf_line(2, 0, 5, 10, 4))
    with pytest.raises(tracehouse.LogError, match="8 processors"):
        tracehouse.load_log(log)
    assert tracehouse.load_log(log, drop_wider=True).jobs["job_id"].to_list() == ["2"]


@pytest.mark.parametrize("name", ["nowhere.swf", "folder/log", "nobody", ""])
def test_what_is_neither_log_nor_source_has_the_message_of_the_command_line(log: Path, name: str) -> None:
    with pytest.raises((ValueError, tracehouse.CatalogueError)) as raised:
        tracehouse.load_log(name)
    assert str(raised.value) == fail("replay", name).strip()


def test_a_source_that_is_not_loaded_is_read_into_a_warehouse_of_its_own(log: Path) -> None:
    (log.parent / "home" / "sources.toml").write_text(f'[sources.mine]\nformat = "swf"\npath = "{log}"\n')
    loaded = tracehouse.load_log("mine")
    assert (loaded.name, loaded.in_catalogue, loaded.procs) == ("mine", True, 16)
    assert not (log.parent / "home" / "warehouse").exists()
    with pytest.raises(ValueError, match="the catalogue says how large the cluster of a source is"):
        tracehouse.load_log("mine", procs=32)
    listed = tracehouse.sources().filter(name="mine").row(0, named=True)
    assert (listed["format"], listed["path"], listed["procs"]) == ("swf", str(log), None)
