"""Tests of tracehouse: logs, predictions, replays, scenarios."""

from __future__ import annotations

import gc
import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracehouse
from assets.replaying.running.settings import NodeSettings, RunSettings
from tests.pipelines.command_line import fail, succeed
from tests.tiny import swf_line
from tests.traces.pbs.pbs_lines import end_record
from tests.traces.slurm.slurm_lines import JOB
from tracehouse.cli.json_output import json_text
from traces.catalogue.places import local_catalogue_path

# logs: Loading: any format, packed or not, sources, and the command line's messages for what is neither.


def test_a_log_stays_in_the_object_and_goes_with_it(log: Path) -> None:
    loaded = tracehouse.load_log(log)
    assert (loaded.name, loaded.procs, loaded.in_catalogue) == ("busy.swf", 16, False)
    assert repr(loaded) == "Log(busy.swf: 400 jobs to replay, 16 processors)"
    assert loaded.jobs.height == 400 == loaded.query("SELECT count(*) FROM core.jobs").item()
    assert loaded.trace() is loaded.trace()
    log.unlink()
    assert tracehouse.replay(loaded).jobs.height == 400
    database = loaded.warehouse.path
    assert database.exists()
    del loaded
    gc.collect()
    assert not database.parent.exists()


def test_pbs_and_slurm_logs_packed_or_not(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    accounting = log.parent / "accounting"
    accounting.mkdir()
    (accounting / "20170405.gz").write_bytes(gzip.compress((end_record() + "\n").encode()))
    sacct = log.parent / "sacct.psv"
    sacct.write_text("|".join(JOB) + "\n" + "|".join(JOB.values()) + "\n")
    for path, procs, user in ((accounting, 4, "u1"), (sacct, 8, "ann")):
        loaded = tracehouse.load_log(str(path))
        assert (loaded.procs, loaded.jobs["procs"].to_list()) == (procs, [procs])
        assert loaded.jobs["user_name"].to_list() == [user]
        said = capsys.readouterr().err
        assert f"took the peak of processors in use ({procs})" in said
        zone = "times of the log are Unix seconds" if procs == 4 else "times of the log are read as "
        assert zone in said and f"tracehouse ingest {path} --name NAME --time-zone ZONE" in said
    assert tracehouse.load_log(accounting, procs=64).procs == 64
    assert "peak" not in capsys.readouterr().err


def test_a_bare_log_has_the_zone_of_the_machine(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `ingest` has it. It was UTC, without a word."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    sacct = log.parent / "sacct.psv"
    sacct.write_text("|".join(JOB) + "\n" + "|".join(JOB.values()) + "\n")
    loaded = tracehouse.load_log(str(sacct), procs=8)
    assert loaded.query("SELECT time_zone FROM core.sources").item() == "Asia/Tokyo"


def test_jobs_wider_than_the_cluster(log: Path) -> None:
    log.write_text("; MaxProcs: 4\n" + swf_line(1, 0, 5, 10, 8) + swf_line(2, 0, 5, 10, 4))
    with pytest.raises(tracehouse.LogError, match="8 processors"):
        tracehouse.load_log(log)
    assert tracehouse.load_log(log, drop_wider=True).jobs["job_id"].to_list() == ["2"]


@pytest.mark.parametrize("name", ["nowhere.swf", "folder/log", "nobody", ""])
def test_what_is_neither_log_nor_source_has_the_message_of_the_command_line(log: Path, name: str) -> None:
    with pytest.raises((ValueError, tracehouse.CatalogueError)) as raised:
        tracehouse.load_log(name)
    assert str(raised.value) == fail("replay", name).strip()


def test_a_source_that_is_not_loaded_is_read_into_a_warehouse_of_its_own(log: Path) -> None:
    (log.parent / "home" / "sources.toml").write_text(f'[sources.mine]\nformat = "swf"\npath = "{log}"\n')
    loaded = tracehouse.load_log("mine")
    assert (loaded.name, loaded.in_catalogue, loaded.procs) == ("mine", True, 16)
    assert not (log.parent / "home" / "warehouse").exists()
    with pytest.raises(ValueError, match="the catalogue says how large the cluster of a source is"):
        tracehouse.load_log("mine", procs=32)
    listed = tracehouse.sources().filter(name="mine").row(0, named=True)
    assert (listed["format"], listed["path"], listed["procs"]) == ("swf", str(log), None)


# predictions: What models say, from Python, is what the command line prints.

NAME = "birch"


def test_waits_and_advice_are_those_of_the_command_line(trained: Path) -> None:
    user = str(tracehouse.query("SELECT mode(user_name) FROM core.jobs").item())
    printed = json.loads(
        succeed("wait", NAME, "-n", "8", "-t", "4:00:00", "-u", user, "--samples", "20", "-b", "easy-sjbf", "--json")
    )
    answer = tracehouse.predict_wait(NAME, 8, 4 * 3600, user, samples=20, backfill="easy-sjbf")
    assert json.loads(json.dumps(answer)) == printed
    printed = json.loads(succeed("walltime", NAME, "-u", user, "--risk", "0.1", "--json"))
    assert json.loads(json.dumps(tracehouse.advise_walltime(NAME, user, risk=0.1))) == printed


def test_run_times_stand_beside_the_true_ones(trained: Path) -> None:
    rows = tracehouse.predicted_runtimes(NAME)
    assert rows.height == 1500 and rows["job_index"].is_sorted()
    assert rows["predicted_runtime_s"].null_count() == 0
    assert (rows["runtime_p10_s"] <= rows["runtime_p90_s"]).all()


def test_what_cannot_be_answered(bundled: Path) -> None:
    for question, command in (
        (lambda: tracehouse.predict_wait(NAME, 9999, "1:00:00"), ["wait", NAME, "-n", "9999", "-t", "1:00:00"]),
        (lambda: tracehouse.predict_wait(NAME, 8, "soon"), ["wait", NAME, "-n", "8", "-t", "soon"]),
        (lambda: tracehouse.advise_walltime(NAME, "nobody"), ["walltime", NAME, "-u", "nobody"]),
    ):
        with pytest.raises(ValueError) as raised:
            question()
        assert fail(*command).strip().endswith(str(raised.value).removeprefix("walltime "))
    with pytest.raises(ValueError, match="no predicted run times yet: `tracehouse run birch`"):
        tracehouse.predicted_runtimes(NAME)
    with pytest.raises(ValueError, match=r"risk 2: expected 0\.005 to 0\.5"):
        tracehouse.advise_walltime(NAME, "1", risk=2)
    with pytest.raises(ValueError, match="samples 1: expected 10 to 10000"):
        tracehouse.predict_wait(NAME, 8, "1:00:00", samples=1)
    with pytest.raises(ValueError, match="procs 0: expected at least 1"):
        tracehouse.predict_wait(NAME, 0, "1:00:00")


# replays: Replays from Python are those of the command line, setting by setting.

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
    assert json.loads(json_text(from_path.summary)) == printed
    same = {name: value for name, value in printed.items() if name not in ("procs_from", "jobs_wider_than_cluster")}
    summary = json.loads(json_text(from_object.summary))
    assert {name: summary[name] for name in same} == same
    assert from_path.jobs.drop("job_index").equals(from_object.jobs.drop("job_index"))


def test_what_comes_of_a_run(log: Path) -> None:
    run = tracehouse.replay(log, "SAF")
    assert repr(run).startswith(f"Run({log}: SAF, easy, 400 jobs, mean wait ")
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
    run = tracehouse.replay("birch", "SJF", window=(0, 100))
    run.save("short")
    rows = tracehouse.saved_runs("birch")
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


# scenarios: What-if questions from Python are those of the command line.

TEXT = '[base]\nload = 1.1\n[scenarios.more]\nprocs = "+25%"\n[scenarios.SJF]\npolicy = "SJF"\n'


def test_an_answer_is_that_of_the_command_line(log: Path) -> None:
    Path("s.toml").write_text(TEXT)
    printed = json.loads(succeed("what-if", "s.toml", "--source", log, "--json", "--period", "2026-01"))
    from_file = tracehouse.what_if("s.toml", log, period="2026-01")
    changes = {"more": {"procs": "+25%"}, "SJF": {"policy": "SJF"}}
    from_words = tracehouse.what_if(changes, log, base={"load": 1.1}, period="2026-01")
    for answer in (from_file, from_words):
        assert json.loads(json_text(answer.summary)) == printed
    assert repr(from_file) == f"WhatIf({log}: more, SJF)"
    assert f"{log}: the month 2026-01" in str(from_file)


def test_an_answer_is_tables_and_a_page(log: Path) -> None:
    answer = tracehouse.what_if({"more": {"procs": 20}}, log)
    assert answer.scenarios["scenario"].to_list() == ["log", "base", "more"]
    assert answer.jobs.height == 400 and answer.groups["jobs"].max() > 0
    assert [path.name for path in answer.write("out", "parquet")] == [
        "scenarios.parquet",
        "groups.parquet",
        "jobs.parquet",
    ]
    assert pl.read_parquet("out/jobs.parquet").equals(answer.jobs)
    answer.write_page("page.html")
    assert Path("page.html").read_text().startswith("<!doctype html>")


def test_what_is_wrong_has_the_message_of_the_command_line_of_scenarios(log: Path) -> None:
    Path("s.toml").write_text('[scenarios.x]\npolicy = "SAFF"\n')
    said = fail("what-if", "s.toml", "--source", log).strip()
    with pytest.raises(ValueError) as caught:
        tracehouse.what_if("s.toml", log)
    assert str(caught.value) == said
    with pytest.raises(ValueError, match=r"a file says what the base is, in its table \[base\]: leave base out"):
        tracehouse.what_if("s.toml", log, base={"policy": "SAF"})
    with pytest.raises(TypeError, match="what_if\\(\\) knows no month; expected some of period, begin, end"):
        tracehouse.what_if({"x": {"procs": 3}}, log, month="2026-01")  # type: ignore[call-arg]


def test_what_is_in_hand_is_a_log_a_function_and_a_file_of_a_plug_in(log: Path) -> None:
    """A loaded log knows its cluster, which its path does not, and is not read again. Two functions may have one name."""
    Path("mine.py").write_text("def narrow(procs):\n    return procs\n")
    loaded = tracehouse.load_log(log, procs=24)
    log.write_text("")
    changes = {
        "file": {"policy": "mine.py:narrow"},
        "function": {"policy": lambda procs: procs},
        "another": {"policy": lambda wait, procs: procs - wait},
    }
    answer = tracehouse.what_if(changes, loaded, base={"policy": lambda submit: submit})
    rows = answer.scenarios.filter(pl.col("scenario") != "log")
    assert rows["procs"].to_list() == [24] * 4
    assert rows["policy"].to_list() == ["<lambda>() 3", "mine.py:narrow", "<lambda>()", "<lambda>() 2"]
    waits = dict(rows.select("scenario", "average_wait_h").iter_rows())
    assert waits["file"] == waits["function"] != waits["another"]
    with pytest.raises(ValueError, match=r"scenario 'x': policy .*has a parameter 'job', which is not known"):
        tracehouse.what_if({"x": {"policy": lambda job: job}}, loaded)
