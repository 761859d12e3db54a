"""Folders of VASP runs through the whole pipeline, and the commands `tracehouse vasp ...`."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from pathlib import Path

import dagster as dg
import duckdb
import polars as pl
import pytest

from pipelines.automation import vasp_sensor
from pipelines.nights import nightly_vasp_schedule
from tests.pipelines.command_line import fail, succeed, use_home
from traces.vasp.synthetic import SyntheticOptions, draw_runs, write_run

CONFIG = """
ops:
  predictions__remaining_time_evaluation: {config: {predictors: [inputs_only, progress], folds: 2}}
"""
RLSCHERT = """
ops:
  experiments__rlschert:
    config:
      errors: measured
      seeds: [1]
      jobs: 10
      test_sequences: 4
      network_iterations: 1
      job_rates: [0.3, 0.9]
      cluster_sizes: [12]
      predictable_shares: [0.5]
      preemption_costs: [3]
      training: {iterations: 2, sequences: 4, pool: 4, validate_every: 1, teacher_iterations: 1}
"""
OPTIONS = {
    "sources": ["--json"],
    "ingest": ["PATH", "--name", "--time-zone", "--accounting", "--replace", "--json"],
    "run": ["[SOURCE]...", "--job", "--config"],
    "remaining": ["SOURCE", "--all", "--json"],
    "evaluate": ["SOURCE", "--train", "--test", "--predictor", "--seed", "--json"],
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory):
    """A home with the folder `mine`: 44 runs, two of them on their way, a broken and an empty folder; after `vasp run`."""
    folder = tmp_path_factory.mktemp("vasp")
    with pytest.MonkeyPatch.context() as patch:
        use_home(patch, folder)
        runs = draw_runs(SyntheticOptions(runs=44, seed=5, unfinished=0))
        for number, run in enumerate(runs):
            write_run(
                folder / "runs" / run.name,
                run,
                until_s=(0.8 if number > 42 else 0.5) * run.elapsed_s if number > 41 else None,
            )
        now = time.time()
        os.utime(folder / "runs" / runs[43].name / "OUTCAR", (now, now))
        (folder / "runs" / "empty").mkdir()
        (folder / "runs" / "broken").mkdir()
        (folder / "runs" / "broken" / "OUTCAR").write_text("nothing of VASP's\n")
        (folder / "config.yaml").write_text(CONFIG)
        (folder / "rlschert.yaml").write_text(RLSCHERT)
        printed = succeed("vasp", "ingest", folder / "runs", "--name", "mine")
        (folder / "printed").write_text(printed)
        succeed("vasp", "run", "mine", "--config", folder / "config.yaml")
        yield folder


def query(home: Path, text: str) -> pl.DataFrame:
    with duckdb.connect(str(home / "warehouse" / "data" / "tracehouse.duckdb"), read_only=True) as connection:
        return connection.sql(text).pl()


@pytest.mark.parametrize("command", OPTIONS)
def test_help_tells_every_option(command: str) -> None:
    text = succeed("vasp", command, "--help")
    told = set(re.findall(r"--[a-z-]+", text)) - {"--help"}
    assert told == {option for option in OPTIONS[command] if option.startswith("--")}
    assert all(option in text for option in OPTIONS[command])


def test_what_ingesting_says(home: Path) -> None:
    lines = (home / "printed").read_text().splitlines()
    assert lines[:4] == [
        "folders   46",
        "accepted  44",
        "                  1  cut_off",
        "                 42  finished",
    ]
    assert lines[4] == "                  1  running"
    assert lines[5] == "rejected  2"
    assert [line.split(maxsplit=1)[1] for line in lines[6:]] == [
        "an empty folder", "not an OUTCAR: no line tells where it was `executed on`, or how long a step took",
    ]  # fmt: skip


def test_counts_add_up(home: Path) -> None:
    folders = query(home, "SELECT outcome, count(*) AS n FROM raw.vasp_folders GROUP BY ALL ORDER BY ALL")
    assert folders.rows() == [("accepted", 44), ("rejected", 2)]
    steps = query(
        home,
        "SELECT (SELECT sum(electronic_steps) FROM raw.vasp_runs) AS told, (SELECT count(*) FROM raw.vasp_electronic_steps) AS n",
    )
    assert steps["told"][0] == steps["n"][0] > 500


def test_scores_rest_on_finished_runs(home: Path) -> None:
    scores = query(home, "FROM predictions.remaining_time_scores WHERE ionic = 'all' ORDER BY predictor, progress")
    assert scores["runs"].unique().to_list() == [42] and scores["split"].unique().to_list() == ["unseen"]
    assert {"ends_now", "constant_median", "constant_share"} < set(scores["predictor"])
    assert scores.filter(predictor="inputs_only")["progress"].to_list() == pytest.approx([k / 10 for k in range(11)])
    trials = query(home, "FROM predictions.remaining_time_trials WHERE predictor = 'progress' AND progress = 0.5")
    mean = (
        100
        * ((trials["used_s"] + trials["remaining_p50_s"]) / (trials["used_s"] + trials["remaining_s"]) - 1).abs().mean()
    )  # type: ignore[operator]
    assert scores.filter((pl.col("predictor") == "progress") & (pl.col("progress") == 0.5))["mape"][0] == pytest.approx(
        mean
    )


def test_remaining_times_of_runs_without_an_end(home: Path) -> None:
    text = succeed("vasp", "remaining", "mine")
    assert len(text.splitlines()) == 2 and "running" in text and "synthetic-00043" in text
    assert len(succeed("vasp", "remaining", "mine", "--all").splitlines()) == 3
    (row,) = json.loads(succeed("vasp", "remaining", "mine", "--json"))
    assert 0 <= row["remaining_p10_s"] <= row["remaining_p50_s"] <= row["remaining_p90_s"]
    assert row["electronic_steps"] > 0


def test_a_second_run_reads_nothing_and_changes_no_row(home: Path) -> None:
    tables = ("raw.vasp_runs", "raw.vasp_electronic_steps", "raw.vasp_rejects", "predictions.remaining_times")
    before = [query(home, f"FROM {name} ORDER BY ALL") for name in tables]
    succeed("vasp", "run", "mine", "--job", "vasp_watch")
    assert all(query(home, f"FROM {name} ORDER BY ALL").equals(rows) for name, rows in zip(tables, before, strict=True))


def test_a_growing_run_is_read_again(home: Path) -> None:
    run = draw_runs(SyntheticOptions(runs=44, seed=5, unfinished=0))[42]
    folder = home / "runs" / run.name
    told = f"SELECT electronic_steps, state FROM raw.vasp_runs WHERE folder = '{run.name}'"
    ((before, _),) = query(home, told).rows()
    shutil.copytree(folder, home / "kept")
    try:
        write_run(folder, run, until_s=0.9 * run.elapsed_s)
        succeed("vasp", "run", "mine", "--job", "vasp_watch")
        ((after, _),) = query(home, told).rows()
        assert after > before
    finally:
        shutil.rmtree(folder)
        shutil.move(home / "kept", folder)
        succeed("vasp", "run", "mine", "--job", "vasp_watch")


def test_runs_are_joined_to_their_accounting(home: Path, tmp_path: Path) -> None:
    """By the job's number, and by time and cores."""
    rows = query(home, "SELECT folder, cores, epoch(started_at)::BIGINT AS s FROM raw.vasp_runs ORDER BY folder").rows()
    header = (
        "JobID|JobIDRaw|Cluster|Partition|Account|User|JobName|Submit|Start|End|State|NCPUS|AllocCPUS|ReqCPUS|NNodes"
    )
    lines = [header + "|ElapsedRaw|TimelimitRaw|ExitCode"]
    zone = "%Y-%m-%dT%H:%M:%S"
    for number, (_, cores, started) in enumerate(rows[:3], start=700):
        begin, end = (time.strftime(zone, time.gmtime(s)) for s in (started - 4, started + 90_000))
        lines.append(
            f"{number}|{number}|c|p|a|u|vasp|{begin}|{begin}|{end}|COMPLETED|{cores}|{cores}|{cores}|1|90004|2000|0:0"
        )
    log = home / "slurm.txt"
    log.write_text("\n".join(lines) + "\n")
    succeed("ingest", log, "--name", "cluster", "--procs", "256", "--time-zone", "UTC")
    output = home / "runs" / rows[1][0] / "slurm-701.out"
    output.write_text("done\n")
    try:
        succeed("vasp", "ingest", home / "runs", "--name", "joined", "--accounting", "cluster")
        found = query(
            home, "SELECT folder, job_index, matched_by FROM core.vasp_jobs WHERE source = 'joined' ORDER BY folder"
        )
        known = {folder: by for folder, _, by in found.rows()}
        assert known[rows[1][0]] == "job_id"
        assert set(known) <= {row[0] for row in rows[:3]} and known[rows[0][0]] == "time"
    finally:
        output.unlink()


