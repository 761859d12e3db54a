"""The compiled engine never runs yesterday's rules: a change in any of its files compiles it anew."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
CODE = """
import numpy as np
from simulator.jobs import jobs_from_log
from simulator.replay import replay
n = np.array
jobs = jobs_from_log(n([0, 1, 2]), n([100, 50, 10]), n([4, 1, 4]), n([100, 50, 10]))
print(replay(jobs, 4, "SEXP", "none").start.tolist())
"""


def starts(folder: Path) -> str:
    return subprocess.run([sys.executable, "-c", CODE], cwd=folder, capture_output=True, text=True, check=True).stdout


def test_an_edited_priority_takes_effect(tmp_path: Path) -> None:
    shutil.copytree(PROJECT / "simulator", tmp_path / "simulator", ignore=shutil.ignore_patterns("__pycache__"))
    before = starts(tmp_path)
    assert before == starts(tmp_path) == "[0, 100, 150]\n"  # expansion factors 2.98 and 10.8 at 100
    scores = tmp_path / "simulator" / "scoring.py"
    edited = scores.read_text().replace(
        "sign * (now - submit[job] + estimate[job]) / estimate[job]", "-float(procs[job])"
    )
    scores.write_text(edited)
    assert starts(tmp_path) == "[0, 110, 100]\n"
