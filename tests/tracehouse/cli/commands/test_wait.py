"""Tests of tracehouse/cli/commands: models, wait, walltime."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import dagster as dg
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from assets.common.storage import open_warehouse
from assets.common.trace import Trace, load_trace
from models.runtime.predictor import QUANTILE_COLUMNS
from tests.pipelines.command_line import fail, load_source, succeed, use_home
from tests.tiny import busy_log, swf_line
from tracehouse.cli.main import main
from tracehouse.text.tables import duration
from warehouse import Warehouse

# models: `tracehouse models` and `rollback` before there is a model; with models: test_automation_nightly.py.


def test_a_source_without_models(loaded: tuple[Path, str]) -> None:
    for command in ("models", "rollback"):
        assert "source 'mine' has no run-time model: 5 jobs with a known run time are too few" in fail(command, "mine")
        assert "unknown source 'nowhere'" in fail(command, "nowhere")


def test_a_version_is_a_number(loaded: tuple[Path, str]) -> None:
    assert "'first' is not a valid integer" in fail("rollback", "mine", "--to", "first")


def test_a_view_of_somebody_else_reads_no_file(
    loaded: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A warehouse from elsewhere may have views of its own, which a command would run."""
    shutil.copytree(loaded[0].parent, tmp_path / "home")
    use_home(monkeypatch, tmp_path / "home")
    (tmp_path / "secret").write_text("the key")
    with open_warehouse().write() as connection:
        connection.execute(
            "CREATE OR REPLACE VIEW predictions.model_history AS SELECT 'mine' AS source, 1 AS event, content AS champion "
            f"FROM read_text('{tmp_path / 'secret'}')"
        )
    message = fail("models", "mine", "--json")
    assert "one of its views would read another file or the network" in message and "the key" not in message


# wait: `tracehouse wait` and `tracehouse walltime`, as their users meet them, and the asset that scores predicted
# waits.

NEW = ("--procs", "4", "--walltime", "2:00:00")


