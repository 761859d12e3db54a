"""Which format a log has."""

from __future__ import annotations

from pathlib import Path

from traces.common.blocks import first_bytes
from traces.common.log import LogError, log_files
from traces.slurm.columns import looks_like_sacct


def guess_format(path: Path) -> str:
    """ "swf", "pbs" or "slurm", from the first lines of the log. Raises LogError when it is none of them."""
    empty = True
    for file in log_files(path):
        content = first_bytes(file)
        empty &= not content.strip()
        for raw in content.split(b"\n"):
            text = raw.decode("utf-8", errors="replace").strip()
            if not text:
                continue
            if text.count(";") >= 3 and text[2:3] == "/" and text[5:6] == "/":
                return "pbs"  # first: a record may well have 18 words
            if looks_like_sacct(text):
                return "slurm"
            if text.startswith(";") or len(text.split()) == 18:
                return "swf"
    if empty:
        raise LogError(f"{path}: the log is empty; check the file, or whether its copy has finished")
    raise LogError(
        f"{path}: unknown log format; expected SWF (18 numbers a line, ';' comments), PBS accounting "
        "(date;type;id;key=value ...) or Slurm's sacct -P (columns between |, named on the first line): name it with "
        "`format =` in the catalogue or `tracehouse ingest --format`"
    )
