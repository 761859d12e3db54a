"""Which files have to be read, by what the ledger says of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assets.ingest.ledger import LedgerRow, plan_reading
from assets.ingest.reading import Reader, reader_of
from assets.ingest.versions import CodeVersion
from tests.assets.ingest.incremental import ended, new_time
from traces.catalogue.sources import Source
from traces.common.blocks import LogStream, Seen
from traces.common.log import LogError

OTHER = CodeVersion("pbs-0", "jobs-0")


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    """Of a folder with two files."""
    for name in ("1", "2"):
        (tmp_path / name).write_text(ended(name, 0, 10, 20))
    return reader_of(Source("mine", "pbs", tmp_path))


def row_of(reader: Reader, path: Path) -> LedgerRow:
    """What the ledger says when the file has just been read."""
    stream = LogStream(path)
    lines = sum(block.content.count(b"\n") for block in stream)
    return LedgerRow(
        "pbs",
        stream.size_bytes,
        stream.modified_ns,
        stream.sha256,
        reader.settings,
        reader.version,
        stream.ends_line,
        lines,
    )


@pytest.fixture
def ledger(reader: Reader) -> dict[str, LedgerRow]:
    return {path.name: row_of(reader, path) for path in reader.files}


def test_a_new_source_is_read_as_a_whole(reader: Reader) -> None:
    plan = plan_reading(reader, {})
    assert [path.name for path, seen in plan.read if seen is None] == ["1", "2"]
    assert (plan.unchanged, plan.gone, plan.uncorrected) == (0, 0, [])


def test_nothing_has_changed(reader: Reader, ledger: dict[str, LedgerRow]) -> None:
    plan = plan_reading(reader, ledger)
    assert (plan.read, plan.unchanged, plan.touched, plan.uncorrected) == ([], 2, [], [])


def test_files_that_grew_were_touched_or_went(reader: Reader, ledger: dict[str, LedgerRow]) -> None:
    one, two = reader.files
    ledger["gone"] = ledger["1"]
    new_time(one)
    with two.open("a") as file:
        file.write(ended(3, 0, 10, 20))
    plan = plan_reading(reader, ledger)
    assert plan.touched == [(one, one.stat().st_mtime_ns)] and plan.gone == 1 and plan.unchanged == 0
    assert plan.read == [(two, Seen(ledger["2"].size_bytes, 1, ledger["2"].sha256))]


def test_a_file_whose_last_line_was_half_there_is_read_again(reader: Reader, ledger: dict[str, LedgerRow]) -> None:
    ledger["1"] = replace(ledger["1"], ends_line=False, size_bytes=1)
    assert plan_reading(reader, ledger).read == [(reader.files[0], None)]


def test_other_settings_read_the_files_that_are_there_and_correct_the_rows_of_the_others(
    reader: Reader, ledger: dict[str, LedgerRow]
) -> None:
    other = replace(reader.settings, procs=9)
    ledger |= {
        "1": replace(ledger["1"], settings=other),
        "gone": replace(ledger["1"], settings=other),
        "old": ledger["1"],
    }
    plan = plan_reading(reader, ledger)
    assert plan.read == [(reader.files[0], None)] and plan.uncorrected == ["gone"] and plan.gone == 2


def test_another_format_reads_the_files_again(reader: Reader, ledger: dict[str, LedgerRow]) -> None:
    ledger |= {"1": replace(ledger["1"], log_format="slurm"), "gone": replace(ledger["1"], log_format="slurm")}
    plan = plan_reading(reader, ledger)
    assert plan.read == [(reader.files[0], None)] and plan.uncorrected == ["gone"]


def test_another_reader_reads_its_files_and_other_statements_none(reader: Reader, ledger: dict[str, LedgerRow]) -> None:
    ledger["1"] = replace(ledger["1"], version=CodeVersion(OTHER.reader, reader.version.jobs))
    ledger["2"] = replace(ledger["2"], version=CodeVersion(reader.version.reader, OTHER.jobs))
    assert plan_reading(reader, ledger).read == [(reader.files[0], None)]


def test_rows_of_an_older_reader_whose_file_is_gone_are_noted_once(
    reader: Reader, ledger: dict[str, LedgerRow]
) -> None:
    ledger["gone"] = replace(ledger["1"], version=OTHER)
    assert plan_reading(reader, ledger).uncorrected == ["gone"]
    ledger["gone"] = replace(ledger["gone"], outdated=f"read by pbs-0, and not by {reader.version.reader}")
    assert plan_reading(reader, ledger).uncorrected == []


def test_a_file_that_goes_meanwhile_is_an_error(reader: Reader, ledger: dict[str, LedgerRow]) -> None:
    reader.files[0].unlink()
    with pytest.raises(LogError, match="cannot be read"):
        plan_reading(reader, ledger)
