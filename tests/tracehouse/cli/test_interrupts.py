"""Tests of tracehouse/cli: interrupts, commands/sql."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import polars as pl
import pytest

from assets.common.storage import open_warehouse
from tests.pipelines.command_line import call, fail, on_terminal, succeed
from tracehouse.cli.interrupts import INTERRUPTED, STUCK_S, Interrupted, one_line_after_ctrl_c, watch_for_ctrl_c

# interrupts: Ctrl-C as a terminal sends it, to processes of their own: one line, status 130, no traceback.

BEGINNING = "import sys, time\nfrom tracehouse.cli.interrupts import one_line_after_ctrl_c, watch_for_ctrl_c\nwatch_for_ctrl_c()\n"
SWALLOWS = """
def run():
    print('ready', flush=True)
    try:
        time.sleep(60)
    except BaseException:
        pass
"""
PLACES = {
    "plain": "print('ready', flush=True)\ntime.sleep(60)",
    "query": "import duckdb\nprint('ready', flush=True)\nduckdb.sql('SELECT count(*) FROM range(9999999) a, range(9999999) b').fetchall()",
    "bar": "from tqdm import tqdm\nprint('ready', flush=True)\nfor _ in tqdm(range(6000)): time.sleep(0.01)",
}


def _interrupted(code: str, *, times: int = 1) -> tuple[int, str]:
    """Exit status and standard error of code that prints a line when it is ready, and is interrupted then."""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    for _ in range(times):
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=20)
    finally:
        process.kill()  # else one that hangs computes for ever
    return process.returncode, errors


@pytest.mark.parametrize("place", PLACES)
def test_one_line_wherever_it_comes(place: str) -> None:
    work = "".join(f"        {line}\n" for line in PLACES[place].splitlines())
    code = f"{BEGINNING}import click\n@click.command()\ndef main():\n    with one_line_after_ctrl_c():\n{work}main()\n"
    status, errors = _interrupted(code)
    assert (status, errors.splitlines()[-1]) == (130, "interrupted"), errors
    assert "Traceback" not in errors


def test_an_import_that_swallows_it(tmp_path: Path) -> None:
    """Some packages catch everything while they are imported."""
    (tmp_path / "swallows.py").write_text(f"import time\n{SWALLOWS}run()\n")
    status, errors = _interrupted(
        f"{BEGINNING}sys.path.insert(0, {str(tmp_path)!r})\nimport swallows\ntime.sleep(60)\n"
    )
    assert (status, errors) == (130, "\ninterrupted\n")


def test_the_second_time_it_ends_at_once() -> None:
    status, errors = _interrupted(f"{BEGINNING}{SWALLOWS}run()\ntime.sleep(60)\n", times=2)
    assert (status, errors) == (130, "\ninterrupted\n")


@pytest.mark.parametrize(("times", "seconds"), [(1, STUCK_S), (2, 0.0)])
def test_compiled_code_that_never_looks_is_ended(times: int, seconds: float) -> None:
    """As a query of DuckDB may do. Here a lock is taken twice, which no signal interrupts."""
    stuck = (
        "import ctypes\nlock = ctypes.create_string_buffer(64)\ntake = ctypes.CDLL(None).pthread_mutex_lock\ntake(lock)\n"
        "print('ready', flush=True)\ntake(lock)\n"
    )
    begun = time.monotonic()
    status, errors = _interrupted(BEGINNING + stuck, times=times)
    assert (status, errors) == (130, "\ninterrupted\n") and time.monotonic() - begun > seconds


def test_a_forked_process_that_is_interrupted_leaves_its_parent_alone() -> None:
    """Two are, since the second Ctrl-C ends a process at once."""
    fork = "import os, signal\nfor _ in range(2):\n    child = os.fork()\n    if not child:\n        time.sleep(60)\n"
    interrupt = "    time.sleep(0.2)\n    os.kill(child, signal.SIGINT)\n    print(os.waitpid(child, 0)[0] == child)\n"
    code = f"{BEGINNING}{fork}{interrupt}time.sleep(0.5)\nprint('goes on')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout) == (0, "True\nTrue\ngoes on\n"), done.stderr


def test_errors_without_ctrl_c_pass() -> None:
    with pytest.raises(RuntimeError, match="a fault"), one_line_after_ctrl_c():
        raise RuntimeError("a fault")


def test_what_a_library_makes_of_it_is_an_interrupt() -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        watch_for_ctrl_c()
        with pytest.raises(Interrupted) as ended, one_line_after_ctrl_c():
            _interrupted_query()
        assert isinstance(ended.value, click.ClickException) and ended.value.exit_code == INTERRUPTED == 130
    finally:
        watch_for_ctrl_c()  # forgets it
        signal.signal(signal.SIGINT, before)


def _interrupted_query() -> None:
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        raise RuntimeError("Query interrupted") from None


# query: `tracehouse sql`: every format and type of values, and nothing but reading.

QUERY = "SELECT job_id, procs, wait_s, user_name FROM core.jobs ORDER BY job_index LIMIT 2"
ROWS = [
    {"job_id": "1", "procs": 4, "wait_s": 5, "user_name": "1"},
    {"job_id": "2", "procs": 4, "wait_s": 5, "user_name": "1"},
]


def test_sql_before_there_is_a_warehouse(catalogue: Path) -> None:
    message = fail("sql", "SELECT 1")
    assert "tracehouse.duckdb: no warehouse yet: make one with `tracehouse run` or `tracehouse ingest`" in message


@pytest.mark.parametrize("to_file", [False, True])
@pytest.mark.parametrize("output_format", ["table", "csv", "json", "parquet"])
def test_sql_prints_or_writes_every_format(
    loaded: tuple[Path, str], tmp_path: Path, output_format: str, to_file: bool
) -> None:
    out = tmp_path / "out"
    result = call("sql", QUERY, "--format", output_format, *(["--output", out] if to_file else []))
    assert result.exit_code == 0, result.stderr
    content = out.read_bytes() if to_file else result.stdout_bytes
    if to_file:
        assert result.stdout == ""
    if output_format == "table":
        words = re.findall(r"\w+", content.decode())
        assert words == [*ROWS[0], *(str(value) for row in ROWS for value in row.values()), "2", "rows"]
    elif output_format == "csv":
        expected = [{key: str(value) for key, value in row.items()} for row in ROWS]
        assert list(csv.DictReader(io.StringIO(content.decode()))) == expected
    elif output_format == "json":
        assert json.loads(content) == ROWS
    else:
        assert pl.read_parquet(io.BytesIO(content)).to_dicts() == ROWS


def test_sql_of_no_rows(loaded: tuple[Path, str]) -> None:
    empty = f"SELECT * FROM ({QUERY}) WHERE false"
    assert "(0 rows)" in succeed("sql", empty)
    assert succeed("sql", empty, "--format", "csv") == "job_id,procs,wait_s,user_name\n"
    assert json.loads(succeed("sql", empty, "--format", "json")) == []


@pytest.mark.parametrize("output_format", ["table", "csv", "json"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT list(procs) AS several FROM core.jobs",
        "SELECT {'procs': 4} AS pair",
        "SELECT max(end_time) - min(submit_time) AS span FROM core.jobs",
        "SELECT min(submit_time) AS first, DATE '2026-01-01' AS day, 1.5::DECIMAL(5, 2) AS price, NULL AS nothing FROM core.jobs",
        "SELECT 'ÿ\n\"' AS odd, 'a,b' AS comma",
    ],
)
def test_sql_of_values_of_any_type_prints_or_ends_in_a_message(
    loaded: tuple[Path, str], query: str, output_format: str
) -> None:
    result = call("sql", query, "--format", output_format)
    assert result.exit_code == 0 or "Error: " in result.stderr


def test_sql_sums_are_numbers_in_json(loaded: tuple[Path, str]) -> None:
    """DuckDB's sum of whole numbers has 128 bits; a program that reads the JSON expects a number all the same."""
    assert json.loads(succeed("sql", "SELECT sum(procs) AS n FROM core.jobs", "--format", "json")) == [{"n": 20}]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("SELEC 1", "syntax error"),
        ("SELECT nope FROM core.jobs", '"nope" not found'),
        ("FROM core.jobz", "jobz does not exist"),
        ("SELECT 1 + 'x'", "SQL: "),
    ],
)
def test_sql_with_faults(loaded: tuple[Path, str], query: str, says: str) -> None:
    message = fail("sql", query)
    assert message.startswith("SQL: ") and says in message


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO core.sources (source) VALUES ('x')",
        "UPDATE core.jobs SET procs = 1",
        "DELETE FROM core.jobs",
        "CREATE TABLE x (a INTEGER)",
        "DROP TABLE core.jobs",
        "SELECT 1; DELETE FROM core.jobs",
    ],
)
def test_sql_only_reads(loaded: tuple[Path, str], statement: str) -> None:
    assert "read-only" in fail("sql", statement)
    assert json.loads(succeed("sql", QUERY, "--format", "json")) == ROWS


