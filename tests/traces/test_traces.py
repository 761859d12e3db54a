"""Tests of traces: formats, queues."""

from __future__ import annotations

import gzip
import io
import shlex
import sys
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from assets.ingest.reading import parsed_files, reader_of
from tests.shared import shared_file
from tests.traces.pbs.pbs_lines import end_record
from tests.traces.slurm.slurm_lines import document, job_line
from traces.catalogue.sources import Source
from traces.common.log import LogError
from traces.common.queue import HELD, RUNNING, WAITING
from traces.formats import _NO_TEXT, foreign_format, guess_format, look_at_log, no_text, shown
from traces.queues import parse_queue, run_queue_command

# foreign: Logs of other systems are known by their first lines, and what is no text by its first bytes.


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('"JOB_FINISH" "10.1" 1700000000 5 1000 33816578 1 1699990000 0 0 1699991000 "user"', "LSF"),
        ("all.q:node1:users:user1:job.sh:7:sge:0:1500000000:1500000100:1500000900:0:0:800:700.5:10:0:0", "Grid Engine"),
        ("1 0 10 60 4 50.0 -1 4 3600 -1 1 user group app queue part orig last str str str", ""),
    ],
)
def test_other_systems_have_names(line: str, name: str) -> None:
    assert name in foreign_format([line, line])


def test_what_is_no_text() -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("log"))
    assert "tar" in no_text(content.getvalue())
    assert no_text(b"1 2 3\n") == ""


# formats: Which format a log has, and what is said of files that have none; every real log is tested with its
# reader.

SWF_LINE = " ".join(["1"] * 18) + "\n"
PBS_LINE = end_record() + "\n"


def fault(path: Path) -> str:
    with pytest.raises(LogError) as caught:
        guess_format(path)
    assert str(caught.value).isprintable()  # one line, and nothing that a terminal would act on
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "log_format"),
    [
        ("; Version: 2.2\n", "swf"),
        ("\n\n" + SWF_LINE, "swf"),
        (end_record(), "pbs"),
        ("rubbish\n" + end_record(), "pbs"),
        ("\ufeff" + end_record(), "pbs"),
        ("\n \n\0\0\n" + 2 * PBS_LINE, "pbs"),
        (document(job_line()), "slurm"),
        ("\ufeff" + document(job_line()), "slurm"),
        ("JobID|State\n", "slurm"),
        ("JobID|State|\n1|COMPLETED|\n2|FAILED|\n", "slurm"),
    ],
)
def test_the_format_of_most_lines_counts(tmp_path: Path, content: str, log_format: str) -> None:
    """Before, a file whose first line had a byte order mark and no second line was of no format."""
    (tmp_path / "log").write_text(content)
    assert guess_format(tmp_path / "log") == guess_format(tmp_path) == log_format
    (tmp_path / "log").unlink()
    (tmp_path / "log.gz").write_bytes(gzip.compress(content.encode()))
    assert guess_format(tmp_path / "log.gz") == log_format


