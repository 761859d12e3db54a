"""`tracehouse queue`, as its users meet it."""

from __future__ import annotations

import gzip
import json
import lzma
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from tests.conftest import Home
from tests.pipelines.command_line import fail, succeed
from tests.tiny import SOURCE, busy_log
from tracehouse.app.queue_page import queue_page
from tracehouse.cli.main import main
from tracehouse.cli.queue_text import _shortener
from tracehouse.queue import _long_line

NOW = 1_781_450_000


def job(job_id: int, **fields: Any) -> dict[str, Any]:
    return {
        "job_id": job_id, "job_state": ["PENDING"], "state_reason": "Priority", "user_name": "8", "partition": "batch", "cpus": 4,
        "time_limit": 60, "submit_time": NOW - 3600 + job_id, "start_time": 0,
    } | fields  # fmt: skip


def write(folder: Path, *jobs: Any) -> Path:
    path = folder / "queue.json"
    path.write_text(json.dumps({"last_update": NOW, "jobs": jobs}))
    return path


@pytest.fixture
def queue_file(tmp_path: Path) -> Path:
    running = job(1, job_state=["RUNNING"], cpus=60, start_time=NOW - 600)
    return write(
        tmp_path,
        running,
        job(2, cpus=64),
        job(3, time_limit=30),
        job(4, hold=True),
        job(5, cpus=100_000),
        job(6, cpus=0),
    )


