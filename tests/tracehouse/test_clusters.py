"""Configurations become files of the home, and a source has the clusters that it names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.pbs.configuration.configurations import PBSNODES, QMGR
from tests.traces.slurm.configuration.slurm_configurations import written
from tracehouse import clusters
from traces.catalogue.clusters import adopted_text, cluster_names, load_cluster
from traces.cluster.accounts import FOUND, Limit
from traces.cluster.description import ClusterDescription, Node
from traces.cluster.notes import ConfigurationError
from traces.cluster.toml_writing import rules_toml


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("TRACEHOUSE_HOME", str(folder))
    return folder


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    written(folder)
    return folder


def test_a_folder_is_imported_and_loaded(site: Path, home: Path) -> None:
    imported = clusters.import_cluster([site], "mine", "Europe/Berlin", "2026-03-01")
    assert imported.path == home / "clusters" / "mine.toml"
    cluster = load_cluster("mine").description
    assert cluster == imported.described.description and cluster.valid_from_s == 1772319600
    assert cluster_names() == ["mine"]
    with pytest.raises(ValueError, match=r"mine.toml exists. Choose another --name, or give --replace"):
        clusters.import_cluster([site], "mine")
    assert clusters.import_cluster([site], "mine", replaces=True).described.description.valid_from_s is None


def test_the_configuration_of_an_archive_and_of_pbs(site: Path, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    (archive / "accounting").mkdir(parents=True)
    site.rename(archive / "configuration")
    assert clusters.read_configuration([archive], "x").description.scheduler.name == "slurm"
    for name, text in (("qmgr.txt", QMGR), ("pbsnodes.txt", PBSNODES)):
        (tmp_path / name).write_text(text)
    paths = [tmp_path / "qmgr.txt", tmp_path / "pbsnodes.txt"]
    assert clusters.read_configuration(paths, "x").description.scheduler.name == "pbs"
    log = tmp_path / "20260301"
    log.write_text(
        "03/01/2026 08:00:00;Y;R7.head;requestor=Scheduler@head start=1772352000 end=1772355600 nodes=(n1:ncpus=4)+(gone:ncpus=4)\n"
        "03/01/2026 08:00:01;Y;R8.head;requestor=Scheduler@head start=1772352000 end=1772355600 nodes=(gone:ncpus=4)\n"
        "03/01/2026 08:00:02;Q;9.head;queue=workq\n"
    )
    with_log = clusters.read_configuration([*paths, log], "x", "Europe/Berlin")
    (reservation,) = with_log.description.reservations
    assert (reservation.name, reservation.nodes, reservation.announced_s) == ("R7.head", ("n1",), 1772348400)
    assert "1: reservations of nodes that the cluster does not have" in str(with_log.remarks[-1])


def test_faults(tmp_path: Path, site: Path) -> None:
    (tmp_path / "README").write_text("hello")
    for paths, name, message in (
        ([tmp_path / "README"], "mine", "no configuration of Slurm, PBS, Torque or Maui is there"),
        ([tmp_path / "none"], "mine", "none: no such file or folder"),
        ([site], "a/b", "bad name of a cluster 'a/b'"),
    ):
        with pytest.raises(ValueError, match=message):
            clusters.import_cluster(paths, name)
    with pytest.raises(ValueError, match="unknown time zone 'Mars'"):
        clusters.import_cluster([site], "mine", "Mars")
    with pytest.raises(ValueError, match="'soon' is no date"):
        clusters.import_cluster([site], "mine", valid_from="soon")
    (site / "slurm.conf").write_text("NodeName=n1 CPUs=x\n")
    with pytest.raises(ConfigurationError, match=r"slurm.conf:1: expected a whole number from 0 as CPUs, found 'x'"):
        clusters.import_cluster([site], "mine")


def test_adopted_rules_stay_when_a_configuration_is_read_again(site: Path, home: Path) -> None:
    """They were gone without a word."""
    path = clusters.import_cluster([site], "mine").path
    limit = Limit("cluster", "", "running", "user", "jobs", 5, origin=FOUND)
    tables = rules_toml(ClusterDescription("mine", (Node("all", 4),), limits=(limit,)))
    path.write_text(adopted_text(path, tables))
    again = clusters.import_cluster([site], "mine", replaces=True)
    assert again.kept == 1 and limit in load_cluster("mine").description.limits
    path.write_text(adopted_text(path, ""))
    assert clusters.import_cluster([site], "mine", replaces=True).kept == 0