def test_sql_output_that_cannot_be_written_ends_in_a_message(loaded: tuple[Path, str], tmp_path: Path) -> None:
    for output_format in ("csv", "parquet"):
        out = tmp_path / "none" / "out"
        assert str(out.parent) in fail("sql", QUERY, "--format", output_format, "--output", out)


WRITING = [
    "COPY (SELECT 1) TO '{home}/stolen.csv'",
    "COPY (SELECT 1) TO '{database}'",
    "COPY (SELECT 1) TO '{database}' (USE_TMP_FILE false)",
    "COPY (SELECT 1) TO '{database}.wal'",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{database}.wal'",
    "PREPARE p AS COPY (SELECT 1) TO '{database}.wal'",
    "SELECT 1; COPY (SELECT 1) TO '{database}.wal'; SELECT 2",
    "COPY (PIVOT core.jobs ON status USING count(*)) TO '{database}.wal'",
    "EXPORT DATABASE '{home}/all'",
    "ATTACH '{home}/other.duckdb' AS other",
    "DELETE FROM core.jobs",
    "DROP TABLE core.jobs",
    "CREATE TABLE core.more AS SELECT 1",
    "PRAGMA import_database('{home}')",
    "INSTALL httpfs",
    "LOAD httpfs",
]
READING_ELSEWHERE = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('{home}/catalogue.toml')",
    "SELECT * FROM glob('/etc/*')",
    "FROM '{home}/other.csv'",
    "FROM 'https://example.com/a.csv'",
    "SET enable_external_access = true",
    "SET lock_configuration = false; SELECT * FROM read_text('/etc/passwd')",
]