@pytest.fixture(autouse=True)
def _home(finished: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRACEHOUSE_HOME", "TRACEHOUSE_SOURCES"):
        monkeypatch.setenv(name, finished.environment()[name])


def test_every_waiting_job_gets_a_start_or_a_reason(queue_file: Path, tmp_path: Path) -> None:
    arguments = (
        "queue",
        SOURCE,
        queue_file,
        "--samples",
        "20",
        "--policy",
        "SJF",
        "--format",
        "json",
        "--out",
        tmp_path / "o.json",
    )
    succeed(*arguments)
    answer = json.loads((tmp_path / "o.json").read_text())
    rows = {row["job"]: row for row in answer["jobs"]}
    assert list(rows) == ["2", "3", "5", "4"]
    assert rows["4"]["not_predicted"] == "held" and rows["5"]["not_predicted"].startswith("wider than the cluster of ")
    for name in ("2", "3"):
        row = rows[name]
        assert 0 <= row["start_p10_s"] <= row["start_p50_s"] <= row["start_p90_s"] and row["waited_s"] == 3600 - int(
            name
        )
        assert row["change_s"] == row["rival_start_p50_s"] - row["start_p50_s"]
    assert (
        rows["3"]["start_p50_s"] <= 1 < rows["2"]["start_p50_s"]
    )  # beside the running job there is room for 4, not for 64
    assert "6 jobs read: 1 running, 3 waiting, 1 held, 1 left out for a fault" in answer["lines"][0]
    assert "job 6: expected a number of processors above 0" in answer["lines"][1]
    assert any(line.startswith("under SJF with backfilling") for line in answer["lines"])
    first = (tmp_path / "o.json").read_text()
    succeed(*arguments)
    assert (tmp_path / "o.json").read_text() == first


def test_intervals_that_are_too_long_are_said() -> None:
    day_s = 86_400.0
    quantiles = np.array([[0.0, 1.0, 7 * day_s], [0.0, day_s, 8 * day_s]])
    assert _long_line(quantiles) == ["1 of 2 intervals are longer than a week, which is too long to tell a user"]
    assert _long_line(quantiles[:1]) == []


def test_the_table_and_csv(queue_file: Path, tmp_path: Path) -> None:
    text = succeed("queue", SOURCE, queue_file, "--samples", "10")
    assert "80 % interval" in text and "change" not in text and "nobody comes later" in text
    succeed("queue", SOURCE, queue_file, "--samples", "10", "--format", "csv", "--out", tmp_path / "o.csv")
    assert pl.read_csv(tmp_path / "o.csv").columns[:4] == ["job", "user", "queue", "procs"]


def test_standard_input_and_a_command_of_the_catalogue(
    finished: Home, queue_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = CliRunner().invoke(main, ["queue", SOURCE, "-", "--samples", "10"], input=queue_file.read_text())
    assert told.exit_code == 0 and "6 jobs read" in told.output
    assert 'set queue_command = "squeue --json"' in fail("queue", SOURCE)
    code = f"print(open({str(queue_file)!r}).read())"
    catalogue = tmp_path / "sources.toml"
    command = shlex.join([sys.executable, "-c", code])
    catalogue.write_text(
        (finished.folder / "sources.toml")
        .read_text()
        .replace("procs = 64", f"procs = 64\nqueue_command = {json.dumps(command)}", 1)
    )
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(catalogue))
    assert "6 jobs read" in succeed("queue", SOURCE, "--samples", "10")


def test_a_packed_queue_is_read_as_a_packed_log_is(queue_file: Path, tmp_path: Path) -> None:
    """It was refused as no UTF-8 text."""
    plain = succeed("queue", SOURCE, queue_file, "--samples", "10")
    for name, pack in (("squeue.json.gz", gzip.compress), ("squeue.json.xz", lzma.compress)):
        folder = tmp_path / name.rpartition(".")[2]
        folder.mkdir()
        (folder / name).write_bytes(pack(queue_file.read_bytes()))
        for given in (folder / name, folder):
            assert succeed("queue", SOURCE, given, "--samples", "10").splitlines()[3:] == plain.splitlines()[3:]
    (folder / name).write_bytes(lzma.compress(queue_file.read_bytes())[:-40])
    assert "damaged .xz file" in fail("queue", SOURCE, folder)


def test_what_is_no_queue(tmp_path: Path) -> None:
    assert "no-such.json: no such file" in fail("queue", SOURCE, tmp_path / "no-such.json")
    (tmp_path / "q.json").write_text("[]")
    assert "q.json: expected the JSON that `squeue --json`" in fail("queue", SOURCE, tmp_path / "q.json")


def test_a_source_without_a_run_time_model(queue_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of fewer than 300 jobs has none, and `run --job train` passes it over."""
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.delenv("TRACEHOUSE_SOURCES")
    (tmp_path / "small.swf").write_text(busy_log(60, procs=64))
    succeed("ingest", tmp_path / "small.swf", "--name", "small", "--procs", "64")
    succeed("queue", "small", queue_file, "--samples", "10", "--format", "json", "--out", tmp_path / "o.json")
    answer = json.loads((tmp_path / "o.json").read_text())
    text = answer["lines"][-1]
    assert "run times by jobs of the same user and others alike that have ended" in text
    assert "small has no run-time model: 60 jobs with a known run time are too few to learn from, at least 300" in text
    assert "--job train" not in text, "training would pass the source over"
    assert "small' has no run-time model: 60 jobs with a known run time are too few" in fail("models", "small")
    rows = {row["job"]: row for row in answer["jobs"]}
    assert rows["3"]["start_p50_s"] <= 1 < rows["2"]["start_p50_s"]


def test_a_wait_and_a_walltime_without_a_run_time_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the queue: by jobs alike that have ended, and by what jobs request."""
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.delenv("TRACEHOUSE_SOURCES")
    (tmp_path / "small.swf").write_text(busy_log(60, days=1))
    succeed("ingest", tmp_path / "small.swf", "--name", "small", "--procs", "16")
    asked = ("wait", "small", "--procs", "4", "--walltime", "2h", "--samples", "20")
    answer = json.loads(succeed(*asked, "--json"))
    assert answer["basis"] == (
        "run times are by jobs of the same user and others alike that have ended, or by what jobs request: 60 jobs with a known run "
        "time are too few to learn from, at least 300 are needed"
    )
    assert answer["waiting_jobs"] > 0 and 0 <= answer["wait_p10_s"] <= answer["wait_p50_s"] <= answer["wait_p90_s"]
    assert answer["wait_p90_s"] > 0
    text = " ".join(succeed(*asked).split())
    assert "Run times are by jobs of the same user" in text and "--job train" not in text
    advice = json.loads(succeed("walltime", "small", "--user", "8", "--json"))
    request = "SELECT max(requested_walltime_s) AS s, count(*) AS jobs FROM core.jobs WHERE user_name = '8'"
    (row,) = json.loads(succeed("sql", request, "--format", "json"))
    assert (advice["walltime_s"], advice["jobs"], advice["keeps_risk"]) == (-(-row["s"] // 60) * 60, row["jobs"], None)
    text = succeed("walltime", "small", "--user", "8")
    assert f"the longest that these jobs requested or ran: the user has {row['jobs']} ended jobs, too few" in text
    assert "aiming at a risk" not in text
    assert "has no job of user 'nobody'" in fail("walltime", "small", "--user", "nobody")


def test_jobs_that_limits_keep_have_a_start_and_a_word(tmp_path: Path) -> None:
    path = write(tmp_path, job(1), job(2, state_reason="QOSMaxCpuPerUserLimit"))
    text = succeed("queue", SOURCE, path, "--samples", "10")
    assert "2 waiting (1 of them kept by a limit), 0 held" in text and "as the queue says itself" in text
    assert "kept by a limit, which these starts do not know" in " ".join(text.split())


def test_nobody_waits(tmp_path: Path) -> None:
    assert "no job waits for processors" in succeed("queue", SOURCE, write(tmp_path, job(1, hold=True)))


def test_times_of_different_years_have_their_year() -> None:
    rows = pl.DataFrame({"start_p10": ["Sun 2026-11-01 06:00"], "start_p50": ["Sun 2026-11-01 07:00"]})
    assert _shortener(rows)(rows["start_p10"]) == ["11-01 06:00"]
    later = rows.with_columns(start_p90=pl.lit("Fri 2027-01-01 06:00"))
    assert _shortener(later)(later["start_p90"]) == ["2027-01-01 06:00"]
    seconds = pl.DataFrame({"start_p50": ["second 5", None]})
    assert _shortener(seconds)(seconds["start_p50"]) == ["second 5", ""]


def test_the_jobs_of_one_user(tmp_path: Path) -> None:
    path = write(tmp_path, job(1, cpus=2), job(2, cpus=3, user_name="9"))
    answer = json.loads(succeed("queue", SOURCE, path, "--samples", "10", "--user", "9", "--json").partition("\n")[0])
    assert [row["job"] for row in answer["jobs"]] == ["2"] and answer["moment"].startswith(f"{SOURCE}, ")
    text = succeed("queue", SOURCE, path, "--samples", "10", "--user", "nobody")
    assert "no job of nobody waits" in text and "0 rows" not in text


def test_a_message_of_the_day_is_one_line(queue_file: Path, tmp_path: Path) -> None:
    (line,) = succeed("queue", SOURCE, queue_file, "--samples", "10", "--format", "line").splitlines()
    assert ": 2 jobs wait, half of them start by " in line and line.endswith(", of 2 more nobody knows")
    nobody = succeed("queue", SOURCE, write(tmp_path, job(1, hold=True)), "--format", "line")
    assert nobody.endswith(": no job waits that is known to start\n")


def test_the_page_has_a_bar_for_each_job_that_starts(queue_file: Path, tmp_path: Path) -> None:
    page = tmp_path / "queue.html"
    succeed("queue", SOURCE, queue_file, "--samples", "20", "--page", page)
    text = page.read_text()
    assert text.count("<i\n") == 2 and "wider than the cluster of" in text and "held" in text
    widths = [float(width) for width in re.findall(r"width:([0-9.]+)%", text)]
    assert len(widths) == 2 and max(widths) <= 100 and 'http-equiv="refresh"' not in text
    rows = pl.DataFrame(
        {
            "job": ["<b>"],
            "user": [None],
            "procs": [4],
            "waited_s": [9],
            "requested_s": [None],
            "not_predicted": ["held"],
        }
    )
    plain = queue_page("mine", ["mine: <i>"], rows, every_s=60)
    assert "&lt;b&gt;" in plain and "mine: &lt;i&gt;" in plain and '<meta http-equiv="refresh" content="60">' in plain


def test_a_watch_asks_again_and_outlives_a_fault(
    queue_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times: list[float] = []

    def sleep(seconds: float) -> None:
        times.append(seconds)
        if len(times) == 1:
            queue_file.write_text("{")
        if len(times) == 2:
            write(tmp_path, job(1))
        if len(times) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("tracehouse.cli.commands.queue.time.sleep", sleep)
    arguments = ["queue", SOURCE, str(queue_file), "--samples", "10", "--watch", "30", "--out", str(tmp_path / "o.txt")]
    told = CliRunner().invoke(main, arguments)
    assert times == [30.0] * 3 and told.exit_code != 0
    assert "The next answer is asked for in 30 s" in told.output
    assert "1 job read: 0 running, 1 waiting" in (tmp_path / "o.txt").read_text()
    assert "standard input ends" in fail("queue", SOURCE, "-", "--watch", "30")
