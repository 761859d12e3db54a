"""Sites to collect from: programs of Slurm and PBS that print recorded answers, and what was collected."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

SHELL = shutil.which("dash") or "/bin/sh"
_TOOLS = "awk cat cp cut date dirname basename find grep gzip head ls mkdir mktemp mv od rm sed sha256sum sh sort tail tar tr wc"
"""All that the script may use of a machine without python3."""

_ANSWERS = """#!{python}
import sys
ANSWERS = {answers!r}
line = " ".join(sys.argv[1:])
for words, text in ANSWERS.items():
    if all(word in line for word in words.split()):
        sys.stdout.write(text)
        sys.exit(0)
sys.exit("no answer to " + line)
"""
_SACCT = """#!{python}
import sys
options = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
head, *rows = [line.split("|") for line in open({psv!r}, encoding="utf-8", errors="surrogateescape").read().splitlines()]
sys.stdout.reconfigure(errors="surrogateescape")
if "--version" in sys.argv:
    print("slurm 22.05.8")
elif "--helpformat" in sys.argv:
    print(" ".join(head), "WorkDir Comment")
else:
    begin, end = (options["--" + name][:10] for name in ("starttime", "endtime"))
    at = {{name: place for place, name in enumerate(head)}}
    columns = options["--format"].split(",")
    print(options["--delimiter"].join(columns))
    for row in rows:
        if row[at["Start"]][:10] <= end and row[at["End"]][:10] >= begin:
            print(options["--delimiter"].join(row[at[name]] for name in columns))
"""


def program(folder: Path, name: str, answers: dict[str, str]) -> None:
    """A program that prints the first answer whose words are all on its command line."""
    _write(folder / name, _ANSWERS.format(python=sys.executable, answers=answers))


def sacct_program(folder: Path, psv: Path) -> None:
    """sacct, over a file of its rows."""
    _write(folder / "sacct", _SACCT.format(python=sys.executable, psv=str(psv)))


def collect(programs: Path, output: Path, *options: str, plain: bool = False) -> dict[str, str]:
    """Runs the script, and gives the files of its archive by name. plain: on a machine without python3, with another awk."""
    path = f"{programs}:{os.environ['PATH']}"
    if plain:
        tools = programs.parent / "tools"
        tools.mkdir()
        for name in _TOOLS.split():
            source = shutil.which("mawk" if name == "awk" else name) or shutil.which(name)
            assert source is not None, name
            (tools / name).symlink_to(source)
        path = f"{programs}:{tools}"
    output.mkdir(exist_ok=True)
    script = Path(__file__).parents[3] / "traces" / "collector" / "collect.sh"
    ran = subprocess.run(
        [SHELL, str(script), "--output", str(output), *options],
        env={"PATH": path, "TZ": "UTC"},
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    (archive,) = output.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(output / "unpacked", filter="data")
    (folder,) = (output / "unpacked").iterdir()
    return {
        str(file.relative_to(folder)): file.read_text(encoding="utf-8", errors="surrogateescape")
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def _write(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