@pytest.mark.parametrize("query", WRITING + READING_ELSEWHERE)
def test_sql_neither_writes_nor_reads_files(loaded: tuple[Path, str], tmp_path: Path, query: str) -> None:
    """COPY to the warehouse's own file destroyed it."""
    database = open_warehouse().path
    (tmp_path / "other.csv").write_text("a\n1\n")
    content, there = database.read_bytes(), sorted(database.parent.iterdir())
    message = fail("sql", query.format(home=tmp_path, database=database))
    assert message.startswith("SQL: ") and "Traceback" not in message
    assert database.read_bytes() == content and sorted(database.parent.iterdir()) == there
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(("stolen", "all"))) == []
    assert json.loads(succeed("sql", "SELECT count(*) AS jobs FROM core.jobs", "--format", "json"))[0]["jobs"] > 0


def test_sql_reads_the_files_of_one_folder(loaded: tuple[Path, str], tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "projects.csv").write_text("user_name,project\n1,climate\n")
    (tmp_path / "secret.csv").write_text("a\n1\n")
    query = f"SELECT DISTINCT project FROM core.jobs JOIN '{tmp_path}/given/projects.csv' USING (user_name)"
    assert "--files" in fail("sql", query)
    rows = json.loads(succeed("sql", query, "--files", tmp_path / "given", "--format", "json"))
    assert rows == [{"project": "climate"}]
    for beside in ("secret.csv", "given/../secret.csv"):
        assert "disabled" in fail("sql", f"FROM '{tmp_path}/{beside}'", "--files", tmp_path / "given")


def test_sql_still_takes_what_only_reads(loaded: tuple[Path, str]) -> None:
    for query in (
        "DESCRIBE core.jobs",
        "EXPLAIN SELECT * FROM core.jobs",
        "PIVOT core.jobs ON status USING count(*)",
        "SET VARIABLE least = 2; FROM core.jobs WHERE procs >= getvariable('least')",
        "CREATE TEMP TABLE few AS FROM core.jobs LIMIT 2; FROM few",
    ):
        succeed("sql", query, "--format", "csv")


def test_sql_writes_no_result_over_what_tracehouse_keeps(loaded: tuple[Path, str]) -> None:
    database = open_warehouse().path
    content = database.read_bytes()
    assert "its own files" in fail("sql", "SELECT 1", "-o", database)
    assert database.read_bytes() == content


