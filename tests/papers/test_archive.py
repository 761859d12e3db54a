"""Logs of the archive: where they are looked for, and what is said where they are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from papers import archive
from papers.archive import jobs_of_file, log_file, trace_of_log
from tests.tiny import busy_log


def test_a_log_that_is_not_there_ends_the_study(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(archive, "SHARED", tmp_path)
    with pytest.raises(SystemExit, match=r"HPC2N.*cln\.swf\.gz: .* --logs FOLDER"):
        log_file("HPC2N")


def test_a_log_is_read_with_its_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(archive, "SHARED", tmp_path)
    monkeypatch.setitem(archive.LOGS, "busy", ("busy.swf", 64))
    (tmp_path / "busy.swf").write_text(busy_log(50))
    trace = trace_of_log("busy")
    assert trace.cluster_procs == 64 and len(jobs_of_file(log_file("busy"))) == trace.rows.height == 50