def trace_with_quantiles(
    warehouse: Warehouse, source: str, cancelled: bool = False, labels: Sequence[str] = ()
) -> Trace:
    """The trace with a stand-in for predictions.runtime_predictions: shares of the request."""
    trace = load_trace(warehouse, source, cancelled, labels)
    rows = trace.rows.with_columns(
        (pl.col("requested_walltime_s") * share).cast(pl.Float64).alias(name)
        for name, share in zip(QUANTILE_COLUMNS, np.linspace(0.25, 1.0, 8), strict=True)
    )
    return replace(trace, rows=rows)


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with the source `mine`, 1,200 jobs that queue, and predicted run times."""
    import assets.waits.loading

    folder = tmp_path_factory.mktemp("waits")
    with pytest.MonkeyPatch.context() as patch:
        use_home(patch, folder / "home")
        patch.setattr(assets.waits.loading, "load_trace", trace_with_quantiles)
        (folder / "mine.swf").write_text(busy_log(1200, days=30))
        load_source(folder / "mine.swf")
        yield folder


def waiting_job(busy: Path) -> dict:
    """The job that waited longest, and a second amid its wait."""
    (row,) = json.loads(succeed(
        "sql", "SELECT job_id, user_name, procs, epoch(submit_time - clock_zero)::BIGINT AS submit_s, wait_s FROM core.jobs "
        "JOIN core.sources USING (source) ORDER BY wait_s DESC LIMIT 1", "--format", "json",
    ))  # fmt: skip
    assert row["wait_s"] > 3600
    return row | {"amid_s": row["submit_s"] + row["wait_s"] // 2}


# Waits.


def test_a_new_job_amid_a_queue(busy: Path) -> None:
    moment = waiting_job(busy)["amid_s"]
    arguments = ("wait", "mine", *NEW, "--at", str(moment), "--user", "3")
    told = json.loads(succeed(*arguments, "--json"))
    assert (
        told["running_jobs"] > 0 and told["waiting_jobs"] > 0 and 0 < told["busy_procs"] <= told["cluster_procs"] == 16
    )
    for kind in ("wait", "replay"):
        waits = [told[f"{kind}_p{p}_s"] for p in (10, 25, 50, 75, 90)]
        assert waits == sorted(waits) and waits[0] >= 0
    assert (told["at_s"], told["told_by"], told["requested_walltime_s"]) == (moment, "calibrated", 7200)
    assert json.loads(succeed(*arguments, "--json")) == told
    assert json.loads(succeed(*arguments, "--json", "--seed", "2"))["replay_p50_s"] != told["replay_p50_s"]
    assert told["scores"] == [] and told["similar_p50_s"] >= 0 and told["wait_mean_s"] != told["similar_mean_s"]
    text = succeed(*arguments)
    assert f"The predicted mean wait is {duration(told['wait_mean_s'])}, and half" in text
    assert f"{told['busy_procs']} of 16 processors busy, {told['running_jobs']} jobs running" in text
    assert "a new job of 3: 4 processors, 2 h requested" in text and "Europe/Berlin" in text and "8 in 10" in text


def test_a_job_that_waits(busy: Path) -> None:
    job = waiting_job(busy)
    arguments = ("wait", "mine", "--job", job["job_id"], "--at", str(job["amid_s"]))
    told = json.loads(succeed(*arguments, "--json"))
    assert (told["procs"], told["waited_s"]) == (job["procs"], job["wait_s"] // 2)
    assert told["waited_s"] <= told["wait_p10_s"] <= told["wait_p90_s"]
    assert "has waited" in succeed(*arguments)
    late = str(job["submit_s"] + job["wait_s"])
    assert "does not wait at" in fail("wait", "mine", "--job", job["job_id"], "--at", late)
    early = str(job["submit_s"] - 1)
    assert "had been submitted by" in fail("wait", "mine", "--job", job["job_id"], "--at", early)
    assert "had been submitted by" in fail("wait", "mine", "--job", "nosuch")


def test_times_of_the_clusters_clock(busy: Path) -> None:
    told = json.loads(succeed("wait", "mine", *NEW, "--at", "2026-01-10 08:00", "--json"))
    assert told["at"] == "Sat 2026-01-10 08:00" and told["time_zone"] == "Europe/Berlin"
    utc = json.loads(succeed("wait", "mine", *NEW, "--at", "2026-01-10T07:00:00+00:00", "--json"))
    assert utc == told


def test_without_a_time_a_busy_moment_is_drawn(busy: Path) -> None:
    """The log is of January 2026, so that it grows no more."""
    answer = json.loads(succeed("wait", "mine", *NEW, "--json"))
    assert answer["waiting_jobs"] > 0 and answer["moment"] == "a busy moment, drawn with seed 1"
    assert ": a busy moment, drawn with seed 1; --at asks about another\n" in succeed("wait", "mine", *NEW)
    other = json.loads(succeed("wait", "mine", *NEW, "--json", "--seed", "2"))
    assert other["at_s"] != answer["at_s"]
    asked = json.loads(succeed("wait", "mine", *NEW, "--json", "--at", str(answer["at_s"])))
    assert asked == answer | {"moment": None}


def test_without_a_time_a_job_is_asked_about_at_its_submission(busy: Path) -> None:
    late = waiting_job(busy)
    answer = json.loads(succeed("wait", "mine", "--job", late["job_id"], "--json"))
    assert answer["moment"] == "the last submission in the warehouse" and answer["waited_s"] > 0
    (early,) = json.loads(succeed(
        "sql", "SELECT job_id FROM core.jobs WHERE start_time < (SELECT max(submit_time) FROM core.jobs) ORDER BY wait_s DESC LIMIT 1",
        "--format", "json",
    ))  # fmt: skip
    answer = json.loads(succeed("wait", "mine", "--job", early["job_id"], "--json"))
    assert (answer["waited_s"], answer["moment"]) == (0, "its submission")


def test_what_cannot_be_asked(busy: Path) -> None:
    assert "unknown source 'nosuch'" in fail("wait", "nosuch", *NEW)
    assert "no job of user 'nobody'" in fail("wait", "mine", *NEW, "--user", "nobody")
    message = fail("wait", "mine", "--procs", "17", "--walltime", "60")
    assert "17 processors can never start on a cluster of 16" in message
    assert "is outside the log" in fail("wait", "mine", *NEW, "--at", "2019-01-01")
    assert "is outside the log" in fail("wait", "mine", *NEW, "--at", "99999999999")
    assert "expected local time of the cluster" in fail("wait", "mine", *NEW, "--at", "noon")
    assert "expected a length of time such as 4h" in fail("wait", "mine", "-n", "4", "-t", "an hour")
    for option in ("--queue", "--gpus", "--account", "--qos"):
        message = fail("wait", "mine", *NEW, option, "1")
        assert "which knows processors and time alone" in message and f"leave {option} out" in message
    assert "give --procs and --walltime" in fail("wait", "mine", "-n", "4")
    assert "leave --procs" in fail("wait", "mine", "-n", "4", "--job", "7")
    assert "unknown policy 'LIFO'" in fail("wait", "mine", *NEW, "--policy", "LIFO")
    assert "greedy" in fail("wait", "mine", *NEW, "--backfill", "greedy")


def test_predictions_that_are_missing(busy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import assets.waits.loading

    monkeypatch.setattr(assets.waits.loading, "load_trace", load_trace)
    answer = json.loads(succeed("wait", "mine", *NEW, "--samples", "20", "--json"))
    assert "by jobs of the same user and others alike" in answer["basis"]
    assert answer["basis"].endswith("a model is trained by `tracehouse run mine --job train`")
    assert answer["replayed"].startswith("FCFS with backfilling easy; what most centres run")


def test_a_log_that_knows_no_waits(busy: Path, tmp_path: Path) -> None:
    log = tmp_path / "nowaits.swf"
    log.write_text("; MaxProcs: 8\n" + "".join(swf_line(k, 100 * k, -1, 50, 2, 100) for k in range(1, 30)))
    load_source(log)
    assert "does not say when jobs started" in fail("wait", "nowaits", *NEW)


def test_a_log_without_dates_has_seconds_of_its_own(busy: Path, tmp_path: Path) -> None:
    """Before, "second 1672445845 (Europe/Stockholm)" stood where dates stand, as if it were one."""
    log = tmp_path / "nodates.swf"
    log.write_text(busy_log(300, days=10).replace("; UnixStartTime: 1767225600\n", ""))
    load_source(log)
    answer = json.loads(succeed("wait", "nodates", *NEW, "--json"))
    assert answer["time_zone"] is None and answer["at"] == f"second {answer['at_s']}"
    text = succeed("wait", "nodates", *NEW)
    assert text.startswith(f"nodates at second {answer['at_s']} of the log's own clock: a busy moment")
    assert "starts by, of the log's own clock\n" in text and "Europe" not in text and "UTC" not in text
    text = succeed("wait", "mine", *NEW)
    assert "second" not in text.splitlines()[0] and "(Europe/Berlin)" in text.splitlines()[0]


def test_durations_are_said() -> None:
    said = {0: "0 s", 59: "59 s", 60: "1 min", 3700: "1 h 1 min", 90_000: "1 d 1 h", 7200: "2 h"}
    assert {seconds: duration(seconds) for seconds in said} == said


# Wall times.


def test_advice_for_a_user(busy: Path) -> None:
    told = json.loads(succeed("walltime", "mine", "--user", "3", "--json"))
    assert told["walltime_s"] % 60 == 0 and told["jobs"] > 19 and told["same"] == "user"
    assert 0 <= told["tried_killed_share"] < 0.15 and told["tried_jobs"] > 50
    risky = json.loads(succeed("walltime", "mine", "--user", "3", "--risk", "0.3", "--json"))
    assert risky["walltime_s"] < told["walltime_s"] and risky["tried_killed_share"] > told["tried_killed_share"]
    text = succeed("walltime", "mine", "--user", "3", "--procs", "1", "--executable", "1")
    assert "of the same user, executable and processors" in text and "would have been killed" in text


def test_a_walltime_that_no_past_job_could_try_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 5 % the line on past jobs was missing without a word, where larger risks have it."""
    use_home(monkeypatch, tmp_path / "home")
    log = tmp_path / "mine.swf"
    log.write_text("; MaxProcs: 64\n" + "".join(swf_line(k, 200 * k, 0, 3600, 1, 7200, user=3) for k in range(1, 31)))
    load_source(log)
    text = succeed("walltime", "mine", "--user", "3")
    assert (
        "aiming at a risk of 5.0%" in text
        and "not tried on the user's past" in text
        and "tried on the user's last" not in text
    )
    assert "  tried on the user's last" in succeed("walltime", "mine", "--user", "3", "--risk", "30%")


