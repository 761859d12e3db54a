"""Which scheduler a queue is of, and commands that print one."""

from __future__ import annotations

import shlex
import sys

import pytest

from tests.shared import shared_file
from traces.common.log import LogError
from traces.common.queue import HELD, RUNNING, WAITING
from traces.queues import parse_queue, run_queue_command


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
    ],
)
def test_what_is_no_queue(text: str, reason: str) -> None:
    with pytest.raises(LogError, match=f"q: expected the JSON that `squeue --json` .*{reason}"):
        parse_queue(text, "q", "UTC")


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
    assert (snapshot.jobs, snapshot.faults) == (sound.jobs, ())
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
