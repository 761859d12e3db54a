"""Tests of tracehouse/clusters: an archive of `tracehouse collect` becomes a source with its cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.pipelines.command_line import succeed
from tests.traces.collector.test_collector import MANIFEST, archive
from tests.traces.pbs.configuration.configurations import PBSNODES, QMGR
from tracehouse.clusters import import_collected, unpack_log
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import load_cluster
from traces.catalogue.editing import add_source
from traces.slurm.state.cycles import MEASURED_TEST_US

RECORD = (
    "03/0{day}/2026 10:10:01;E;{day}.head;user=user-abcdefghij group=group-abcdefghij jobname=job-abcdefghij queue=short "
    "ctime=177235{day}200 qtime=177235{day}200 etime=177235{day}200 start=177235{day}201 exec_host=n1/0*4 exec_vnode=(n1:ncpus=4) "
    "Resource_List.ncpus=4 Resource_List.select=1:ncpus=4 end=177235{day}801 Exit_status=0 resources_used.walltime=00:10:00\n"
)


def collected(folder: Path, *days: int, qmgr: str = QMGR, to: str = "2026-03-31") -> Path:
    """An archive with a log of these days of March."""
    log = {f"site__accounting__2026030{day}": RECORD.format(day=day) for day in days}
    parts = {"site__configuration__qmgr.txt": qmgr, "site__configuration__pbsnodes.txt": PBSNODES}
    return archive(folder, site__MANIFEST=MANIFEST.replace("2026-03-31", to), **log, **parts)


def test_log_and_cluster_come_together(catalogue: Path, tmp_path: Path) -> None:
    text = succeed("ingest", collected(tmp_path, 1, 2), "--name", "site")
    assert "accepted  2" in text and "clusters/site.toml" in text
    source = load_catalogue().source("site")
    assert (source.format, source.time_zone, source.pseudonyms, source.cluster) == (
        "pbs",
        "Europe/Berlin",
        (),
        ("site",),
    )
    names = json.loads(
        succeed("sql", "SELECT DISTINCT user_name FROM core.jobs WHERE source = 'site'", "--format", "json")
    )
    assert names == [{"user_name": "user-abcdefghij"}], "pseudonyms stay as they are"
    assert "2 nodes with 48 CPUs" in succeed("cluster", "show", "site")


def test_a_later_archive_adds_days_and_tells_a_changed_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TRACEHOUSE_SOURCES", raising=False)
    first = unpack_log(collected(tmp_path, 1, 2), "site")
    add_source("site", first.log, "pbs", {})
    assert "clusters/site.toml" in import_collected(first, "site")[0]
    again = unpack_log(collected(tmp_path, 2, 3), "site")
    assert [file.name for file in sorted(again.log.iterdir())] == ["20260301", "20260302", "20260303"]
    assert import_collected(again, "site")[0].endswith("site.toml (unchanged)")
    changed = unpack_log(collected(tmp_path, 3, qmgr=QMGR.replace("=256]", "=128]"), to="2026-04-30"), "site")
    lines = import_collected(changed, "site")
    assert "clusters/site-2026-04-30.toml (1 values changed" in lines[0]
    assert (
        "--name site-2026-04-30 --source site --from 2026-04-30 --replace" in lines[1]
    )  # and nobody edits the catalogue
    broken = unpack_log(collected(tmp_path, 3, qmgr="what is this\n"), "site")
    assert import_collected(broken, "site")[0].startswith("cluster   none: qmgr.txt:1: expected a statement")


SDIAG = "Backfilling stats\n\tTotal cycles: 99\n\tMean cycle: {mean}\n\tDepth Mean (try depth): 10\n"


def test_a_cluster_has_the_cycles_of_its_archive_and_the_state_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TRACEHOUSE_SOURCES", raising=False)

    def site(mean: int) -> Path:
        conf = "ClusterName=c\nNodeName=n[1-2] CPUs=8\nPartitionName=cpu Nodes=ALL\n"
        parts = {"site__accounting__1.psv": "JobID\n", "site__configuration__slurm.conf": conf}
        parts |= {"site__state__sdiag.txt": SDIAG.format(mean=mean), "site__state__squeue.json": '{"jobs": []}'}
        return archive(tmp_path, site__MANIFEST=MANIFEST.replace("scheduler pbs", "scheduler slurm"), **parts)

    first = unpack_log(site(20_000), "site")
    assert sorted(file.name for file in first.state.iterdir()) == ["sdiag.txt", "squeue.json"]
    add_source("site", first.log, "slurm", {})
    import_collected(first, "site")
    assert load_cluster("site").description.scheduler.values[MEASURED_TEST_US] == 2000
    (tmp_path / "archive" / "configuration").mkdir(parents=True)
    first.configuration.joinpath("slurm.conf").rename(tmp_path / "archive" / "configuration" / "slurm.conf")
    first.state.rename(tmp_path / "archive" / "state")
    succeed("cluster", "import", tmp_path / "archive", "--name", "unpacked")
    assert load_cluster("unpacked").description.scheduler.values[MEASURED_TEST_US] == 2000
    again = unpack_log(site(30_000), "site")
    assert import_collected(again, "site")[0].endswith("site.toml (unchanged)"), "other cycles are no other cluster"


def test_an_archive_without_a_log_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "home"))
    empty = archive(tmp_path, site__MANIFEST=MANIFEST, site__configuration__qmgr="", site__accounting__x="")
    assert [file.name for file in unpack_log(empty, "site").log.iterdir()] == ["x"]
    with pytest.raises(ValueError, match=r"expected a log in its folder accounting, found none"):
        unpack_log(archive(tmp_path, site__MANIFEST=MANIFEST), "other")
