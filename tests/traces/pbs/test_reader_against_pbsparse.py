"""Our reader against NCAR's pbsparse, another reader of PBS Pro accounting, value by value.

Where pbsparse differs by design:
- It has no word for a line that is no record: it raises ValueError, on blank lines as well.
- It splits records at blanks. Torque's `-L tasks=... -L tasks=...` therefore raises ValueError too, and job names would be cut.
- Times are datetimes of the machine's zone, and are left as text in `S` records that lack resource_assigned.
- Sizes are GB, known for kb, mb, gb and tb only: `30b` and Torque's `1GB` become 0.
- Durations must be H:M:S: Torque's plain seconds of cput are taken for hours.
- Processors, gpus and nodes are numbers under their own keys only; nodes=2:ppn=4, exec_host and exec_vnode are not counted.
"""

from __future__ import annotations

import calendar
import re
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from benchmarks.pbs_logs import write_days
from tests.shared import shared_file
from traces.common.log import ParsedLog
from traces.pbs.reader import PBS_RECORD_SCHEMA, read_pbs

pbsparse = pytest.importorskip("pbsparse")

KB_IN_GB = 1 << 20
# file: number of records that both read, lines that pbsparse alone refuses
REAL_FILES: dict[str, tuple[int, set[int]]] = {
    "bookie-torque.log": (2, set()),
    "bookie-torque-invalid-lines.log": (2, set()),
    "bookie-torque-invalid-lines-2.log": (2, set()),
    "hnormalise-torque-spec.log": (11, set()),
    "ncar-pbsparse-tests.log": (9, set()),
    "ncar-qhist-casper-testdata.log": (18, set()),
    "osc-pbstools-pbsacct-unittest.log": (3, {3, 4}),
}


def columns_of(record: pbsparse.PbsRecord, text: str) -> dict[str, object]:
    """What pbsparse says, in our columns and units; columns of which it cannot tell are left out."""
    told = vars(record)
    asked, used = told.get("Resource_List", {}), told.get("resources_used", {})
    given = told.get("resource_assigned", {})
    columns: dict[str, object] = {
        "record_type": record.type,
        "logged_s": calendar.timegm(record.time.timetuple()),
        "job_id": record.id,
        "user_name": told.get("user"),
        "group_name": told.get("group"),
        "account": told.get("account"),
        "project": told.get("project"),
        "queue": told.get("queue"),
        "job_name": told.get("jobname"),
        "exec_host": told.get("exec_host"),
        "exec_vnode": told.get("exec_vnode"),
        "selected_chunks": asked.get("select"),
        "torque_nodes": asked.get("nodes"),
        "dependency": told.get("depend"),
        "place": asked.get("place"),
        "requested_walltime_s": asked.get("walltime"),
        "used_walltime_s": used.get("walltime"),
        "exit_status": whole(told.get("Exit_status", told.get("exit_status"))),
        "eligible_wait_s": told.get("eligible_time"),
        "run_count": whole(told.get("run_count", told.get("start_count"))),
        "requestor": told.get("request_user"),
        "message": told.get("comment", "").strip() or None,
    }
    columns |= {f"{key}_s": seconds(told.get(key)) for key in ("ctime", "qtime", "etime", "start", "end")}
    if " etime=0 " in text:  # not eligible yet; pbsparse leaves it out
        columns["etime_s"] = 0
    columns |= {
        "reservation": told.get("resvID"),
        "assigned_procs": given.get("ncpus"),
        "assigned_gpus": given.get("ngpus"),
    }
    if "ngpus" in asked:
        columns["gpus"] = asked["ngpus"]
    if "nodect" in asked or "unique_node_count" in told:
        columns["nodes"] = whole(asked.get("nodect", told.get("unique_node_count")))
    if "ncpus" in used:
        columns["procs"] = used["ncpus"]
    if "select" in asked and "ncpus" in asked:
        columns["requested_procs"] = asked["ncpus"]
    hours = "cput" in used and not re.search(r"resources_used\.cput=[0-9]+:", text)
    columns["used_cpu_s"] = used["cput"] / 3600 if hours else used.get("cput")
    for column, key, values in (
        ("requested_memory_kb", "Resource_List", asked),
        ("used_memory_kb", "resources_used", used),
    ):
        if re.search(rf"{key}\.mem=([0-9]+[kmgt]b|0b)( |$)", text):
            columns[column] = values["mem"] * KB_IN_GB
    return columns


def whole(value: object) -> int | None:
    return None if value is None else int(str(value))


def seconds(value: datetime | str | None) -> int | None:
    if isinstance(value, datetime):
        return int(value.timestamp())
    return int(value) if value else None


def read_by_pbsparse(path: Path) -> dict[int, dict[str, object]]:
    """What it says of every line that it does not refuse."""
    taken = {}
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        try:
            record = pbsparse.PbsRecord(line, process=True)
        except ValueError:
            continue
        taken[number] = columns_of(record, line)
    return taken


def rows_of(log: ParsedLog) -> dict[int, dict[str, object]]:
    return {row["line"]: row for row in pl.concat([log.records, log.events]).to_dicts()}


def assert_same(ours: dict[int, dict[str, object]], theirs: dict[int, dict[str, object]]) -> None:
    for line, columns in theirs.items():
        assert {column: ours[line][column] for column in columns} == columns, f"line {line}"


@pytest.mark.parametrize("name", REAL_FILES)
def test_real_files(name: str) -> None:
    path = shared_file("traces", "pbs", name)
    ours, theirs = rows_of(read_pbs(path)), read_by_pbsparse(path)
    both, refused = REAL_FILES[name]
    assert len(theirs) == both
    assert ours.keys() - theirs.keys() == refused
    assert_same(ours, theirs)


def test_it_refuses_what_we_reject() -> None:
    log = read_pbs(shared_file("traces", "pbs", "bookie-torque-invalid-lines.log"))
    for text in log.rejects["text"].to_list():
        with pytest.raises(ValueError):
            pbsparse.PbsRecord(text)


def test_a_generated_log(tmp_path: Path) -> None:
    write_days(tmp_path, 100, kinds="QSE")
    (path,) = tmp_path.iterdir()
    theirs = read_by_pbsparse(path)
    assert len(theirs) == 300
    assert_same(rows_of(read_pbs(path)), theirs)
    assert [record.id for record in pbsparse.get_pbs_records(str(path), type_filter="E")] == read_pbs(path).records[
        "job_id"
    ].to_list()


def test_all_columns_are_compared() -> None:
    path = shared_file("traces", "pbs", "ncar-pbsparse-tests.log")
    compared = {column for columns in read_by_pbsparse(path).values() for column in columns}
    assert compared == set(PBS_RECORD_SCHEMA) - {"line"}
