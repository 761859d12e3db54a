"""Archives of the collector are unpacked, and others are refused with what was expected."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from traces.collector.archive import is_collection, read_collection, unpack_collection

MANIFEST = """\
tracehouse-collection 1
scheduler pbs
version 23.06.06
time_zone Europe/Berlin
from 2026-03-01
to 2026-03-31
key abc
missing configuration/holidays: not there
"""


def archive(folder: Path, **files: str) -> Path:
    """An archive with these files, where __ stands for a slash."""
    path = folder / "collected.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        for name, text in files.items():
            entry = tarfile.TarInfo(name.replace("__", "/"))
            entry.size = len(text)
            packed.addfile(entry, io.BytesIO(text.encode()))
    return path


def test_an_archive_is_unpacked(tmp_path: Path) -> None:
    path = archive(tmp_path, site__MANIFEST=MANIFEST, site__accounting__20260301="", site__configuration__qmgr="")
    assert is_collection(path) and not is_collection(tmp_path / "none") and not is_collection(Path(__file__))
    site = unpack_collection(path, tmp_path / "here")
    assert (site.scheduler, site.time_zone, site.first_day, site.last_day) == (
        "pbs",
        "Europe/Berlin",
        "2026-03-01",
        "2026-03-31",
    )
    assert [child.name for child in site.log.iterdir()] == ["20260301"] and site.configuration.is_dir()
    assert site.missing == ("missing configuration/holidays: not there",)
    assert read_collection(site.folder) == site


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"notes": "x"}, r"expected one folder with a MANIFEST in the archive, found 0"),
        ({"a__MANIFEST": "tracehouse-collection 2\n"}, r"MANIFEST:1: expected 'tracehouse-collection 1'"),
        ({"a__MANIFEST": MANIFEST.replace("time_zone", "zone")}, r"expected a line with 'time_zone', found none"),
        ({"a__MANIFEST": MANIFEST.replace("pbs", "lsf")}, r"expected a scheduler of slurm, pbs, found 'lsf'"),
        ({"..__out": "x", "a__MANIFEST": MANIFEST}, r"expected an archive of `tracehouse collect` that is whole, but:"),
    ],
)
def test_others_are_refused(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        unpack_collection(archive(tmp_path, **files), tmp_path / "here")


def test_one_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path, a__MANIFEST=MANIFEST, a__accounting__1="x" * 100_000)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match="that is whole, but:"):
        unpack_collection(path, tmp_path / "here")
