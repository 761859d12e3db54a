"""The command line, as its users meet it: what it prints, what it leaves behind, and what it says when something is wrong."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.pipelines.command_line import GOOD, call, fail, succeed, use_home
from tests.shared import shared_file

BROKEN_SWF = (
    b"; MaxProcs: 8 (two racks)\n"
    + "".join(GOOD.format(n=n) for n in range(1, 6)).encode()
    + b"1 2 3\n\x00\x00\n\xff\xfe x\n\n"
    + GOOD.format(n=7).replace(" 10 ", " ten ").encode()
    + b"8 9 10\n"
)
REJECTED = {
    "expected 18 fields, found 1": 1,
    "expected 18 fields, found 2": 1,
    "expected 18 fields, found 3": 2,
    "field 4 (runtime_s) is not a number": 1,
}

OPTIONS = {
    "sources": ["--json"],
    "run": ["--source", "--job", "--config"],
    "ingest": ["PATH", "--format", "--name", "--procs", "--time-zone", "--keep-names", "--json"],
    "export": ["SOURCE", "FILE", "--format"],
    "pseudonym": ["user", "group", "NAMES"],
    "replay": [
        "TRACE_OR_SOURCE", "--policy", "--backfill", "--estimates", "--reserve-by", "--correction", "--rules", "--window",
        "--warm-start",
        "--outages", "--cancelled", "--drop-wider", "--trim", "--procs", "--json", "--schedule", "--plots", "--save", "FCFS",
        "tetris-star", "multifactor:age=", "formula:TEXT", "FILE.py:NAME", "learned", "conservative",
    ],
    "train": [
        "--source", "--goal", "--backfill", "--estimates", "--rules", "--window-jobs", "--method", "--layout", "--start",
        "--paper", "--epochs", "--seeds", "--out", "--plot", "--json",
    ],
    "distil": ["POLICY", "--source", "--seed", "--json"],
    "compare": ["SOURCE", "RUN_A", "RUN_B", "--json"],
    "sql": ["QUERY", "--format", "--output"],
    "report": ["--source"],
    "ui": ["--host", "--port"],
}  # fmt: skip


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The second catalogue of a home with the source `mine` (BROKEN_SWF), and what ingesting it printed.

    Tests may read it, and fail to change it.
    """
    folder = tmp_path_factory.mktemp("loaded")
    with pytest.MonkeyPatch.context() as patch:
        catalogue = use_home(patch, folder / "home")
        (folder / "mine.swf").write_bytes(BROKEN_SWF)
        yield catalogue, succeed("ingest", folder / "mine.swf", "--time-zone", "Europe/Berlin")


# Help.


@pytest.mark.parametrize("command", OPTIONS)
def test_help_tells_every_option(command: str) -> None:
    text = succeed(command, "--help")
    for option in OPTIONS[command]:
        assert option in text
    told = set(re.findall(r"--[a-z-]+", text)) - {"--help"}
    assert told == {option for option in OPTIONS[command] if option.startswith("--")}
    assert command in succeed("--help")


def test_an_unknown_command_is_an_error() -> None:
    assert "No such command 'inject'" in fail("inject")


# sources.


def test_sources(catalogue: Path) -> None:
    catalogue.write_text('[sources.mine]\nformat = "pbs"\npath = "logs"\nprocs = 12\ndescription = "ours"\n')
    lines = succeed("sources").splitlines()
    assert [line.split()[0] for line in lines if line] == ["lublin-256", "campus-pbs", "mine"]
    assert re.fullmatch(r"mine +pbs +12 procs +ours", lines[2])
    rows = json.loads(succeed("sources", "--json"))
    assert rows[2] == {
        "name": "mine", "format": "pbs", "path": str(catalogue.parent / "logs"), "procs": 12,
        "time_zone": rows[2]["time_zone"], "description": "ours", "declared_at": f"{catalogue}:1",
    }  # fmt: skip


# ingest.


def test_ingest_tells_what_became_of_every_line(loaded: tuple[Path, str]) -> None:
    lines = [line.split(maxsplit=1) for line in loaded[1].splitlines()]
    assert lines == [
        ["source", "mine (8 processors, from the header)"],
        ["lines", "12"],
        ["accepted", "5"],
        ["kept", "0"],
        ["ignored", "2"],
        ["1", "blank line"],
        ["1", "comment"],
        ["rejected", "5"],
        *([str(count), reason] for reason, count in REJECTED.items()),
    ]


def test_rejected_lines_are_in_the_warehouse_as_they_stood(loaded: tuple[Path, str]) -> None:
    rows = json.loads(succeed("sql", "SELECT line, text FROM raw.rejects ORDER BY line", "--format", "json"))
    assert [(row["line"], row["text"]) for row in rows] == [
        (7, "1 2 3"),
        (8, "\0\0"),
        (9, "\\xff\\xfe x"),
        (11, GOOD.format(n=7).replace(" 10 ", " ten ").rstrip()),
        (12, "8 9 10"),
    ]