def test_rlschert_end_to_end(home: Path) -> None:
    succeed("vasp", "run", "mine", "--job", "rlschert", "--config", home / "rlschert.yaml")
    results = query(home, "FROM experiments.rlschert")
    main = results.filter((pl.col("experiment") == "main") & (pl.col("part") == "test"))
    # sequences x (heuristics, without and with the rule; four with the stopping rule; four learned, one of them with it)
    assert main.height == 4 * (2 * 7 + 4 + 4 + 1)
    experiments = {"main", "load", "resources", "preemption", "predictable", "mixed", "completion", "networks"}
    assert set(results["experiment"]) == experiments
    assert main["slowdown"].null_count() == 0 and main["slowdown"].min() >= 1  # type: ignore[operator]
    assert results.filter(experiment="networks")["policy"].n_unique() == 3
    found = query(home, "FROM experiments.rlschert_comparisons WHERE experiment = 'main'")
    assert found.height == 8 + 8 + 3 + 2
    assert (found["difference_low"] <= found["difference"]).all() and (
        found["difference"] <= found["difference_high"]
    ).all()
    curves = query(home, "SELECT DISTINCT experiment, policy, kill, seed FROM experiments.rlschert_curves")
    assert curves.height == 4 + 4 + 3
    holes = query(home, "FROM experiments.rlschert_holes WHERE policy = 'SAF' AND kill = 'none' ORDER BY unit")
    total = main.filter((pl.col("policy") == "SAF") & (pl.col("kill") == "none"))["holes"].mean()
    assert holes["holes"][-1] == pytest.approx(total, rel=0.05) and holes["holes"].is_sorted()
    assert query(home, "FROM experiments.rlschert_jobs")["policy"].n_unique() == 9


