"""Two machines that share only a lake: runs on both at once, of which one is killed. Nothing is lost, and nothing is there twice.

Each machine has a home and a code location of its own. Dagster's records are in PostgreSQL.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lake.doors import new_lake, server_of_tests
from warehouse.lake_place import DATA, PLACE

pytest.importorskip("dagster_postgres", reason="Dagster's PostgreSQL storage is not installed (the extra `deploy`)")
pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(server_of_tests() is None, reason="needs PostgreSQL: make test-lake runs it"),
]

from tests.deploy.test_files import SOUTH, kill_and_compare  # noqa: E402

JOBS = 3_000


def test_two_machines_share_only_the_lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with new_lake(tmp_path) as lake:
        assert lake.lake is not None
        monkeypatch.setenv(PLACE, lake.name)
        monkeypatch.setenv(DATA, lake.lake.data)
        kill_and_compare(tmp_path, monkeypatch, JOBS)
        with lake.read() as connection:
            sources = connection.execute("SELECT source, count(*) FROM core.jobs GROUP BY ALL ORDER BY ALL").fetchall()
            replayed = connection.execute("SELECT DISTINCT source FROM replay.runs").fetchall()
    assert sources == [("north", JOBS), ("south", JOBS)] and replayed == [(SOUTH,)]
    assert not list(tmp_path.glob("*/warehouse/data/*.duckdb")), "no machine has a warehouse of its own"