def test_ingest_again_replaces_and_json_adds_up(loaded: tuple[Path, str]) -> None:
    told = json.loads(succeed("ingest", loaded[0].parents[1] / "mine.swf", "--json", "--time-zone", "Europe/Berlin"))
    assert told == {
        "source": "mine", "lines": 12, "accepted": 5, "kept": 0, "ignored": 2, "rejected": 5,
        "kept_by_reason": {}, "ignored_by_reason": {"blank line": 1, "comment": 1}, "rejected_by_reason": REJECTED,
        "cluster_procs": 8, "cluster_procs_from": "header",
    }  # fmt: skip
    assert told["lines"] == told["accepted"] + told["kept"] + told["ignored"] + told["rejected"]
    assert sum(REJECTED.values()) == told["rejected"]
    assert json.loads(succeed("sql", "SELECT count(*)::INT AS n FROM core.jobs", "--format", "json")) == [{"n": 5}]
    assert loaded[0].read_text().count("[sources.mine]") == 1


def test_ingest_of_a_real_pbs_log(catalogue: Path) -> None:
    log = shared_file("traces", "pbs", "ncar-qhist-casper-testdata.log")
    told = json.loads(succeed("ingest", log, "--name", "casper", "--time-zone", "America/Denver", "--json"))
    assert (told["lines"], told["accepted"], told["rejected"], told["rejected_by_reason"]) == (18, 4, 0, {})
    assert told["kept_by_reason"] == {"record type Q": 8, "record type R": 1, "record type S": 5}
    assert (told["cluster_procs"], told["cluster_procs_from"]) == (6, "peak")
    (row,) = [row for row in json.loads(succeed("sources", "--json")) if row["name"] == "casper"]
    assert (row["format"], row["path"], row["time_zone"]) == ("pbs", str(log), "America/Denver")
    first = json.loads(succeed("sql", "SELECT * FROM core.jobs ORDER BY submit_time LIMIT 1", "--format", "json"))[0]
    assert first["job_id"] == "4215033.casper-pbs"
    assert first["submit_time"].startswith("2025-03-31") and "16:59:15" in first["submit_time"]  # UTC
    assert "needs 5 processors, the cluster has 2: give --procs 5" in fail("replay", "casper", "--procs", "2")
    assert "`tracehouse run --source casper`" in fail("replay", "casper", "--policy", "learned")
    assert "`tracehouse run --source casper`" in fail("replay", "casper", "--estimates", "predicted")
    assert re.search(r"^  jobs +4$", succeed("replay", "casper"), re.MULTILINE)


def test_ingest_of_a_missing_log(catalogue: Path, tmp_path: Path) -> None:
    for extra in ([], ["--format", "swf"]):
        message = fail("ingest", tmp_path / "none.swf", *extra)
        assert message.startswith(f"{tmp_path / 'none.swf'}: no such log file; check the path")
        assert catalogue.read_text() == ""


def test_ingest_of_an_empty_log(catalogue: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.swf").write_text("")
    for extra in ([], ["--format", "swf"]):
        message = fail("ingest", tmp_path / "empty.swf", *extra)
        assert str(tmp_path / "empty.swf") in message and "empty" in message.replace("empty.swf", "")
        assert catalogue.read_text() == ""


def test_ingest_of_an_unknown_format(catalogue: Path, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("job,start\n1,2\n")
    message = fail("ingest", tmp_path / "table.csv")
    assert f"{tmp_path / 'table.csv'}: unknown log format; expected SWF" in message and "--format" in message
    message = fail("ingest", tmp_path / "table.csv", "--format", "pbs")
    assert (
        f"{tmp_path / 'table.csv'}:1: not an accounting record" in message and "(2 lines read, 2 rejected)" in message
    )
    assert "'lsf' is not one of 'swf', 'pbs', 'slurm'" in fail("ingest", tmp_path / "table.csv", "--format", "lsf")
    assert catalogue.read_text() == ""


def test_ingest_on_too_few_processors(catalogue: Path) -> None:
    log = shared_file("traces", "swf", "lublin_256.swf.gz")
    catalogue.write_text("# mine\n")
    message = fail("ingest", log, "--name", "lublin", "--procs", "4")
    with gzip.open(log, "rt") as lines:  # its first job is the first of 16 processors
        line = next(i for i, text in enumerate(lines, start=1) if text.strip() and not text.startswith(";"))
    assert message.startswith(f"{log}:{line}: a job of 16 processors on a cluster of 4")
    assert "the widest 256" in message
    assert "procs" in message and "drop_wider = true" in message
    assert catalogue.read_text() == "# mine\n"  # the source that could not be loaded is not declared
    assert "lublin" not in {row["name"] for row in json.loads(succeed("sources", "--json"))}


def test_a_message_names_no_line_of_the_catalogue_that_was_taken_back(catalogue: Path, tmp_path: Path) -> None:
    """A failed ingest leaves the catalogue as it was, so a line of what it had added helps nobody."""
    (tmp_path / "a.swf").write_text(GOOD.format(n=1))
    for message in (
        fail("ingest", tmp_path / "a.swf", "--procs", "2"),
        fail("ingest", tmp_path / "a.swf", "--time-zone", "Mars"),
    ):
        assert not re.search(re.escape(str(catalogue)) + r":\d", message), message


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--name", "a b"], "bad source name 'a b': use letters"),
        (["--name", "lublin-256"], "choose another --name"),
        (["--time-zone", "Mars/Olympus"], "unknown time zone 'Mars/Olympus'"),
        (["--procs", "0"], "0 is not in the range x>=1"),
        (["--procs", "many"], "'many' is not a valid integer"),
    ],
)
def test_ingest_with_bad_options(catalogue: Path, tmp_path: Path, arguments: list[str], says: str) -> None:
    (tmp_path / "a.swf").write_text(GOOD.format(n=1))
    assert says in fail("ingest", tmp_path / "a.swf", *arguments)
    assert catalogue.read_text() == ""


