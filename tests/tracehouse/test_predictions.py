"""What models say, from Python, is what the command line prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tracehouse
from tests.pipelines.command_line import fail, succeed

NAME = "lublin-256"


def test_waits_and_advice_are_those_of_the_command_line(trained: Path) -> None:
    user = str(tracehouse.query("SELECT mode(user_name) FROM core.jobs").item())
    printed = json.loads(
        succeed("wait", NAME, "-n", "8", "-t", "4:00:00", "-u", user, "--samples", "20", "-b", "easy-sjbf", "--json")
    )
    answer = tracehouse.predict_wait(NAME, 8, 4 * 3600, user, samples=20, backfill="easy-sjbf")
    assert json.loads(json.dumps(answer)) == printed
    printed = json.loads(succeed("walltime", NAME, "-u", user, "--risk", "0.1", "--json"))
    assert json.loads(json.dumps(tracehouse.advise_walltime(NAME, user, risk=0.1))) == printed


def test_run_times_stand_beside_the_true_ones(trained: Path) -> None:
    rows = tracehouse.predicted_runtimes(NAME)
    assert rows.height == 1500 and rows["job_index"].is_sorted()
    assert rows["predicted_runtime_s"].null_count() == 0
    assert (rows["runtime_p10_s"] <= rows["runtime_p90_s"]).all()


def test_what_cannot_be_answered(bundled: Path) -> None:
    for question, command in (
        (lambda: tracehouse.predict_wait(NAME, 8, "1:00:00"), ["wait", NAME, "-n", "8", "-t", "1:00:00"]),
        (lambda: tracehouse.predict_wait(NAME, 8, "soon"), ["wait", NAME, "-n", "8", "-t", "soon"]),
        (lambda: tracehouse.advise_walltime(NAME, "nobody"), ["walltime", NAME, "-u", "nobody"]),
    ):
        with pytest.raises(ValueError) as raised:
            question()
        assert fail(*command).strip().endswith(str(raised.value).removeprefix("walltime "))
    with pytest.raises(ValueError, match="no predicted run times yet: `tracehouse run lublin-256`"):
        tracehouse.predicted_runtimes(NAME)
    with pytest.raises(ValueError, match=r"risk 2: expected 0\.005 to 0\.5"):
        tracehouse.advise_walltime(NAME, "1", risk=2)
    with pytest.raises(ValueError, match="samples 1: expected 10 to 10000"):
        tracehouse.predict_wait(NAME, 8, "1:00:00", samples=1)
    with pytest.raises(ValueError, match="procs 0: expected at least 1"):
        tracehouse.predict_wait(NAME, 0, "1:00:00")
