"""Tests of tracehouse/cli/commands: ingest, sources, health, pseudonym.

`tracehouse sources` and `ingest`: what they print, what they leave behind, and what they say when something is wrong.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.pipelines.command_line import GOOD, call, fail, in_brief, succeed, use_home
from tests.shared import shared_file
from tests.tiny import swf_line
from tests.tracehouse.conftest import REJECTED
from tracehouse.cli.main import main
from tracehouse.ingesting import lacks_zone
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import bundled_cluster, cluster_path
from traces.cluster.notes import DescribedCluster
from traces.cluster.toml_writing import cluster_toml


def test_sources(catalogue: Path) -> None:
    catalogue.write_text('[sources.mine]\nformat = "pbs"\npath = "logs"\nprocs = 12\ndescription = "ours"\n')
    lines = succeed("sources").splitlines()
    assert [line.split()[0] for line in lines if line] == ["birch", "larch", "mine"]
    assert re.fullmatch(r"mine +pbs +12 procs +ours", lines[2])
    rows = json.loads(succeed("sources", "--json"))
    assert rows[2] == {
        "name": "mine", "format": "pbs", "path": str(catalogue.parent / "logs"), "procs": 12,
        "time_zone": None, "cluster": [], "description": "ours", "declared_at": f"{catalogue}:1",
    }  # fmt: skip


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
        ["where", "tracehouse sql \"FROM raw.rejects WHERE source = 'mine'\""],
    ]


def test_where_is_not_said_without_rejected_lines(catalogue: Path, tmp_path: Path) -> None:
    (tmp_path / "good.swf").write_text(swf_line(1, 0, 0, 10, 2))
    assert "raw.rejects" not in succeed("ingest", tmp_path / "good.swf", "--procs", "8")


def test_rejected_lines_are_in_the_warehouse_as_they_stood(loaded: tuple[Path, str]) -> None:
    where = loaded[1].splitlines()[-1].partition('"')[2].removesuffix('"')
    rows = sorted(json.loads(succeed("sql", where, "--format", "json")), key=lambda row: row["line"])
    assert {row["file"] for row in rows} == {"mine.swf"}
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
        "repeats_by_reason": {}, "unknown_columns": [], "cluster_procs": 8, "cluster_procs_from": "header", "peak_procs": 4,
        "time_zone": "Europe/Berlin", "time_zone_from": "catalogue", "cluster": [],
    }  # fmt: skip
    assert told["lines"] == told["accepted"] + told["kept"] + told["ignored"] + told["rejected"]
    assert sum(REJECTED.values()) == told["rejected"]
    assert json.loads(succeed("sql", "SELECT count(*)::INT AS n FROM core.jobs", "--format", "json")) == [{"n": 5}]
    assert loaded[0].read_text().count("[sources.mine]") == 1


def test_another_log_takes_a_name_only_when_asked_to(
    loaded: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, the jobs of the log that had the name were gone without a word."""
    shutil.copytree(loaded[0].parent, tmp_path / "home")  # other tests read that home
    sources = use_home(monkeypatch, tmp_path / "home")
    other = tmp_path / "other.swf"
    other.write_text(swf_line(1, 0, 0, 10, 2) + swf_line(2, 5, 0, 10, 2))
    catalogue, jobs = sources.read_text(), succeed("sql", "FROM core.jobs ORDER BY job_index", "--format", "csv")
    message = fail("ingest", other, "--name", "mine", "--procs", "8")
    assert "'mine' is the log" in message and "mine.swf" in message and "--replace" in message
    assert sources.read_text() == catalogue
    assert succeed("sql", "FROM core.jobs ORDER BY job_index", "--format", "csv") == jobs
    succeed("ingest", other, "--name", "mine", "--procs", "8", "--replace")
    assert json.loads(succeed("sql", "SELECT count(*)::INT AS n FROM core.jobs", "--format", "json")) == [{"n": 2}]


def test_ingest_says_where_more_was_in_use_than_there_is(catalogue: Path, tmp_path: Path) -> None:
    log = tmp_path / "small.swf"
    log.write_text("; MaxProcs: 6\n" + swf_line(1, 0, 0, 10, 4) + swf_line(2, 5, 0, 10, 4))
    done = call("ingest", log, "--name", "small")
    assert "up to 8 processors were in use at a time, and the header says 6: give --procs" in done.stderr
    assert "were in use at a time" not in call("ingest", log, "--name", "small", "--procs", "8").stderr


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
    assert "`tracehouse run casper`" in fail("replay", "casper", "--policy", "learned")
    assert "`tracehouse run casper`" in fail("replay", "casper", "--estimates", "predicted")
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
    assert (
        f"{tmp_path / 'table.csv'}: unknown log format. " in message
        and "Expected SWF" in message
        and "--format" in message
    )
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
        (["--name", "birch"], "choose another --name"),
        (["--time-zone", "Mars/Olympus"], "unknown time zone 'Mars/Olympus'"),
        (["--procs", "0"], "0 is not in the range 1<=x<=1000000000"),
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


