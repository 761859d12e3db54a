"""`tracehouse completion`: scripts that a shell takes, and what they ask for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipelines.command_line import fail, succeed


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell(shell: str) -> None:
    script = succeed("completion", shell)
    assert f"_TRACEHOUSE_COMPLETE={shell}_complete" in script and "tracehouse" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_an_unknown_shell() -> None:
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in fail("completion", "tcsh")


def completed(words: str, number: int) -> list[str]:
    """What bash is told for the word of this number, by a process that may load nothing that takes long."""
    code = "import sys; sys.modules.update(dagster=None, torch=None); from tracehouse.cli.main import main; main(prog_name='tracehouse')"
    asked = {"_TRACEHOUSE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(number)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | asked, capture_output=True, text=True, check=True
    )
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_names_are_completed_without_what_takes_long(catalogue: Path) -> None:
    assert completed("tracehouse rep", 1) == ["replay", "report", "reproduce"]
    assert completed("tracehouse run lub", 2) == ["lublin-256"]
    assert completed("tracehouse run --select marts/rep", 3) == ["marts/report"]
    assert completed("tracehouse replay lublin-256 --policy sj", 4) == ["SJF"]
    assert completed("tracehouse vasp remaining syn", 3) == ["synthetic-vasp"]
