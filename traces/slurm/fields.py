"""The columns that sacct can print, and how a name stands for one of them."""

from __future__ import annotations

import re

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
