"""Logs of other systems are known by their first lines, and what is no text by its first bytes."""

from __future__ import annotations

import io
import tarfile

import pytest

from traces.foreign import foreign_format, no_text


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('"JOB_FINISH" "10.1" 1700000000 5 1000 33816578 1 1699990000 0 0 1699991000 "user"', "LSF"),
        ("all.q:node1:users:user1:job.sh:7:sge:0:1500000000:1500000100:1500000900:0:0:800:700.5:10:0:0", "Grid Engine"),
        ("1 0 10 60 4 50.0 -1 4 3600 -1 1 user group app queue part orig last str str str", ""),
    ],
)
def test_other_systems_have_names(line: str, name: str) -> None:
    assert name in foreign_format([line, line])


def test_what_is_no_text() -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("log"))
    assert "tar" in no_text(content.getvalue())
    assert no_text(b"1 2 3\n") == ""
