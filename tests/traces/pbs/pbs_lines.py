"""Records of PBS accounting for tests.

Recorded runs of a real OpenPBS, which lie beside the repository: their scenarios, accounting records and configuration.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.shared import shared_file
from tests.traces.common.logs import written
from traces.common.log import ParsedLog
from traces.pbs.reader import read_pbs
from traces.pbs.rules import record_pairs

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


# --- pbs goldens


SCENARIOS = ("P1", "P1f", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "X1", "X10", "X2", "X3", "X7", "X8", "X9")
each_golden = pytest.mark.parametrize("scenario", SCENARIOS)


def golden_folder(scenario: str) -> Path:
    """Its first run. Skips where it is missing."""
    return shared_file("golden", "pbs", scenario, "run1")


def submissions(folder: Path) -> dict[str, dict[str, Any]]:
    """Job id -> what was submitted, of those that the server took."""
    scenario = json.loads(gzip.decompress((folder / "scenario.json.gz").read_bytes()))
    return {
        scenario["ids"][action["name"]]: action
        for action in scenario["actions"]
        if action["do"] == "sub" and not action["rc"]
    }


def records(folder: Path, kind: str) -> dict[str, dict[str, str]]:
    """Job id -> the attributes of its last record of this kind."""
    lines = gzip.decompress((folder / "accounting.gz").read_bytes()).decode(errors="backslashreplace").splitlines()
    parts = (line.split(";", 3) for line in lines)
    return {job: record_pairs(message) for _, letter, job, message in parts if letter == kind}


def jobs_of_qstat(folder: Path) -> dict[str, dict[str, Any]]:
    """Job id -> its object of `qstat -f -x -t -F json` at the end of the run."""
    return json.loads(gzip.decompress((folder / "qstat.json.gz").read_bytes()))["Jobs"]