@pytest.mark.parametrize(
    "line",
    [
        GOOD.format(n=2).replace("20 ", "9007199254740991 ", 1),  # a submit time beyond all calendars
        "04/05/2017 13:06:53;E;1.head;ctime=10 start=20 end=9000000000000000000 exec_host=n1/0\n",
        "04/05/2017 13:06:53;E;1.head;ctime=10 start=20 end=99999999999999999999999 exec_host=n1/0\n",
    ],
    ids=["swf", "pbs", "pbs, beyond 64 bits"],
)
def test_times_beyond_the_calendar_end_in_a_message(catalogue: Path, tmp_path: Path, line: str) -> None:
    sound = (
        "04/05/2017 13:06:53;E;2.head;ctime=10 start=20 end=30 exec_host=n1/0\n" if ";" in line else GOOD.format(n=1)
    )
    (tmp_path / "far.log").write_text(sound + line)
    result = call("ingest", tmp_path / "far.log", "--json")
    if result.exit_code == 0:  # rejecting the line is as good as refusing the file
        assert (json.loads(result.stdout)["accepted"], json.loads(result.stdout)["rejected"]) == (1, 1)
    else:
        assert f"{tmp_path / 'far.log'}:2" in result.stderr


@pytest.mark.parametrize(
    "command", [["sources"], ["run"], ["replay", "mine"], ["ingest", "a.swf"], ["ui"]], ids=" ".join
)
def test_a_faulty_catalogue_is_told_by_every_command(catalogue: Path, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "a.swf").write_text(GOOD.format(n=1))
    text = '[sources.mine]\nformat = "swf"\npath = "x"\nproc = 8\n'
    catalogue.write_text(text)
    command = [str(tmp_path / word) if word.endswith(".swf") else word for word in command]
    assert fail(*command).startswith(f"{catalogue}:4: [sources.mine] unknown key 'proc'; expected one of")
    assert catalogue.read_text() == text


# sql.

QUERY = "SELECT job_id, procs, wait_s, user_name FROM core.jobs ORDER BY job_index LIMIT 2"
ROWS = [
    {"job_id": "1", "procs": 4, "wait_s": 5, "user_name": "1"},
    {"job_id": "2", "procs": 4, "wait_s": 5, "user_name": "1"},
]


def test_sql_before_there_is_a_warehouse(catalogue: Path) -> None:
    message = fail("sql", "SELECT 1")
    assert "tracehouse.duckdb: no warehouse yet; make one with `tracehouse run` or `tracehouse ingest`" in message


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


# report.


def test_report_before_anything_was_evaluated(loaded: tuple[Path, str]) -> None:
    assert fail("report") == "no source has been evaluated yet: `tracehouse run`\n"
    message = fail("report", "--source", "mine")
    assert message == "source 'mine' has not been evaluated yet: `tracehouse run --source mine`\n"


def test_report_before_there_is_a_warehouse(catalogue: Path) -> None:
    assert "no warehouse yet" in fail("report")


# run.


def test_run_with_faults(catalogue: Path, tmp_path: Path) -> None:
    assert "unknown source 'nosuch'; known sources: lublin-256, campus-pbs." in fail("run", "-s", "nosuch")
    assert "'nothing' is not one of" in fail("run", "--job", "nothing")
    assert "none.yaml' does not exist" in fail("run", "--config", tmp_path / "none.yaml")
    config = tmp_path / "config.yaml"
    for text, says in (("a: [1\n", "not valid YAML"), ("- 1\n", "expected a mapping")):
        config.write_text(text)
        assert re.search(rf"{re.escape(str(config))}: {says}", fail("run", "-s", "lublin-256", "--config", config))


def test_run_with_a_configuration_that_dagster_refuses_ends_in_a_message(catalogue: Path, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("ops: {no_such_step: {config: {}}}\n")
    assert "no_such_step" in fail(
        "run", "-s", "lublin-256", "--job", "ingest", "--config", tmp_path / "config.yaml"
    )  # fmt: skip
