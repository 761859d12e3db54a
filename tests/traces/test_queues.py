"""Which scheduler a queue is of, and commands that print one."""

from __future__ import annotations

import shlex
import sys

import pytest

from traces.common.log import LogError
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
