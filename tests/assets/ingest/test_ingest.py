"""Tests of assets/ingest: rows, canonical_jobs, ledger, reading."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from assets.ingest.canonical_jobs import write_job_nodes, write_jobs
from assets.ingest.ledger import LedgerRow, plan_reading
from assets.ingest.reading import Reader, parsed_files, reader_of
from assets.ingest.rows import CLUSTER_TABLES, write_cluster_rows
from assets.ingest.update import update_raw_log
from assets.ingest.versions import CodeVersion, ReadingSettings, reading_settings, recorded_settings
from tests.assets.ingest.incremental import Log, OpenWarehouse, ended, new_time
from tests.tiny import swf_line
from tests.traces.slurm.slurm_lines import document, job_line
from traces.catalogue.sources import Source
from traces.cluster.accounts import Account, Limit
from traces.cluster.description import AdvanceReservation, ClusterDescription, Node, Partition
from traces.cluster.notes import DescribedCluster
from traces.cluster.toml_writing import cluster_toml
from traces.common import blocks
from traces.common.blocks import LogStream, Seen
from traces.common.log import LogError
from warehouse import Warehouse

# cluster_rows: A described cluster in the warehouse: written as it is, and exchanged as a whole.

NODES = (
    Node("n1", 16, 64_000, features=("ib", "fast")),
    Node("n2", 16, 64_000, {"a100": 2, "": 1}, weight=5, threads_per_core=2),
)
CLUSTER = ClusterDescription(
    "small",
    NODES,
    (
        Partition("all", is_default=True),
        Partition("gpu", ("n2",), max_time_s=3600, qos="gpu", allow_accounts=("a", "b")),
    ),
    limits=(Limit("qos", "gpu", "running", "user", "cpu", 16, source="qos.txt:2 MaxTRESPU"),),
    reservations=(AdvanceReservation("maint", 1_704_067_200, 1_704_070_800, nodes=("n1",), flags=("maint",)),),
    valid_from_s=1_704_067_200,
)
DAY = datetime(2024, 1, 1)


def test_rows_are_what_the_configuration_says(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    with warehouse.write() as connection:
        write_cluster_rows(connection, "mine", [CLUSTER])
        rows = {table: connection.sql(f"FROM {table}").fetchall() for table in CLUSTER_TABLES}
        head = ("mine", "small", DAY)
        assert rows["core.nodes"] == [
            (*head, 0, "n1", 16, 16, None, 64_000, 0, None, "ib,fast", 1),
            (*head, 1, "n2", 32, 16, None, 64_000, 3, "a100=2", None, 5),
        ]
        assert rows["core.partitions"] == [
            (*head, "all", "n[1-2]", 2, 48, 3, True, "up", None, None, 1, 1, None, "no", None, None),
            (*head, "gpu", "n2", 1, 32, 3, False, "up", 3600, None, 1, 1, "gpu", "no", "a,b", None),
        ]
        assert rows["core.limits"] == [
            (*head, "qos", "gpu", "running", "user", None, "cpu", 16, False, False, "qos.txt:2 MaxTRESPU")
        ]
        assert rows["core.reservations"] == [
            (*head, "maint", DAY, datetime(2024, 1, 1, 1), None, "n1", None, None, None, "maint")
        ]
        write_cluster_rows(connection, "mine", [])
        assert all(connection.sql(f"FROM {table}").fetchall() == [] for table in CLUSTER_TABLES)


def test_ingest_writes_the_clusters_that_a_source_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    log = tmp_path / "log.swf"
    log.write_text(swf_line(1, 0, 5, 60, 4))
    source = Source("mine", "swf", log, procs=64, cluster=("small",))
    warehouse = Warehouse(tmp_path / "w.duckdb")
    with pytest.raises(ValueError, match="unknown cluster 'small', the home has none"):
        update_raw_log(warehouse, source)
    (tmp_path / "clusters").mkdir()
    (tmp_path / "clusters" / "small.toml").write_text(cluster_toml(DescribedCluster(CLUSTER, ())))
    update_raw_log(warehouse, source)
    with warehouse.read() as connection:
        assert connection.sql("SELECT cluster, node_name FROM core.nodes").fetchall() == [
            ("small", "n1"),
            ("small", "n2"),
        ]


def test_the_size_is_that_of_the_described_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else every answer over a row of processors had the log's peak, and those of the own scheduler the nodes."""
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    (tmp_path / "clusters").mkdir()
    plain = ClusterDescription("plain", (Node("all", 99),))  # as adopting rules makes it: its size is that of the jobs
    for cluster in (
        CLUSTER,
        replace(CLUSTER, name="later", nodes=NODES[:1], partitions=(), valid_from_s=2 << 30),
        plain,
    ):
        path = tmp_path / "clusters" / f"{cluster.name}.toml"
        path.write_text(cluster_toml(DescribedCluster(replace(cluster, reservations=()), ())))
    log = tmp_path / "log.swf"
    log.write_text(swf_line(1, 0, 5, 60, 4))
    warehouse = Warehouse(tmp_path / "w.duckdb")

    def size(**keys: Any) -> tuple[int, str]:
        update_raw_log(warehouse, Source("mine", "swf", log, **keys))
        write_jobs(warehouse, "mine")
        with warehouse.read() as connection:
            query = "SELECT procs, procs_from, cluster_procs, cluster_procs_from FROM core.clusters JOIN core.sources USING (source)"
            ((procs, procs_from, *of_source),) = connection.sql(query).fetchall()
        assert of_source == [procs, procs_from]
        return procs, procs_from

    assert size() == (4, "peak")
    assert size(cluster=("small",)) == (48, "cluster file")
    assert size(cluster=("later", "small")) == (48, "cluster file")
    assert size(cluster=("small",), procs=64) == (64, "catalogue")
    assert size(cluster=("plain",)) == (4, "peak")
    log.write_text(log.read_text() + swf_line(2, 9, 5, 60, 49))
    assert size(cluster=("small",)) == (53, "peak")  # what ran is no fault of the log
    log.write_text(f"; MaxProcs: 60\n{log.read_text()}")
    assert size(cluster=("small",)) == (60, "header")


