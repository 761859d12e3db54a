"""`make setup` calls this: `python -m pipelines.first_use` compiles what the pipeline needs, so that the first command answers at once.

Numba compiles a function when it is first called. So the whole pipeline runs once over two tiny logs, in a folder that is thrown
away. Compiled code is kept by what is in it: where nothing has changed, this takes the time of the tiny logs alone.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

TINY_SOURCES = """
[sources.tiny-birch]
format = "pbs"
cluster = "birch"
generator = { site = "birch", seed = 4, jobs = 1500 }

[sources.tiny-larch]
format = "slurm"
cluster = "larch"
generator = { site = "larch", seed = 1, jobs = 400 }
"""
FIRST_COMMANDS = (("run", "tiny-birch"), ("run", "tiny-larch"))
"""Beside each other. The second one adds the reader of Slurm's logs, and Slurm itself with its own order and with others."""


def compile_for_first_use(commands: Sequence[Sequence[str]] = FIRST_COMMANDS) -> list[str]:
    """Runs commands of tracehouse in a home of their own, beside each other. Returns what those printed that failed."""
    with TemporaryDirectory(prefix="tracehouse-first-use-") as name:
        Path(name, "sources.local.toml").write_text(TINY_SOURCES, encoding="utf-8")
        here = {**os.environ, "TRACEHOUSE_HOME": name, "TRACEHOUSE_SOURCES": ""}
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", "tracehouse.cli.main", *command],
                env=here,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for command in commands
        ]
        printed = [process.communicate()[0] for process in processes]
        return [text for text, process in zip(printed, processes, strict=True) if process.returncode]


if __name__ == "__main__":
    for text in compile_for_first_use():
        print(f"the first commands will compile for a while, because this failed:\n{text}", file=sys.stderr)
