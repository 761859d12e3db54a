"""A described cluster in the warehouse: written as it is, and exchanged as a whole."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from assets.ingest.cluster_rows import CLUSTER_TABLES, write_cluster_rows
from assets.ingest.update import update_raw_log
from tests.tiny import swf_line
from tests.traces.slurm.slurm_lines import document, job_line
from traces.catalogue.sources import Source
from traces.cluster.accounts import Account, Limit
from traces.cluster.description import ClusterDescription
from traces.cluster.nodes import Node, Partition
from traces.cluster.remarks import DescribedCluster
from traces.cluster.reservations import AdvanceReservation
from traces.cluster.toml_writing import cluster_toml
from warehouse import Warehouse

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
    log.write_text(document(job_line(User="ann", Account="physics")))
    warehouse = Warehouse(tmp_path / "w.duckdb")
    update_raw_log(
        warehouse, Source("mine", "slurm", log, procs=64, cluster=("small",), pseudonyms=("user", "account", "project"))
    )
    with warehouse.read() as connection:
        ((user, account),) = connection.sql("SELECT user_name, account FROM raw.slurm_jobs").fetchall()
        limits = connection.sql("SELECT owner_name, who FROM core.limits").fetchall()
        rows = str([connection.sql(f"FROM {table}").fetchall() for table in CLUSTER_TABLES])
    assert limits == [(account, user), (f"{account}/{user}", None)]
    assert "ann" not in rows and "physics" not in rows and account in rows
