"""The columns of sacct's output: named by a header line of the log, by the catalogue, or taken for granted.

The columns that sacct can print, and how a name stands for one of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from traces.common.log import LogError
from traces.common.spans import lines_of

SACCT_FIELDS = tuple(
    """
    Account AdminComment AllocCPUS AllocGRES AllocNodes AllocTRES AssocID AveCPU AveCPUFreq AveDiskRead AveDiskWrite AvePages AveRSS
    AveVMSize BlockID Cluster Comment Constraints ConsumedEnergy ConsumedEnergyRaw Container CPUTime CPUTimeRAW DBIndex DerivedExitCode
    Elapsed ElapsedRaw Eligible End ExitCode Extra FailedNode Flags GID Group JobID JobIDRaw JobName Layout Licenses MaxDiskRead
    MaxDiskReadNode MaxDiskReadTask MaxDiskWrite MaxDiskWriteNode MaxDiskWriteTask MaxPages MaxPagesNode MaxPagesTask MaxRSS MaxRSSNode
    MaxRSSTask MaxVMSize MaxVMSizeNode MaxVMSizeTask McsLabel MinCPU MinCPUNode MinCPUTask NCPUS NNodes NodeList NTasks Partition Planned
    PlannedCPU PlannedCPURAW Priority QOS QOSRAW QOSREQ Reason ReqCPUFreq ReqCPUFreqGov ReqCPUFreqMax ReqCPUFreqMin ReqCPUS ReqGRES
    ReqMem ReqNodes ReqTRES Reservation ReservationId Reserved Restarts ResvCPU ResvCPURAW SegmentSize SLUID Start State StdErr StdIn
    StdOut Submit SubmitLine Suspended SystemComment SystemCPU Timelimit TimelimitRaw TotalCPU TRESUsageInAve TRESUsageInMax
    TRESUsageInMaxNode TRESUsageInMaxTask TRESUsageInMin TRESUsageInMinNode TRESUsageInMinTask TRESUsageInTot TRESUsageOutAve
    TRESUsageOutMax TRESUsageOutMaxNode TRESUsageOutMaxTask TRESUsageOutMin TRESUsageOutMinNode TRESUsageOutMinTask TRESUsageOutTot UID
    User UserCPU WCKey WCKeyID WorkDir
    """.lower().split()
)
"""Names of all versions from 19.05 on, in lower case, in the order in which sacct looks a name up."""

_FEWEST_KNOWN = 3
_DELIMITER = re.compile(r"^\s*[A-Za-z]+(?:%-?\d+)?\s*?([^\w\s%-][^\w\s%]*|\t)\s*[A-Za-z]")


def field_of(name: str) -> str | None:
    """The column that sacct takes a name for, in any case. It is the first of its list that begins with the name, None for none."""
    name = name.lower()
    if name in SACCT_FIELDS:
        return name
    return next((field for field in SACCT_FIELDS if name and field.startswith(name)), None)


def names_between(text: str, delimiter: str) -> list[str]:
    """The words of a line that names columns, in lower case, without their widths (`JobName%30`)."""
    return [name.strip().partition("%")[0].lower() for name in text.strip().removesuffix(delimiter).split(delimiter)]


def delimiter_of(text: str) -> str:
    """What is between the columns that a line names; "" where it is no line of sacct that names columns.

    Between `|`, a line that names the job's id names columns. Between anything else most of its names have to be sacct's.
    """
    if "|" in text:
        match = _DELIMITER.match(text)
        delimiter = match.group(1) if match and "|" in match.group(1) else "|"
    else:
        match = _DELIMITER.match(text)
        delimiter = match.group(1) if match else ""
    if not delimiter:
        return ""
    names = names_between(text, delimiter)
    if len(names) < 2 or not {"jobid", "jobidraw"} & set(names):
        return ""
    num_known = sum(name in SACCT_FIELDS for name in names)
    return delimiter if delimiter == "|" or (num_known >= _FEWEST_KNOWN and 2 * num_known > len(names)) else ""


# --- columns


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
