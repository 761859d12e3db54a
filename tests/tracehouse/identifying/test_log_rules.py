"""Rules are kept beside the clusters, and part of one when the user says so; tests/models/identification has the search."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tracehouse.identifying.log_rules import adopt_rules
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import found_path, load_cluster, rule_counts, rules_beside
from traces.cluster.accounts import FOUND, Limit
from traces.cluster.description import ClusterDescription, Node, SchedulerSettings
from traces.cluster.notes import DescribedCluster
from traces.cluster.toml_writing import cluster_toml

LIMIT = Limit("cluster", "", "running", "user", "jobs", 5, origin=FOUND)


@pytest.fixture
def home_with_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setenv("TRACEHOUSE_SOURCES", "")
    (tmp_path / "a.swf").write_text("; MaxProcs: 4\n")
    log = (tmp_path / "a.swf").resolve()
    (tmp_path / "sources.local.toml").write_text(f'[sources.log]\npath = "{log}"\nformat = "swf"\n')
    return tmp_path


def keep(*limits: Limit, **order: str | int) -> None:
    found_path("log").parent.mkdir(parents=True, exist_ok=True)
    scheduler = SchedulerSettings(order=order)
    found = ClusterDescription("log", (Node("all", 4),), limits=limits, scheduler=scheduler)
    found_path("log").write_text(cluster_toml(DescribedCluster(found, ())))


def test_a_source_gets_a_cluster_with_the_rules(home_with_log: Path) -> None:
    with pytest.raises(ValueError, match="run `tracehouse cluster identify log`"):
        adopt_rules("log")
    keep()
    with pytest.raises(ValueError, match="shows no rule"):
        adopt_rules("log")
    keep(LIMIT, cycle_s=60)
    for _ in range(2):  # a second time replaces
        adopted = adopt_rules("log")
        assert (adopted.file.name, adopted.rules, adopted.named) == ("log.toml", 2, True)
        cluster = load_cluster("log").description
        assert cluster.limits == (LIMIT,) and cluster.scheduler.order == {"cycle_s": 60}
        assert rule_counts(cluster) == (0, 2)
    assert 'cluster = ["log"]' in (home_with_log / "sources.local.toml").read_text()


def test_revoking_leaves_all_as_it_was(home_with_log: Path) -> None:
    catalogue = home_with_log / "sources.local.toml"
    catalogue.write_text(
        f"# mine\n{catalogue.read_text()}procs = 4\n\n[sources.other]\nformat = 'swf'\npath = 'b.swf'\n"
    )
    before = catalogue.read_text()
    keep(LIMIT)
    for _ in range(2):
        adopt_rules("log")
    revoked = adopt_rules("log", revoke=True)
    assert (revoked.rules, revoked.named, revoked.file.exists()) == (0, False, False)
    assert load_catalogue().source("log").cluster == () and catalogue.read_text().split() == before.split()
    with pytest.raises(ValueError, match="nothing to take out"):
        adopt_rules("log", revoke=True)


@pytest.mark.parametrize("is_named", [True, False])
def test_revoking_keeps_a_cluster_that_somebody_described(home_with_log: Path, is_named: bool) -> None:
    """And the catalogue names it afterwards where it did before."""
    head = 'name = "log"\n[scheduler]\nname = "slurm"\n[[nodes]]\nnames = "n1"\ncores = 4\n'
    file, catalogue = home_with_log / "clusters" / "log.toml", home_with_log / "sources.local.toml"
    file.parent.mkdir()
    file.write_text(head)
    if is_named:
        catalogue.write_text(catalogue.read_text() + 'cluster = "log"\n')
    before = catalogue.read_text()
    keep(LIMIT)
    assert adopt_rules("log").named and load_catalogue().source("log").cluster == ("log",)
    assert adopt_rules("log", revoke=True).named == is_named
    assert file.read_text() == head and catalogue.read_text().split() == before.split()


def test_a_scheduler_of_its_own_gets_limits_that_last(home_with_log: Path) -> None:
    head = 'name = "log"\n[scheduler]\nname = "slurm"\n[[nodes]]\nnames = "n1"\ncores = 4\n'
    (home_with_log / "clusters").mkdir()
    (home_with_log / "clusters" / "log.toml").write_text(head)
    keep(replace(LIMIT, bound=3, end_s=90), replace(LIMIT, begin_s=90), cycle_s=60)
    adopt_rules("log")
    cluster = load_cluster("log").description
    assert cluster.limits == (LIMIT,) and not cluster.scheduler.order


def test_what_adopting_would_take_is_counted(home_with_log: Path) -> None:
    """An order is none beside a scheduler that has its own."""
    seen = ClusterDescription(
        "log", (Node("all", 4),), limits=(LIMIT,), scheduler=SchedulerSettings(order={"policy": "SJF"})
    )
    own = replace(seen, limits=(), scheduler=SchedulerSettings("slurm"))
    counts = [
        rule_counts(rules_beside(seen, each))[1] for each in (None, replace(own, scheduler=SchedulerSettings()), own)
    ]
    assert counts == [2, 2, 1]
