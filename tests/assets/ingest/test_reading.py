"""How a source is read: its settings, its processors, and the blocks of its files in order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assets.ingest.reading import parsed_files, reader_of
from tests.assets.ingest.incremental import ended
from tests.tiny import swf_line
from traces.catalogue.sources import Source
from traces.common import blocks
from traces.common.log import LogError

HEADER = "; MaxNodes: 8\n"


@pytest.fixture
def source(tmp_path: Path) -> Source:
    (tmp_path / "a.swf").write_text(HEADER + "".join(swf_line(k, k, 0, 10, 2) for k in range(1, 40)))
    (tmp_path / "b.swf").write_text(swf_line(50, 1, 0, 10, 3))
    return Source("mine", "swf", tmp_path)


def test_processors_are_from_the_header_unless_the_catalogue_has_them(source: Source) -> None:
    assert (reader_of(source).procs, reader_of(source).procs_from) == (8, "header")
    reader = reader_of(replace(source, procs=16))
    assert (reader.procs, reader.procs_from) == (16, "catalogue")


def test_the_format_is_found_out(source: Source) -> None:
    assert reader_of(replace(source, format="auto")).source.format == "swf"


def test_settings_change_with_what_gives_records_another_meaning(source: Source) -> None:
    same = {reader_of(each).settings for each in (source, replace(source, nodes=3, description="x", time_zone="UTC"))}
    assert len(same) == 1
    for changes in ({"procs": 9}, {"drop_wider": True}, {"columns": "x"}):
        assert reader_of(replace(source, **changes)).settings not in same


def test_blocks_come_in_the_order_of_the_files(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 200)
    reader = reader_of(source)
    items = [(path.name, parsed and parsed.records["line"].to_list()) for path, _, parsed in _items(reader)]
    ends = [name for name, lines in items if lines is None]
    assert ends == ["a.swf", "b.swf"] and items[-1] == ("b.swf", None)
    assert [line for name, lines in items if name == "a.swf" for line in lines or []] == list(range(2, 41))
    assert len(items) > 10


def _items(reader):
    return parsed_files(reader, [(path, None) for path in reader.files])


def test_an_error_of_a_file_is_raised_and_all_threads_end(source: Source, tmp_path: Path) -> None:
    reader = reader_of(source)
    (tmp_path / "b.swf").unlink()
    with pytest.raises(LogError, match="no such log file"):
        list(_items(reader))


def test_a_caller_may_stop_at_any_time(source: Source) -> None:
    items = _items(reader_of(source))
    next(items)
    items.close()


def test_a_job_that_is_too_wide_is_an_error_or_a_reject(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(ended(1, 0, 10, 20, procs=4) + ended(2, 0, 10, 20, procs=400))
    source = Source("mine", "pbs", tmp_path / "log", procs=8, declared_at="x.toml:1")
    with pytest.raises(LogError, match=r"log:2: a job of 400 processors on a cluster of 8 .*drop_wider"):
        list(_items(reader_of(source)))
    (_, _, parsed), _ = _items(reader_of(replace(source, drop_wider=True)))
    assert parsed is not None and parsed.accepted == 1
    assert parsed.rejects["reason"].to_list() == ["wider than the cluster's 8 processors"]