def test_what_is_empty_or_none_of_them(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("\n \n")
    assert "the log is empty" in fault(tmp_path)
    (tmp_path / "b").write_text("a,b,c\n1,\x1b[2J2\n")
    message = fault(tmp_path)
    assert (
        "unknown log format. It begins" in message
        and "Expected SWF" in message
        and "--format" in message
        and "--columns" in message
    )
    assert r'It begins with "a,b,c", "1,\x1b[2J2"' in message


@pytest.mark.parametrize(
    ("content", "says"),
    [
        # each of the first four was taken for SWF, which has no such line: "the log is empty"
        ("; PBS server of alps\n" + 3 * "2017-04-05 13:06:53;E;1.head;user=ann ctime=1\n", "a line with 3 fields"),
        (" ".join(["word"] * 18) + "\n", "unknown log format"),
        ("; exported\n" + 3 * "1|COMPLETED|4|ann\n", "SWF's comments, but a line with 1 fields"),
        (SWF_LINE + 9 * "no job at all\n", "Only 1 of the first 10 lines look like swf"),
        (3 * "2017-04-05 13:06:53;E;1.head;user=ann ctime=1\n", "write dates as MM/DD/YYYY HH:MM:SS"),
        (3 * "12|2024-01-15T10:00:00|COMPLETED|4|ann\n", "without a header; name their columns with `--columns"),
        ("JobID,State\n1,COMPLETED\n", "between commas; print them with `sacct -P`"),
        ("JobID\tState\n1\tCOMPLETED\n", "between tabs; print them with `sacct -P`"),
        ("  JobID      State \n-------- ----------\n       1  COMPLETED\n", "between blanks; print them"),
        ('{"jobs": [\n{"job_id": 1}]}\n', "JSON"),
        ("<!DOCTYPE html>\n<title>Log in</title>\n", "a web page or XML; was it downloaded without logging in?"),
        (3 * "[2024-05-01T10:00:00.123] sched: Allocate JobId=3\n", "slurmctld, slurmd or slurmdbd), which has no accounting"),
        (3 * "05/01/2024 10:00:00;0100;Server@head;Job;3.head;enqueuing into workq\n", "is in server_priv/accounting"),
        (3 * "05/01/2024 10:00:00.123456;0080;pbs_sched;Job;3.head;Job run\n", "the log of a daemon of PBS"),
    ],
)  # fmt: skip
def test_what_looks_like_something_else_is_said(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "log").write_text(content)
    message = fault(tmp_path / "log")
    assert says in message and "--format" in message and "It begins with " in message
    assert "empty" not in message


def tar(mode: Literal["w", "w:gz"], tar_format: int = tarfile.GNU_FORMAT) -> bytes:
    """An archive of one log."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode=mode, format=tar_format) as archive:
        member = tarfile.TarInfo("20170405")
        member.size = len(PBS_LINE)
        archive.addfile(member, io.BytesIO(PBS_LINE.encode()))
    return content.getvalue()


@pytest.mark.parametrize("name", ["logs.tar.gz", "LOGS.TAR.GZ"])
@pytest.mark.parametrize("log_format", ["auto", "pbs"])
def test_an_archive_is_named_though_the_format_was_given(tmp_path: Path, name: str, log_format: str) -> None:
    (tmp_path / name).write_bytes(tar("w:gz"))
    source = Source("mine", log_format, tmp_path / name, procs=4)
    with pytest.raises(LogError, match=r"ooks like a tar archive; unpack it into a folder"):
        list(parsed_files(reader_of(source), [(tmp_path / name, None)]))


REFUSED = {
    "lsb.acct": "LSF's accounting (lsb.acct); write a line of SWF for each job, or a table",
    "sge_accounting": "Grid Engine's accounting; write",
    "condor_history": "HTCondor's history of jobs; write",
    "maui_trace": "a workload trace of Maui or Moab; write",
    "gwf.gwf": "the Grid Workloads Format (GWF); write",
    "oar_jobs.csv": "a CSV file of jobs, as Batsim and OAR write it; write",
    "squeue.txt": "the table of squeue, which shows the queue of a moment; print the jobs that are over with `sacct -P`",
    "swf20.swf": "SWF with another number of fields: 20 numbers a line, SWF has 18; leave out",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_log_of_another_system_is_refused_by_name(name: str) -> None:
    assert f"It looks like {REFUSED[name]}" in fault(shared_file("cases", "refuse", name))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (3 * (" ".join(["1"] * 17) + "\n"), "17 numbers a line, SWF has 18"),
        ("; Version: 2.2\n" + 3 * (" ".join(["-1.5e3"] * 19) + "\n"), "19 numbers a line, SWF has 18"),
        (" ".join(["1"] * 11 + ["U1", "G1"] + ["-1"] * 16) + "\n", "the Grid Workloads Format"),
        ("000 (123.000.000) 2026-01-05 12:00:00 Job submitted from host\n...\n", "HTCondor's log of events"),
        ("job_id,submission_time\n1,2\n", "Batsim and OAR"),
        ("a:b:c\n1:2:3\n", "unknown log format. It begins"),
    ],
)
def test_other_systems_by_their_lines(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "log").write_text(content)
    assert says in fault(tmp_path / "log")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (PBS_LINE.encode("utf-16"), "UTF-16 text; convert it with `iconv"),
        (b"PK\x03\x04\x14\0\0\0\x08\0", "an Excel workbook"),
        (gzip.compress(PBS_LINE.encode()), "a name that ends in .gz"),
        (b"BZh91AY&SY", "bunzip2"),
        (tar("w", tarfile.USTAR_FORMAT), "a tar archive; unpack it into a folder"),
        (tar("w", tarfile.GNU_FORMAT).replace(b"ustar  \0", b"\0" * 8, 1), "binary data"),  # no checksum fits it
        (bytes(range(8)) * 4 + b"\0" * 64, "binary data"),
    ],
)
def test_a_file_that_is_no_text(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "log").write_bytes(content)
    assert f"It looks like {says}" in fault(tmp_path / "log") or says in fault(tmp_path / "log")


def test_a_folder_of_mixed_formats(tmp_path: Path) -> None:
    """Before, the first file decided, and all lines of the others were rejected."""
    (tmp_path / "a.swf").write_text(SWF_LINE)
    for day in range(5):
        (tmp_path / f"2017040{day}").write_text(PBS_LINE)
    message = fault(tmp_path)
    assert 'pbs: "20170400", "20170401", "20170402" and 2 more; swf: "a.swf"' in message
    assert "folder of their own" in message and "--format" in message


def test_other_files_beside_logs(tmp_path: Path) -> None:
    (tmp_path / "20170405").write_text(PBS_LINE)
    (tmp_path / "20170406").write_text("")  # of a day without jobs
    assert look_at_log(tmp_path).odd == []
    (tmp_path / "README").write_text("Logs of alps.\n")
    look = look_at_log(tmp_path)
    assert look.format == "pbs" and [file.path.name for file in look.odd] == ["README"]
    (tmp_path / "notes.gz").write_bytes(b"no gzip data")
    message = fault(tmp_path)
    assert 'no log: "README", "notes.gz"' in message and 'pbs: "20170405"' in message


def test_a_file_with_many_other_lines_is_not_taken_silently(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(2 * PBS_LINE + 3 * "rubbish\n")
    look = look_at_log(tmp_path / "log")
    assert look.format == "pbs" and look.odd[0].few == "only 2 of the first 5 lines look like pbs"


def test_one_line_in_three_is_enough_for_a_format(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("; a comment\n\n" + 2 * SWF_LINE + 4 * "rubbish\n")
    assert look_at_log(tmp_path / "log").odd[0].few == "only 2 of the first 6 lines look like swf"
    (tmp_path / "log").write_text("; a comment\n\n" + 2 * SWF_LINE + 5 * "rubbish\n")
    assert "Only 2 of the first 7 lines look like swf." in fault(tmp_path / "log")


def test_what_a_file_looks_like_instead_may_begin_with_any_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(_NO_TEXT, b"only", "only a test")
    (tmp_path / "log").write_bytes(b"only\n")
    assert "It looks like only a test." in fault(tmp_path / "log")


def test_text_is_shown_short_and_harmless() -> None:
    assert shown("a\x1b]0;title\x07\u202eb") == r'"a\x1b]0;title\x07\u202eb"'
    assert shown("x" * 100) == '"' + "x" * 60 + '..."'


# queues: Which scheduler a queue is of, and commands that print one.


def test_the_scheduler_is_seen() -> None:
    assert parse_queue('{"jobs": []}', "q", "UTC").read == 0
    assert parse_queue('{"timestamp": 5, "Jobs": {}}', "q", "UTC").written_s == 5


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the text is empty"),
        ("{\n!", "line 2 is no JSON"),
        ("[" * 100_000, "nested too deep"),
        ("[]", "neither"),
        ('{"a": 1}', "neither"),
        (
            '{"timestamp": 1, "pbs_version": "2022", "Queue": {"cpu": {"total_jobs": 9}}}',
            "`qstat -f -F json` .*`qstat -Q` prints, which has no jobs",
        ),
        ('{"pbs_version": "2022", "Server": {"d1": {}}}', "`qstat -B` prints, which has no jobs"),
        ("Queue              Max   Tot Ena Str   Que\n", "`qstat -f -F json` .*`qstat -Q` prints, which has no jobs"),
        ("Queue: workq\n    queue_type = Execution\n", "`qstat -Q` prints, which has no jobs"),
        ("Job Id: 12.pbs\n    Job_Name = x\n", "`qstat` prints as text"),
    ],
)
def test_what_is_no_queue(text: str, reason: str) -> None:
    with pytest.raises(LogError, match=f"q: expected the JSON that `squeue --json` .*{reason}"):
        parse_queue(text, "q", "UTC")


def test_the_queues_of_the_case_are_no_queue() -> None:
    text = shared_file("cases", "logs-and-configurations", "qstat-of-queues", "pbsq.json").read_text()
    with pytest.raises(LogError, match=r"pbsq.json: .*`qstat -f -F json`.*`qstat -Q` prints, which has no jobs"):
        parse_queue(text, "pbsq.json", "UTC")


@pytest.mark.parametrize(
    "name",
    [
        *("ok", "openpbs1255_leading_zero", "openpbs2049_backslash_quote", "balsam324_invalid_escape"),
        *("openpbs830_double_quote", "openpbs2675_text_before"),
    ],
)
def test_odd_values_of_a_user_leave_the_queue_as_it_is(name: str) -> None:
    snapshot = parse_queue(shared_file("cases", "qstat", f"{name}.json").read_text(), "q", "UTC")
    sound = parse_queue(shared_file("cases", "qstat", "ok.json").read_text(), "q", "UTC")
    reason = 'reboot "disk clean" (SCHEDULED)' if name == "openpbs830_double_quote" else "x"
    jobs = tuple(replace(job, asked=replace(job.asked, reason=reason)) for job in sound.jobs)
    assert (snapshot.jobs, snapshot.faults) == (jobs, ())
    assert [(job.job_id, job.procs, job.requested_walltime_s) for job in snapshot.jobs] == [("10", 4, 3600)]


@pytest.mark.parametrize(
    "value",
    [
        "005", "1,2", "inf", "", '"a", b"', r'"C:\"', r'"\"', '"tab\t, line\n"', '"x", "y" z"', '"() {  eval `a "$@"`; }"',
        r'"\u00e9\q"', "{", '"{"', '"}"', '"11.srv":{', "-", "-01.", "{}}", '"' * 7,
    ],
)  # fmt: skip
def test_an_odd_value_costs_no_other_job(value: str) -> None:
    jobs = ",\n".join(
        f'"{number}.srv":{{"job_state":"Q","queue":"workq","ctime":"Sat Mar  2 08:00:00 2024",'
        f'"Variable_List":{{"X":{value if number == 2 else 1}}},"Resource_List":{{"ncpus":{number}}}}}'
        for number in (1, 2, 3)
    )
    text = f'{{"timestamp":1709366400,"pbs_version":"20","Jobs":{{{jobs}}}}}'
    snapshot = parse_queue(text, "q", "UTC")
    assert [(job.job_id, job.procs) for job in snapshot.jobs if job.job_id != "2"] == [("1", 1), ("3", 3)]
    assert snapshot.written_s == 1709366400
    with pytest.raises(LogError, match="is no JSON"):
        parse_queue(text[:-40], "q", "UTC")  # the command died


@pytest.mark.parametrize("name", ["documented-command", "with-t"])
def test_an_array_is_counted_once_however_qstat_lists_it(name: str) -> None:
    path = shared_file("cases", "pbs", f"qstat-array-{name}.json")
    snapshot = parse_queue(path.read_text(), "q", "UTC")
    assert [snapshot.count(state) for state in (RUNNING, WAITING, HELD)] == [8, 5, 0]
    assert sum(job.procs for job in snapshot.jobs if job.state == RUNNING) == 512


def command(code: str) -> str:
    return shlex.join([sys.executable, "-c", code])


def test_commands() -> None:
    assert run_queue_command(command("print('$HOME; echo')")) == "$HOME; echo\n"
    with pytest.raises(LogError, match="ended with status 3: no route"):
        run_queue_command(command("import sys; print('no route', file=sys.stderr); sys.exit(3)"))
    with pytest.raises(LogError, match=r"no answer within 0\.2 s"):
        run_queue_command(command("import time; time.sleep(9)"), 0.2)
    for wrong in ("no-such-program --json", "squeue 'open"):
        with pytest.raises(LogError, match="cannot be run"):
            run_queue_command(wrong)
