"""The columns of sacct's output: named by a header line of the log, by the catalogue, or taken for granted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from traces.common.log import LogError
from traces.common.spans import lines_of
from traces.slurm.fields import delimiter_of, field_of, names_between

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


@dataclass(frozen=True)
class SacctColumns:
    """Which columns a log has.

    names: as sacct calls them, in lower case and in their order; other names as they are. header: the line that names them, or "".
    delimiter: what is between them. unknown: names that sacct does not have, as the log or the catalogue writes them.
    """

    names: list[str]
    header: str
    delimiter: str
    unknown: tuple[str, ...] = ()


def is_header_line(text: str) -> bool:
    """Whether a line names sacct's columns."""
    return bool(delimiter_of(text))


def looks_like_sacct(text: str) -> bool:
    """Whether a line may be sacct's: a header, or a job with the columns of SACCT_COLUMNS."""
    if is_header_line(text):
        return True
    fields = text.split("|")
    if len(fields) < len(SACCT_COLUMNS) or not fields[0][:1].isdigit():
        return False
    submit = fields[SACCT_COLUMNS.index("Submit")]
    return "T" in submit or (submit.isdigit() and len(submit) >= 9)


def columns_of(path: Path, first: list[str], given: str) -> SacctColumns:
    """The columns of a log.

    first: the first lines of the file. given: the columns that the catalogue names, for a log without a line that names them.
    A name may be shortened and have any case, as sacct takes it. Raises LogError when a column is named twice, or when none has the
    job's id.
    """
    header = next((text for text in first[:10] if is_header_line(text)), "")
    if header:
        delimiter = delimiter_of(header)
        words = names_between(header, delimiter)
    else:
        words = [name for name in names_between(given.replace(",", "|"), "|") if name] or [
            name.lower() for name in SACCT_COLUMNS
        ]
        delimiter = _delimiter_of_lines(first, len(words))
    names = [field_of(word) or word for word in words]
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
    return SacctColumns(names, header, delimiter, tuple(word for word in words if field_of(word) is None))


def _delimiter_of_lines(first: list[str], num_columns: int) -> str:
    """What divides most lines into so many columns; a `|` where nothing does."""
    for delimiter in ("|", "\t", ";", ","):
        fitting = sum(text.removesuffix(delimiter).count(delimiter) == num_columns - 1 for text in first)
        if 2 * fitting > len(first):
            return delimiter
    return "|"


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
