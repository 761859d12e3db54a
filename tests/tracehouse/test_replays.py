"""Replays from Python are those of the command line, setting by setting."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tracehouse
from assets.replay.settings import NodeSettings, RunSettings
from tests.pipelines.command_line import fail, succeed
from traces.catalogue.places import local_catalogue_path

OUTAGES = "start,end,procs,announced\n1767300000,1767400000,8,\n"
CASES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"policy": "saf", "backfill": "conservative"}, ["-p", "saf", "-b", "conservative"]),
    ({"estimates": "live:median", "reserve_by": "requested", "correction": "doubling"},
     ["--estimates", "live:median", "--reserve-by", "requested", "--correction", "doubling"]),
    ({"load": 1.25, "admit_by": "requested"}, ["--load", "+25%", "--admit-by", "requested"]),
    ({"window": (50, 200), "warm_start": True, "trim": 0.1}, ["--window", "50:200", "--warm-start", "--trim", "0.1"]),
    ({"outages": "outages.csv"}, ["--outages", "outages.csv"]),
    ({"procs": 8, "drop_wider": True, "cancelled": True}, ["--procs", "8", "--drop-wider", "--cancelled"]),
    ({"rules": "rlscheduler", "policy": "SJF"}, ["--rules", "rlscheduler", "-p", "SJF"]),
    ({"topology": "4x2x8", "hops": "1,2,9", "place": "first", "period": 60},
     ["--topology", "4x2x8", "--hops", "1,2,9", "--place", "first", "--every", "60"]),
    ({"topology": "4x8", "nodes": "whole", "procs_per_node": 2, "switches": "1@1h"},
     ["--topology", "4x8", "--nodes", "whole", "--procs-per-node", "2", "--switches", "1@1h"]),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "options"), CASES)
def test_a_replay_is_that_of_the_command_line(log: Path, settings: dict[str, Any], options: list[str]) -> None:
    Path("outages.csv").write_text(OUTAGES)
    printed = json.loads(succeed("replay", log, "--json", *options))
    loaded = tracehouse.load_log(log)
    from_path, from_object = tracehouse.replay(log, **settings), tracehouse.replay(loaded, **settings)
    assert json.loads(json.dumps(from_path.summary)) == printed
    same = {name: value for name, value in printed.items() if name not in ("procs_from", "jobs_wider_than_cluster")}
    summary = json.loads(json.dumps(from_object.summary))
    assert {name: summary[name] for name in same} == same
    assert from_path.jobs.drop("job_index").equals(from_object.jobs.drop("job_index"))


def test_what_comes_of_a_run(log: Path) -> None:
    run = tracehouse.replay(log, "SAF")
    assert repr(run).startswith(f"Run({log}: SAF, easy, 400 jobs, average wait ")
    assert str(run) + "\n" == succeed("replay", log, "-p", "SAF")
    jobs = run.jobs
    assert jobs["wait_s"].mean() == pytest.approx(run.metrics["average_wait_s"])
    assert ((jobs["end_time"] - jobs["start_time"]).dt.total_seconds() == jobs["runtime_s"]).all()
    assert run.series["procs_in_use"].max() <= 16
    assert run.by_class["jobs"].sum() == 400
    assert run.row["average_wait_s"].item() == run.metrics["average_wait_s"]
    assert [path.name for path in run.write_plots("plots")] == ["gantt.png", "usage.png", "waits.png"]
    assert all(path.stat().st_size > 1000 for path in Path("plots").iterdir())


def test_settings_are_those_of_a_saved_run() -> None:
    fields = set(RunSettings.model_fields) | set(NodeSettings.model_fields)
    assert set(tracehouse.ReplaySettings.__annotations__) == fields - {"policy", "backfill"}


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({"policy": "SAFF"}, ["-p", "SAFF"]),
        ({"backfill": "fast"}, ["-b", "fast"]),
        ({"estimates": "predicted"}, ["--estimates", "predicted"]),
        ({"policy": "learned"}, ["-p", "learned"]),
        ({"policy": "gone.json"}, ["-p", "gone.json"]),
        ({"window": (390, 100)}, ["--window", "390:100"]),
        ({"outages": "gone.csv"}, ["--outages", "gone.csv"]),
    ],
)
def test_what_is_wrong_has_the_message_of_the_command_line(
    log: Path, settings: dict[str, Any], options: list[str]
) -> None:
    with pytest.raises(ValueError) as raised:
        tracehouse.replay(log, **settings)
    assert str(raised.value) == fail("replay", log, *options).strip()


def test_tables_are_pandas_frames_where_it_is_installed(log: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="the extra `pandas` is not installed")
    run = tracehouse.replay(log)
    frame = run.jobs.to_pandas()
    assert frame["wait_s"].mean() == pytest.approx(run.metrics["average_wait_s"])
    assert pandas.api.types.is_datetime64_any_dtype(frame["start_time"])
    frames = (run.series, run.by_class, tracehouse.sources(), tracehouse.what_if({"x": {"procs": 20}}, log).scenarios)
    assert all(len(each.to_pandas()) == each.height for each in frames)


def test_a_setting_that_there_is_not_is_no_setting(log: Path) -> None:
    with pytest.raises(TypeError, match="has no setting polcy: expected some of inspector, estimates, reserve_by"):
        tracehouse.replay(log, polcy="SAF")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r"runs of a log are not saved, .*`tracehouse ingest"):
        tracehouse.replay(tracehouse.load_log(log)).save("mine")


def test_a_run_of_a_source_is_saved_beside_those_of_the_pipeline(own_trained: Path) -> None:
    run = tracehouse.replay("lublin-256", "SJF", window=(0, 100))
    run.save("short")
    rows = tracehouse.saved_runs("lublin-256")
    assert {"fcfs", "fcfs-easy", "short"} <= set(rows["run"])
    saved = rows.filter(run="short").row(0, named=True)
    assert (saved["policy"], saved["window_jobs"], saved["average_wait_s"]) == (
        "SJF",
        100,
        run.metrics["average_wait_s"],
    )


def test_who_ran_where(log: Path) -> None:
    run = tracehouse.replay(log, topology="4x2x8")
    assert run.placement.height == run.jobs.height and run.placement["nodes"].str.starts_with("n").all()
    assert run.placement["hop_cost"].mean() == pytest.approx(run.summary["placement"]["metrics"]["average_hop_cost"])
    with pytest.raises(ValueError, match="replay them with topology"):
        _ = tracehouse.replay(log).placement
    with pytest.raises(ValueError, match="switches needs the tree of switches"):
        tracehouse.replay(log, switches="1@1h")


def test_a_tree_of_the_catalogue(log: Path) -> None:
    catalogue = local_catalogue_path()
    catalogue.parent.mkdir(parents=True, exist_ok=True)
    catalogue.write_text(f'[sources.mine]\nformat = "swf"\npath = "{log}"\ntopology = "4x2x8"\n')
    of_source, of_log = (
        tracehouse.replay("mine", place="first"),
        tracehouse.replay(log, topology="4x2x8", place="first"),
    )
    assert of_source.placement.equals(of_log.placement)