def test_a_folder_without_any_run_leaves_the_catalogue_as_it_was(home: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("x")
    before = (home / "sources.toml").read_text()
    assert "no VASP run in it" in fail("vasp", "ingest", tmp_path, "--name", "nothing")
    assert (home / "sources.toml").read_text() == before
    assert "no such folder" in fail("vasp", "ingest", tmp_path / "gone", "--name", "nothing")


def test_a_name_stays_with_its_folder(home: Path, tmp_path: Path) -> None:
    """Without --replace; a folder that cannot be taken in leaves everything as it was, with it too."""
    run = draw_runs(SyntheticOptions(runs=1, seed=8, unfinished=0))[0]
    write_run(tmp_path / "one" / run.name, run)
    write_run(tmp_path / "two" / "of-two", run)
    stored = "SELECT folder FROM raw.vasp_runs WHERE source = 'moves'"
    succeed("vasp", "ingest", tmp_path / "one", "--name", "moves")
    before = (home / "sources.toml").read_text()
    message = fail("vasp", "ingest", tmp_path / "two", "--name", "moves")
    assert f"'moves' is the folder {tmp_path / 'one'}" in message and "--replace to forget its runs" in message
    (tmp_path / "none").mkdir()
    assert "no VASP run in it" in fail("vasp", "ingest", tmp_path / "none", "--name", "moves", "--replace")
    assert (home / "sources.toml").read_text() == before
    assert query(home, stored)["folder"].to_list() == [run.name]

    (home / "sources.toml").write_text(before.replace(str(tmp_path / "one"), str(tmp_path / "two")))
    message = fail("vasp", "run", "--job", "vasp_ingest", "moves")
    assert str(tmp_path / "one") in message and f"ingest {tmp_path / 'two'} --name moves --replace" in message
    assert query(home, stored)["folder"].to_list() == [run.name]
    succeed("vasp", "ingest", tmp_path / "two", "--name", "moves", "--replace")
    assert query(home, stored)["folder"].to_list() == ["of-two"]


def test_questions_that_cannot_be_answered(home: Path) -> None:
    assert "unknown folder of VASP runs 'theirs'; known: synthetic-vasp, mine" in fail("vasp", "remaining", "theirs")
    assert "nothing predicted for 'synthetic-vasp' yet" in fail("vasp", "remaining", "synthetic-vasp")
    assert "unknown source 'nowhere'" in fail("vasp", "ingest", home / "runs", "--name", "x", "--accounting", "nowhere")


def test_sources_are_listed(home: Path) -> None:
    assert [row["name"] for row in json.loads(succeed("vasp", "sources", "--json"))][:2] == ["synthetic-vasp", "mine"]
    assert succeed("vasp", "sources").splitlines()[1].split() == ["mine", str(home / "runs")]


def test_predictors_of_one_folder_are_judged_on_another(home: Path) -> None:
    """Two of its runs are copies of the first folder's."""
    runs = draw_runs(SyntheticOptions(runs=24, seed=9, unfinished=0))
    for run in runs:
        write_run(home / "others" / run.name, run)
    for number in (0, 1):
        name = f"synthetic-{number:05d}"
        shutil.copytree(home / "runs" / name, home / "others" / f"copy-of-{name}")
    succeed("vasp", "ingest", home / "others", "--name", "others")
    arguments = ("vasp", "evaluate", "--train", "mine", "--test", "others")
    result = json.loads(succeed(*arguments, "--json"))
    assert (result["trained_runs"], result["judged_runs"], result["repeated_runs"]) == (42, 24, 2)
    whole = [
        row for row in result["scores"] if row["progress"] is None and (row["split"], row["ionic"]) == ("all", "all")
    ]
    names = ["ends_now", "constant_median", "constant_share", "inputs_only", "progress"]
    assert [row["predictor"] for row in whole] == names
    errors = {row["predictor"]: row["mean_error"] for row in whole}
    assert errors["progress"] < min(error for name, error in errors.items() if name != "progress")
    text = succeed(*arguments)
    assert "learned from 42 runs" in text and "left out: 2 runs of others that are in mine" in text
    line = next(line for line in text.splitlines() if "progress" in line)
    assert f"{errors['progress']:.0f} (" in line


def test_what_cannot_be_judged(home: Path, tmp_path: Path) -> None:
    assert "unknown folder of VASP runs 'theirs'" in fail("vasp", "evaluate", "--train", "theirs", "--test", "mine")
    assert "unknown folder of VASP runs 'theirs'" in fail("vasp", "evaluate", "--train", "mine", "--test", "theirs")
    message = fail("vasp", "evaluate", "--train", "mine", "--test", "mine")
    assert "--train and --test are both 'mine': expected two different folders" in message
    message = fail("vasp", "evaluate", "--train", "mine", "--test", "synthetic-vasp")
    assert "no VASP run of 'synthetic-vasp' is loaded yet: `tracehouse vasp run synthetic-vasp" in message
    for run in draw_runs(SyntheticOptions(runs=4, seed=11, unfinished=0)):
        write_run(tmp_path / run.name, run)
    succeed("vasp", "ingest", tmp_path, "--name", "few")
    message = fail("vasp", "evaluate", "--train", "mine", "--test", "few")
    assert (
        "at least 10 finished VASP runs, found 4" in message
        and "--train mine: 42 finished runs, --test few: 4" in message
    )
    message = fail("vasp", "evaluate", "--train", "few", "--test", "mine")
    assert "learned from at least 20 finished VASP runs, found 4" in message


# The sensor and the schedule.


def test_the_sensor_asks_for_a_run_when_a_folder_has_changed(home: Path) -> None:
    with dg.instance_for_test() as instance:
        first = vasp_sensor(dg.build_sensor_context(instance=instance))
        assert isinstance(first, dg.SensorResult) and "mine" in {r.partition_key for r in first.run_requests or []}
        assert {"mine", "synthetic-vasp"} <= set(instance.get_dynamic_partitions("vasp"))
        second = vasp_sensor(dg.build_sensor_context(instance=instance, cursor=first.cursor))
        assert isinstance(second, dg.SensorResult) and not second.run_requests
        incar = home / "runs" / "synthetic-00000" / "INCAR"
        incar.write_text(incar.read_text() + "\n")
        third = vasp_sensor(dg.build_sensor_context(instance=instance, cursor=first.cursor))
        assert isinstance(third, dg.SensorResult) and [r.partition_key for r in third.run_requests or []][:1] == [
            "mine"
        ]


def test_every_night_every_folder(home: Path) -> None:
    import datetime as dt

    night = dt.datetime(2026, 11, 22, 3, 0, tzinfo=dt.UTC)
    with dg.instance_for_test() as instance:
        context = dg.build_schedule_context(instance=instance, scheduled_execution_time=night)
        requests = nightly_vasp_schedule()(context)
    assert {"mine", "synthetic-vasp"} <= {request.partition_key for request in requests}  # type: ignore[union-attr]