SACCT = "JobID|User|Submit|Start|End|NCPUS|State"
SACCT_LINE = "{n}|ann|2024-01-15T10:00:00|2024-01-15T10:0{n}:00|2024-01-15T11:00:00|4|COMPLETED\n"


def test_columns_of_a_slurm_log_are_named_once(catalogue: Path, tmp_path: Path) -> None:
    """Before, they could be named in the catalogue alone, and `ingest` took the entry away when it failed for want of them."""
    log = tmp_path / "alps.psv"
    log.write_text("".join(SACCT_LINE.format(n=n) for n in (1, 2)))
    assert "name their columns with `--columns" in fail("ingest", log, "--time-zone", "UTC")
    assert "its columns (`--columns`)" in fail("ingest", log, "--format", "slurm")
    assert "and the format of this one is pbs" in fail("ingest", log, "--format", "pbs", "--columns", "JobID,User")
    assert "no column JobID among user: correct `--columns`" in fail("ingest", log, "--columns", "User")
    assert catalogue.read_text() == ""
    columns = SACCT.replace("|", ",")
    summary = json.loads(succeed("ingest", log, "--columns", columns, "--json"))
    assert (summary["accepted"], summary["rejected"]) == (2, 0)
    assert f'columns = "{columns}"' in catalogue.read_text()
    assert json.loads(succeed("ingest", log, "--json"))["accepted"] == 2  # the catalogue remembers them


def test_health_of_a_log_prints_what_was_found(loaded: tuple[Path, str]) -> None:
    """Before, it printed a line with 0 for everything else that it looks for."""
    *found, absent = succeed("health", "mine").splitlines()
    assert any(line.split()[:4] == ["5", "lines", "rejected", "lines"] for line in found)
    assert not any(line.split()[0] == "0" for line in found)
    assert absent.startswith("looked for and not found: ") and "flurries" in absent and "rejected" not in absent


def zone_finding(source: str) -> tuple[int, str | None]:
    rows = json.loads(succeed("health", source, "--json"))
    (finding,) = [row for row in rows if row["finding"] == "time zone assumed"]
    assert "--time-zone" in finding["meaning"]
    return finding["found"], finding["example"]


