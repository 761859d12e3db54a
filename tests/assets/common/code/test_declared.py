"""What the catalogue says of a source: its versions, and what is stale when they change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver  # not exported; what the UI asks
from dagster._core.loader import LoadingContextForTest

from assets.common.asset import asset
from assets.common.code.declared import DECLARED, cluster_version, entry_version, note_declared
from assets.common.partitions import SOURCES
from traces.catalogue.catalogue import Catalogue, load_catalogue
from traces.catalogue.clusters import cluster_path, found_path


@pytest.fixture
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalogue:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(tmp_path / "sources.toml"))
    entries = (f'[sources.{name}]\nformat = "swf"\npath = "log"\nprocs = 8\n' for name in ("mine", "theirs"))
    (tmp_path / "sources.toml").write_text("".join(entries))
    return load_catalogue()


def test_an_entry_counts_and_not_what_nothing_is_made_from(catalogue: Catalogue) -> None:
    mine = catalogue.sources["mine"]
    for same in ({"description": "words"}, {"queue_command": "squeue"}, {"declared_at": "x:9"}, {"cluster": ("c",)}):
        assert entry_version(replace(mine, **same), catalogue) == entry_version(mine, catalogue)  # type: ignore[arg-type]
    for other in (
        {"procs": 9},
        {"time_zone": "Asia/Tokyo"},
        {"pseudonyms": ("user",)},
        {"scheduler": {"policy": "SJF"}},
    ):
        assert entry_version(replace(mine, **other), catalogue) != entry_version(mine, catalogue)  # type: ignore[arg-type]
    elsewhere = replace(catalogue, time_zone="Asia/Tokyo")
    assert entry_version(mine, elsewhere) != entry_version(mine, catalogue), "the entry names no zone of its own"


def test_a_cluster_counts_with_its_file_and_the_rules_of_the_log(catalogue: Catalogue) -> None:
    mine = replace(catalogue.sources["mine"], cluster=("alps",))
    versions = [cluster_version(catalogue.sources["mine"]), cluster_version(mine)]
    for path in (cluster_path("alps"), found_path("mine")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("procs = 8\n")
        versions.append(cluster_version(mine))
    assert len(set(versions)) == 4


def test_a_changed_entry_leaves_what_was_made_stale(catalogue: Catalogue) -> None:
    @asset("made", table=None)
    def made(context) -> None:  # type: ignore[no-untyped-def]
        """Something of a source."""

    definitions = dg.Definitions(assets=[made, *DECLARED])
    assert SOURCES.name is not None

    def statuses(instance: dg.DagsterInstance, now: Catalogue) -> list[str]:
        note_declared(instance, now, ["mine", "theirs", "nosuch"])
        graph = definitions.resolve_asset_graph()
        resolver = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
        return [resolver.get_status(made.key, name).value for name in ("mine", "theirs")]

    with dg.instance_for_test() as instance:
        instance.add_dynamic_partitions(SOURCES.name, ["mine", "theirs"])
        note_declared(instance, catalogue, ["mine", "theirs"])
        job = definitions.resolve_implicit_global_asset_job_def()
        for name in ("mine", "theirs"):
            job.execute_in_process(instance=instance, partition_key=name)
        assert statuses(instance, catalogue) == ["FRESH", "FRESH"]
        mine = replace(catalogue.sources["mine"], procs=16)
        changed = replace(catalogue, sources=catalogue.sources | {"mine": mine})
        assert statuses(instance, changed) == ["STALE", "FRESH"]
        job.execute_in_process(instance=instance, partition_key="mine")
        assert statuses(instance, changed) == ["FRESH", "FRESH"]
        observed = instance.fetch_observations(DECLARED[0].key, limit=10).records
        assert len(observed) == 3, "what is as before is not noted again"
