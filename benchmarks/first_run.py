"""How long a newcomer waits: `python -m benchmarks.first_run`.

Clones this repository into a temporary folder, sets it up there and runs the pipeline twice, as README says. It needs the network for
the set-up. The first `make run` compiles the engine. README names the time of set-up and first run together.
"""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

from papers.markdown import markdown

PROJECT = Path(__file__).resolve().parents[1]
STEPS = {
    "make setup": ["make", "setup"],
    "make run, the first time": ["make", "run"],
    "make run, again": ["make", "run"],
    "tracehouse why larch": [".venv/bin/tracehouse", "why", "larch"],
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "tracehouse"
        subprocess.run(["git", "clone", "--quiet", str(PROJECT), str(clone)], check=True)
        rows = [[name, *measured(command, clone)] for name, command in STEPS.items()]
    print(f"\n{os.cpu_count()} cores\n")
    print(markdown(["step", "wall time, s", "CPU time, s"], rows))


def measured(command: list[str], folder: Path) -> list[str]:
    """Wall time and CPU time of a command and of all that it starts, in seconds. Raises CalledProcessError where it fails."""
    newcomers = {name: value for name, value in os.environ.items() if name != "TRACEHOUSE_HOME"}
    newcomers["NUMBA_CACHE_DIR"] = str(folder.parent / "compiled")  # what this user has compiled is not there
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    subprocess.run(command, cwd=folder, env=newcomers, check=True)
    wall = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return [f"{wall:.0f}", f"{after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime:.0f}"]


if __name__ == "__main__":
    main()