def test_names_of_a_cluster_are_hidden_as_those_of_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    named = replace(
        CLUSTER,
        accounts=(Account("physics"),),
        partitions=(Partition("all", allow_accounts=("physics",)),),
        limits=(
            Limit("account", "physics", "running", "user", "cpu", 9, who="ann"),
            Limit("user", "physics/ann", "running", "all", "cpu", 8),
        ),
        reservations=(replace(CLUSTER.reservations[0], users=("ann",), accounts=("physics",)),),
    )
    (tmp_path / "clusters").mkdir()
    (tmp_path / "clusters" / "small.toml").write_text(cluster_toml(DescribedCluster(named, ())))
    log = tmp_path / "sacct.psv"
    waits = {"State": "PENDING", "Start": "Unknown", "End": "Unknown"}
    names = {"User": "ann", "Account": "physics"}
    log.write_text(document(job_line(**names), job_line(JobID="13", JobIDRaw="13", **names, **waits)))
    warehouse = Warehouse(tmp_path / "w.duckdb")
    update_raw_log(
        warehouse, Source("mine", "slurm", log, procs=64, cluster=("small",), pseudonyms=("user", "account", "project"))
    )
    with warehouse.read() as connection:
        ((user, account),) = connection.sql("SELECT DISTINCT user_name, account FROM raw.slurm_jobs").fetchall()
        limits = connection.sql("SELECT owner_name, who FROM core.limits").fetchall()
        rows = str([connection.sql(f"FROM {table}").fetchall() for table in CLUSTER_TABLES])
    assert limits == [(account, user), (f"{account}/{user}", None)]
    assert "ann" not in rows and "physics" not in rows and account in rows


# job_nodes: Rows of core.job_nodes: every job that ran has its nodes, with what it held where the log tells that.


def rows_of(folder: Path, log_format: str, *jobs: tuple[int, int | None, str | None]) -> list[tuple[object, ...]]:
    """The rows written for jobs of (processors, GPUs, list of nodes)."""
    file = folder / "jobs-0.parquet"
    pl.DataFrame(
        [("mine", place, None, *job) for place, job in enumerate(jobs)],
        {"source": pl.Utf8, "job_index": pl.Int64, "submit_time": pl.Datetime, "procs": pl.Int64, "gpus": pl.Int64, "held_nodes": pl.Utf8},
        orient="row",
    ).write_parquet(file)  # fmt: skip
    files = write_job_nodes(duckdb.connect(), file, log_format)
    frame = pl.concat(map(pl.read_parquet, files)) if files else pl.DataFrame()
    return frame.drop("source", "submit_time").rows() if files else []


def test_slurm_tells_what_a_job_held_on_one_node_only(tmp_path: Path) -> None:
    assert rows_of(tmp_path, "slurm", (8, 2, "n1"), (4, None, None), (8, 0, "n[1-2]")) == [
        (0, "n1", 8, 2, None),
        (2, "n1", None, None, None),
        (2, "n2", None, None, None),
    ]


def test_a_pbs_job_alone_on_its_nodes_held_more_than_its_list_says(tmp_path: Path) -> None:
    assert rows_of(tmp_path, "pbs", (16, 2, "(n1:ncpus=4)"), (32, 0, "(n1:ncpus=4)+(n2:ncpus=4)"), (5, None, "n1/0*4+n2/1")) == [
        (0, "n1", 16, 2, None),
        (1, "n1", None, 0, None),
        (1, "n2", None, 0, None),
        (2, "n1", 4, None, None),
        (2, "n2", 1, None, None),
    ]  # fmt: skip


def test_swf_has_no_nodes(tmp_path: Path) -> None:
    assert rows_of(tmp_path, "swf", (8, None, None)) == []


# ledger: Which files have to be read, by what the ledger says of them.

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


# reading: How a source is read: its settings, its processors, and the blocks of its files in order.

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


# settings: The settings of a log in the ledger: in words, and as the hash of the first releases.


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