def test_advice_that_cannot_be_given(busy: Path, tmp_path: Path) -> None:
    message = fail("walltime", "mine", "--user", "nobody")
    assert re.search(
        r"no job of user 'nobody' that ran: most are of (\d, ){4}\d\. `tracehouse who mine --by user`", message
    )
    message = fail("walltime", "mine", "--user", "3", "--executable", "none")
    assert "no job of executable 'none'. Expected one of 1" in message
    message = fail("walltime", "mine", "--user", "3", "--risk", "0.005")
    assert "too few for a risk of 0.005, which takes at least 249" in message


# The asset.


def test_waits_are_scored(busy: Path) -> None:
    from assets.common.storage import open_warehouse
    from assets.predictions.wait_times import wait_times

    warehouse = open_warehouse()
    tables = {}
    for _ in range(2):  # twice: the same rows
        with dg.instance_for_test() as instance:
            instance.add_dynamic_partitions("sources", ["mine"])
            done = dg.materialize(
                [wait_times], partition_key="mine", resources={"warehouse": warehouse}, instance=instance,
                run_config={"ops": {"predictions__wait_times": {"config": {"jobs": 60}}}},
            )  # fmt: skip
        assert done.success
        with warehouse.read() as connection:
            for name in ("wait_scores", "wait_predictions"):
                rows = connection.sql(f"FROM predictions.{name} ORDER BY ALL").pl()
                assert rows.equals(tables.setdefault(name, rows))
    scores = {row["predictor"]: row for row in tables["wait_scores"].to_dicts()}
    assert sorted(scores) == [
        "binomial",
        "calibrated",
        "calibrated_mean",
        "replay",
        "similar_median",
        "similar_recent",
        "zero",
    ]
    assert all(row["jobs"] == 60 for row in scores.values())
    assert scores["calibrated"]["median_absolute_error_s"] < scores["similar_recent"]["median_absolute_error_s"]
    told = json.loads(succeed(
        "sql", "SELECT count(*) AS jobs, count_if(predicted_at = submit_time AND p.wait_s = j.wait_s) AS right FROM "
        "predictions.wait_predictions AS p JOIN core.jobs AS j USING (source, job_index)", "--format", "json",
    ))  # fmt: skip
    assert told == [{"jobs": 60, "right": 60}]

    # the command shows them below the answer for a new job
    arguments = ("wait", "mine", *NEW, "--user", "3")
    answer = json.loads(succeed(*arguments, "--json"))
    assert {row["predictor"]: row for row in answer["scores"]} == {
        name: {key: value for key, value in row.items() if key != "source"} for name, row in scores.items()
    }
    lines = succeed(*arguments).splitlines()
    assert [line[:24].strip() for line in lines[-4:]] == [
        "on 60 jobs of the log", "this answer", "median of similar jobs", "starts at once",
    ]  # fmt: skip
    for line, name in zip(lines[-3:], ("calibrated", "similar_median", "zero"), strict=True):
        assert (
            duration(scores[name]["median_absolute_error_s"]) in line and f"{scores[name]['coverage_80']:.0%}" in line
        )
    job = waiting_job(busy)
    waits = succeed("wait", "mine", "--job", job["job_id"], "--at", str(job["amid_s"]))
    assert "starts at once" not in waits and "in the median" in waits


def test_help_tells_what_to_give() -> None:
    for command, option in (("wait", "--walltime"), ("walltime", "--risk")):
        text = CliRunner().invoke(main, [command, "--help"]).output
        assert option in text and "tracehouse " + command + " hpc2n" in text
