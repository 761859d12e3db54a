"""The columns of sacct's output: named by a header line of the log, by the catalogue, or taken for granted."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from traces.common.log import LogError
from traces.common.spans import lines_of

SACCT_COLUMNS = (
    "JobID",
    "JobIDRaw",
    "Cluster",
    "Partition",
    "QOS",
    "Account",
    "Group",
    "GID",
    "User",
    "UID",
    "Submit",
    "Eligible",
    "Start",
    "End",
    "Elapsed",
    "ExitCode",
    "State",
    "NNodes",
    "NCPUS",
    "ReqCPUS",
    "ReqMem",
    "ReqTRES",
    "AllocTRES",
    "Timelimit",
    "NodeList",
    "JobName",
)
"""The columns of a log without a header line: those that Open XDMoD asks sacct for."""


def is_header_line(text: str) -> bool:
    """Whether a line names sacct's columns."""
    names = _names_of(text)
    return len(names) > 1 and ("jobid" in names or "jobidraw" in names)


def _names_of(text: str) -> list[str]:
    """Columns in lower case, without their widths (`JobName%30`)."""
    return [name.strip().partition("%")[0].lower() for name in text.rstrip("|").split("|")]


def looks_like_sacct(text: str) -> bool:
    """Whether a line may be sacct's: a header, or a job with the columns of SACCT_COLUMNS."""
    if is_header_line(text):
        return True
    fields = text.split("|")
    if len(fields) < len(SACCT_COLUMNS) or not fields[0][:1].isdigit():
        return False
    submit = fields[SACCT_COLUMNS.index("Submit")]
    return "T" in submit or (submit.isdigit() and len(submit) >= 9)


def columns_of(path: Path, first: list[str], given: str) -> tuple[list[str], str]:
    """The names of the columns, in lower case and in their order, and the line that names them, or "".

    first: the first lines of the file. given: the columns that the catalogue names, for a log without such a line.
    Raises LogError when a column is named twice, or when none has the job's id.
    """
    header = next((text for text in first[:10] if is_header_line(text)), "")
    if header:
        names = _names_of(header)
    else:
        names = [name for name in _names_of(given.replace(",", "|")) if name] or [
            name.lower() for name in SACCT_COLUMNS
        ]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        where = f"{path}: the header line" if header else f"{path}: `columns` of the source"
        raise LogError(f"{where} names column {twice!r} twice: name every column once")
    if "jobid" not in names and "jobidraw" not in names:
        raise LogError(
            f"{path}: no column JobID among {', '.join(names)}: correct `--columns`, or `columns` of the source"
        )
    if "jobid" not in names:
        names[names.index("jobidraw")] = "jobid"
    return names, header


def first_lines(head: bytes) -> list[str]:
    """The lines at the beginning of a file that are not blank."""
    return [line for line in text_lines(head[: head.rfind(b"\n") + 1] or head).to_list() if line.strip()]


def text_lines(content: bytes) -> pl.Series:
    """The lines as UTF-8 text: other bytes, and those that are zero, appear as \\xNN."""
    try:
        content.decode()
    except UnicodeDecodeError:
        content = content.decode("utf-8", errors="backslashreplace").encode()
    return lines_of(content.removeprefix(b"\xef\xbb\xbf").replace(b"\0", b"\\x00"))
