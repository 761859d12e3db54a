"""Records of PBS accounting for tests."""

from __future__ import annotations

from pathlib import Path

from tests.traces.common.logs import written
from traces.common.log import ParsedLog
from traces.pbs.reader import read_pbs

NOT_A_RECORD = "not an accounting record (date time;type;id;message)"
PAIRS = {
    "user": "u1", "group": "g1", "queue": "short", "jobname": "STDIN", "ctime": "1000", "qtime": "1001", "etime": "1002",
    "start": "1010", "end": "1070", "exec_host": "n1/0-3", "Resource_List.walltime": "00:02:00", "Exit_status": "0",
    "resources_used.walltime": "00:00:58", "resources_used.cput": "00:03:52",
}  # fmt: skip


def end_record(job_id: str = "1.head", without: tuple[str, ...] = (), **changes: str) -> str:
    """A sound end-of-job record; a key of `changes` has __ for its point."""
    pairs = PAIRS | {key.replace("__", "."): value for key, value in changes.items()}
    message = " ".join(f"{key}={value}" for key, value in pairs.items() if key not in without)
    return f"04/05/2017 13:06:53;E;{job_id};{message}"


def read(folder: Path, content: bytes | str, name: str = "20170405") -> ParsedLog:
    return read_pbs(written(folder, content, name))


def one_job(folder: Path, line: str) -> dict[str, object]:
    log = read(folder, line)
    assert log.rejects.rows() == []
    (job,) = log.records.to_dicts()
    return job
