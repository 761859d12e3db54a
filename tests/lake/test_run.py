"""The whole pipeline over a lake, as a command: every asset of a small source, the report, and what is printed at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

import sql
from tests.lake.doors import new_lake, server_of_tests
from tests.tiny import CATALOGUE, SOURCE, Home
from warehouse.lake_place import DATA, PLACE

pytestmark = pytest.mark.skipif(server_of_tests() is None, reason="needs PostgreSQL: make test-lake runs it")


def test_a_whole_run(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    (home.folder / "sources.toml").write_text(CATALOGUE.replace("jobs = 1500", "jobs = 200"))
    with new_lake(tmp_path) as lake:
        assert lake.lake is not None
        done = home.call("run", SOURCE, **{PLACE: lake.name, DATA: lake.lake.data})
        assert done.returncode == 0, done.stderr
        assert f"\nwarehouse    {lake.name}\n" in done.stdout
        report = next(line.split(maxsplit=1)[1] for line in done.stdout.splitlines() if line.startswith("report "))
        assert "</html>" in Path(report).read_text()
        with lake.read() as connection:
            assert connection.execute("SELECT count(*) FROM core.jobs").fetchall() == [(200,)]
            assert connection.execute("SELECT count(*) FROM replay.runs").fetchall() == [(4,)]
            for view in sql.names("views"):
                connection.execute(f"SELECT count(*) FROM {view}").fetchall()
    assert not list(home.folder.rglob("*.duckdb")), "nothing is in a file"
