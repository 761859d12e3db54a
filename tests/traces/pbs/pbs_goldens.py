"""Recorded runs of a real OpenPBS, which lie beside the repository: their scenarios, accounting records and configuration."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.shared import shared_file
from traces.pbs.rules import record_pairs

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