def test_a_table_steers_no_terminal_and_data_stays_as_it_is(loaded: tuple[Path, str], tmp_path: Path) -> None:
    query = "SELECT chr(27) || ']0;mine' || chr(7) AS job_name"
    assert "\\x1b]0;mine\\x07" in succeed("sql", query) and "\x1b" not in succeed("sql", query)
    assert succeed("sql", query, "--format", "csv") == "job_name\n\x1b]0;mine\x07\n"
    assert "\x1b" not in succeed("sql", query, "--format", "json")
    assert json.loads(succeed("sql", query, "--format", "json")) == [{"job_name": "\x1b]0;mine\x07"}]


def test_several_statements_are_all_shown(loaded: tuple[Path, str]) -> None:
    text = succeed("sql", "SELECT 1 AS a; SET VARIABLE least = 7; SELECT 2 AS b; SELECT getvariable('least') AS c")
    assert re.findall(r"\w+", text) == ["a", "1", "1", "row", "b", "2", "1", "row", "c", "7", "1", "row"]


@pytest.mark.parametrize("output_format", ["csv", "json", "parquet"])
def test_several_tables_do_not_go_into_one_file(loaded: tuple[Path, str], output_format: str) -> None:
    message = fail("sql", "SELECT 1; SELECT 2", "--format", output_format)
    assert message.startswith("SQL: 2 statements give 2 tables, and this holds one: give one statement")


def test_binary_goes_to_no_terminal(loaded: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch, 80)
    for arguments in ((), ("-o", "-")):
        message = fail("sql", "SELECT 1", "--format", "parquet", *arguments)
        assert message == "parquet is binary: give the name of a file, or send it into a file or a pipe\n"


def test_a_dash_is_standard_output(loaded: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert succeed("sql", "SELECT 1 AS a", "--format", "csv", "-o", "-") == "a\n1\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_a_table_fits_the_terminal(loaded: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    on_terminal(monkeypatch, columns)
    for query in (
        "FROM core.jobs",
        "SELECT repeat('long ', 90) AS text",
        "EXPLAIN FROM core.jobs",
        "SELECT 1 AS " + "x" * 150,
    ):
        text = succeed("sql", query)
        assert max(map(len, text.splitlines())) <= columns
    text = " ".join(succeed("sql", "FROM core.jobs").split())
    assert re.search(r"columns are left out, from \w+ on: name those you need", text)
    assert "texts are cut" in succeed("sql", "SELECT repeat('long ', 90) AS text")


def test_many_rows_on_a_terminal(loaded: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    piped = succeed("sql", "FROM range(300)")
    assert "│ 299" in piped and piped.endswith("(300 rows)\n")
    on_terminal(monkeypatch, 80)
    shown = succeed("sql", "FROM range(300)")
    assert "│ 199" in shown and "│ 200" not in shown and shown.endswith("(300 rows, the first 200 are shown)\n")


def test_nothing_is_cut_in_a_pipe(loaded: tuple[Path, str]) -> None:
    columns = ", ".join(f"repeat('x', 300) || {k} AS c{k}" for k in range(70))
    text = succeed("sql", f"SELECT {columns}")
    assert all(f"{'x' * 300}{k} " in text for k in range(70)) and "…" not in text


def test_infinite_and_far_dates_are_texts(loaded: tuple[Path, str]) -> None:
    """Polars panics at them, in a table, a file and a list."""
    dates = "DATE 'infinity' AS a, TIMESTAMP '290000-01-01' AS b, [TIMESTAMPTZ '-infinity'] AS c, {d: DATE '-infinity'} AS d"
    query = f"SELECT {dates}, TIMESTAMP_S 'infinity' AS e, TIMESTAMP_MS '-infinity' AS f, DATE '2026-03-01' AS g"
    written = json.loads(succeed("sql", query, "--format", "json"))
    expected = {"a": "infinity", "b": "290000-01-01 00:00:00", "c": "[-infinity]", "d": "{'d': -infinity}"}
    assert written == [expected | {"e": "infinity", "f": "-infinity", "g": "2026-03-01"}]
    for output_format in ("table", "csv", "parquet"):
        assert call("sql", query, "--format", output_format).exit_code == 0
