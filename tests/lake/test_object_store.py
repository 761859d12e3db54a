"""A lake whose tables are in a bucket. The object store is moto, a server that answers as Amazon's S3 does."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from assets.common.transfer import copy_warehouse
from tests.lake.doors import new_lake, server_of_tests
from tests.lake.server import free_port
from warehouse import Warehouse, WarehouseError, confined, extensions, replace_partitions
from warehouse.upkeep import tidy_tables

pytest.importorskip("moto", reason="moto is not installed (the extra `object-store`)")
pytestmark = [
    pytest.mark.skipif(server_of_tests() is None, reason="needs PostgreSQL: make test-lake runs it"),
    pytest.mark.skipif(extensions.wheel_file("httpfs") is None, reason="DuckDB's extension httpfs is not installed"),
]
COUNTS = pl.DataFrame({"file": ["f"] * 20, "outcome": ["kept"] * 20, "reason": ["x"] * 20, "lines": range(20)})
"""More rows than DuckLake keeps in its catalogue."""


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """The address of an object store with a bucket `logs`."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        address = f"127.0.0.1:{port}"
        try:
            _make_bucket(address, time.monotonic() + 60)
            yield address
        finally:
            process.kill()


def _make_bucket(address: str, until: float) -> None:
    request = urllib.request.Request(f"http://{address}/logs", method="PUT")
    while True:
        try:
            urllib.request.urlopen(request, timeout=10).close()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


@pytest.fixture
def bucket(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The bucket, whose key and endpoint DuckDB knows from a secret in the home folder, as docs/guides/lake.md says."""
    monkeypatch.setenv("HOME", str(tmp_path))
    with extensions.connect_with("httpfs") as connection:
        connection.execute(
            "CREATE PERSISTENT SECRET store (TYPE s3, KEY_ID 'me', SECRET 'sesame', REGION 'us-east-1', "
            f"ENDPOINT '{store}', USE_SSL false, URL_STYLE 'path')"
        )
    return "s3://logs"


@pytest.fixture
def lake(bucket: str, tmp_path: Path) -> Iterator[Warehouse]:
    with new_lake(tmp_path, bucket) as made:
        yield made


def rows(warehouse: Warehouse) -> list[tuple[str, int]]:
    with warehouse.read() as connection:
        query = "SELECT source, count(*) FROM raw.line_counts GROUP BY ALL ORDER BY ALL"
        return connection.execute(query).fetchall()


def objects(lake: Warehouse) -> list[str]:
    assert lake.lake is not None
    with extensions.connect_with("httpfs") as connection:
        return [file for (file,) in connection.execute("FROM glob(?)", [f"{lake.lake.tables}**"]).fetchall()]


def test_rows_are_in_the_bucket(lake: Warehouse, tmp_path: Path) -> None:
    with confined():  # as all commands are
        for source in ("a", "b"):
            replace_partitions(lake, source, {"raw.line_counts": COUNTS})
        replace_partitions(lake, "a", {"raw.line_counts": COUNTS.head(15)})
        assert rows(lake) == [("a", 15), ("b", 20)]
    assert len(objects(lake)) >= 2 and not list(tmp_path.rglob("*.parquet"))


def test_a_file_is_copied_into_the_bucket(lake: Warehouse, tmp_path: Path) -> None:
    file = Warehouse(tmp_path / "file.duckdb")
    replace_partitions(file, "a", {"raw.line_counts": COUNTS})
    assert copy_warehouse(file, lake).rows["raw.line_counts"] == 20
    assert rows(lake) == rows(file)


def test_upkeep_keeps_few_objects(lake: Warehouse) -> None:
    for step in range(8):
        replace_partitions(lake, f"source-{step % 2}", {"raw.line_counts": COUNTS})
    before = len(objects(lake))
    done = tidy_tables(lake, kept_days=0)
    assert before >= 8 and len(objects(lake)) <= 2 and done.removed >= 6
    assert rows(lake) == [("source-0", 20), ("source-1", 20)]


def test_a_commit_whose_answer_is_lost_is_kept(lake: Warehouse) -> None:
    server = server_of_tests()
    assert server is not None and lake.lake is not None
    replace_partitions(lake, "a", {"raw.line_counts": COUNTS})
    with server.one_lost_answer(lake.lake.catalogue.split()[0].partition("=")[2]) as ended:
        replace_partitions(lake, "b", {"raw.line_counts": COUNTS})
    assert ended == ["t"] and lake.conflicts == 1
    assert rows(lake) == [("a", 20), ("b", 20)]
    tidy_tables(lake, kept_days=0)
    assert rows(lake) == [("a", 20), ("b", 20)]


def test_a_bucket_that_is_not_there(bucket: str, tmp_path: Path) -> None:
    with (
        new_lake(tmp_path, f"{bucket}-of-another") as lake,
        pytest.raises(
            WarehouseError, match=r"s3://logs-of-another/.*the object store gives or takes no rows.*endpoint"
        ) as raised,
    ):
        replace_partitions(lake, "a", {"raw.line_counts": COUNTS})
    assert "sesame" not in str(raised.value) and "\n" not in str(raised.value)


def test_no_statement_shows_the_key(lake: Warehouse) -> None:
    with confined(), lake.read() as connection:
        shown = [str(connection.execute(f"FROM {name}()").fetchall()) for name in ("duckdb_secrets", "duckdb_settings")]
    assert "store" in shown[0] and "sesame" not in "".join(shown)