def test_a_time_zone_that_nobody_gave_is_that_of_the_machine(
    catalogue: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, local times of every log were read as Europe/Stockholm, the zone of the bundled catalogue."""
    log = tmp_path / "alps.psv"
    log.write_text(SACCT + "\n" + SACCT_LINE.format(n=1))
    monkeypatch.setenv("TZ", "America/New_York")
    result = call("ingest", log, "--json")
    summary = json.loads(result.stdout)
    assert (summary["time_zone"], summary["time_zone_from"]) == ("America/New_York", "assumed")
    said = "times of the log are read as America/New_York, the zone of this machine; to change it: "
    assert f"{said}tracehouse ingest {log} --name alps --time-zone ZONE" in result.stderr
    assert zone_finding("alps") == (1, "America/New_York")
    catalogue.write_text('time_zone = "America/Denver"\n' + catalogue.read_text())
    result = call("ingest", log, "--json")
    assert json.loads(result.stdout)["time_zone_from"] == "catalogue" and "are read as" not in result.stderr
    result = call("ingest", log, "--json", "--time-zone", "UTC")
    assert json.loads(result.stdout)["time_zone"] == "UTC" and "are read as" not in result.stderr
    assert zone_finding("alps") == (0, None)


def test_what_was_read_keeps_its_time_zone(catalogue: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On another machine, and after a release that takes another default, old rows do not move and new days are read alike."""
    logs = tmp_path / "alps"
    logs.mkdir()
    (logs / "1.psv").write_text(SACCT + "\n" + SACCT_LINE.format(n=1))
    monkeypatch.setenv("TZ", "Europe/Stockholm")
    succeed("ingest", logs, "--format", "slurm")
    jobs = "SELECT job_id, submit_time FROM core.jobs ORDER BY job_id"
    before = json.loads(succeed("sql", jobs, "--format", "json"))
    (logs / "2.psv").write_text(SACCT + "\n" + SACCT_LINE.format(n=2))
    monkeypatch.setenv("TZ", "America/New_York")
    result = call("ingest", logs)
    assert "are read as Europe/Stockholm, as before; to change it: " in result.stderr
    after = json.loads(succeed("sql", jobs, "--format", "json"))
    assert after[:1] == before and after[1]["submit_time"] == before[0]["submit_time"]


def test_a_user_is_asked_for_the_time_zone_of_local_times(
    catalogue: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "alps.psv"
    log.write_text(SACCT + "\n" + SACCT_LINE.format(n=1))
    monkeypatch.setattr("tracehouse.cli.commands.ingest.can_ask", lambda: True)
    monkeypatch.setenv("TZ", "America/New_York")
    with in_brief():
        result = CliRunner().invoke(main, ["ingest", str(log), "--json"], input="Berlin\nEurope/Berlin\n")
    assert "writes its times [America/New_York]: " in result.stderr and "unknown time zone 'Berlin'" in result.stderr
    assert json.loads(result.stdout)["time_zone"] == "Europe/Berlin"
    assert 'time_zone = "Europe/Berlin"' in catalogue.read_text()
    assert json.loads(succeed("ingest", log, "--json"))["time_zone_from"] == "catalogue"  # nobody answers: it is known
    assert not lacks_zone(log, None) and lacks_zone(log, "other") and not lacks_zone(log, "other", time_zone="UTC")
    (tmp_path / "pbs.log").write_text("04/05/2017 13:06:53;E;2.head;ctime=10 start=20 end=30 exec_host=n1/0\n")
    assert not lacks_zone(tmp_path / "pbs.log", None)


def test_unix_seconds_need_no_time_zone_and_days_do(
    catalogue: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "head.log"
    log.write_text("04/05/2017 13:06:53;E;2.head;ctime=10 start=20 end=30 exec_host=n1/0\n")
    monkeypatch.setenv("TZ", "America/New_York")
    result = call("ingest", log)
    said = "times of the log are Unix seconds, and its hours and days are those of America/New_York, the zone of this machine"
    assert said in result.stderr


@pytest.fixture
def slurm_home(catalogue: Path, tmp_path: Path) -> Path:
    """A home with the cluster alps, and the log alps.psv beside it."""
    (tmp_path / "alps.psv").write_text(SACCT + "\n" + SACCT_LINE.format(n=1))
    write_cluster("alps")
    return tmp_path / "alps.psv"


def write_cluster(name: str) -> None:
    path = cluster_path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    description = replace(bundled_cluster("larch").description, name=name)
    path.write_text(cluster_toml(DescribedCluster(description, ())))


def test_ingest_names_the_cluster(catalogue: Path, slurm_home: Path) -> None:
    """Before, `cluster = "alps"` was to be written into the catalogue by hand."""
    message = fail("ingest", slurm_home, "--cluster", "alpen")
    assert "unknown cluster 'alpen', the home has alps" in message
    assert "`tracehouse cluster import DIR --name alpen`" in message and catalogue.read_text() == ""
    result = call("ingest", slurm_home)
    assert (
        f"Is alps the cluster of alps? Then: tracehouse ingest {slurm_home} --name alps --cluster alps\n"
        in result.stderr
    )
    assert load_catalogue().source("alps").cluster == ()
    catalogue.write_text(catalogue.read_text().replace("path =", "# ours\npath ="))
    assert "cluster   alps\n" in succeed("ingest", slurm_home, "--cluster", "alps")
    write_cluster("later")
    result = call("ingest", slurm_home, "--cluster", "later")
    assert "cluster   later, in place of alps\n" in result.stdout and "Is alps" not in result.stderr
    assert json.loads(succeed("ingest", slurm_home, "--cluster", "later", "--json"))["cluster"] == ["later"]
    assert catalogue.read_text().count("cluster =") == 1 and "# ours\n" in catalogue.read_text()


def test_a_user_may_agree_to_the_only_cluster(
    catalogue: Path, slurm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.cli.linking.can_ask", lambda: True)
    for answer, names in (("n", ()), ("y", ("alps",))):
        with in_brief():
            CliRunner().invoke(main, ["ingest", str(slurm_home), "--time-zone", "UTC"], input=f"{answer}\n")
        assert load_catalogue().source("alps").cluster == names


def test_odd_files_beside_logs_are_named(catalogue: Path, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.swf").write_text("; MaxProcs: 8\n" + GOOD.format(n=1))
    (logs / "README").write_text("Logs of alps.\n")
    assert "README: looks odd among swf logs" in call("ingest", logs).stderr
    assert "looks odd" not in call("ingest", logs).stderr  # its format is settled
    (tmp_path / "empty.log").write_text("; Version: 2.2\n; of alps\n")
    message = fail("ingest", tmp_path / "empty.log")
    assert "the log is empty: 2 lines, none of them a finished job in the swf format" in message
    assert 'It begins with "; Version: 2.2", "; of alps"' in message and "`--format`" in message
