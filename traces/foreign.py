"""Names logs of other systems by their first lines, and says how they become logs that can be read."""

from __future__ import annotations

import re
import tarfile
from collections import Counter
from collections.abc import Callable

CONVERT = (
    "write a line of SWF for each job, or a table with the columns JobID|User|Submit|Start|End|State|NCPUS|Timelimit "
    "(docs/guides/bring-your-own-logs.md)"
)
_NO_TEXT = {
    b"PK\x03\x04": "a zip archive or an Excel workbook; export the sheet as text, or unpack it",
    b"\x1f\x8b": "gzip data; give it a name that ends in .gz",
    b"\xfd7zXZ\0": "xz data; give it a name that ends in .xz",
    b"\x28\xb5\x2f\xfd": "zstd data; give it a name that ends in .zst",
    b"BZh": "bzip2 data; unpack it with bunzip2",
    b"\xff\xfe": "UTF-16 text; convert it with `iconv -f UTF-16 -t UTF-8`",
    b"\xfe\xff": "UTF-16 text; convert it with `iconv -f UTF-16 -t UTF-8`",
}
_TAR_BLOCK = 512
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_SWF_FIELDS, _LEAST_SWF_FIELDS, _SWF_SHARE = 18, 6, 0.75
"""Lines of another width are taken for SWF where they have this many fields, and this share of them are numbers."""
_SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", " ": "blanks"}

_LSF = re.compile(r'"[A-Z]+_[A-Z_]+" "\d+(\.\d+)*" \d{9,}')
_GRID_ENGINE = re.compile(r"[^:\s]+:[^:]*:[^:]+:[^:]+:[^:]*:\d+:[^:]*:-?\d+:\d+:\d+:\d+:-?\d+:")
_HTCONDOR = re.compile(r"\*\*\* .*\bClusterId *=|(ClusterId|GlobalJobId|MyType|JobStatus) *= *\S")
_HTCONDOR_EVENTS = re.compile(r"\d{3} \(\d+\.\d+\.\d+\) \d")
_MAUI_CLASS = re.compile(r"\[[^\]\s]+:\d+\]")
_GRID_WORKLOADS = re.compile(r"[#;\s]*jobid\s+submittime\s+waittime\s+runtime\s+nprocs", re.IGNORECASE)
_GRID_WORKLOADS_FIELDS = 29


def no_text(head: bytes) -> str:
    """What a file is that holds no text, from its first bytes, and what to do with it. "" for text."""
    if _is_tar(head):
        return "a tar archive; unpack it into a folder"
    for begin, kind in _NO_TEXT.items():
        if head.startswith(begin):
            return kind
    first = head[:1000]
    return "binary data" if first.strip(b"\0") and first.count(b"\0") > len(first) / 4 else ""


def foreign_format(texts: list[str]) -> str:
    """What these lines are the log of, and how to convert it. "" where that is not known.

    texts: the first lines of a file that are not blank, none of them of a format that is read.
    """
    for name, is_of in _FORMATS.items():
        if is_of(texts):
            return f"{name}; {CONVERT}"
    if texts[0].split()[:3] == ["JOBID", "PARTITION", "NAME"]:
        return "the table of squeue, which shows the queue of a moment; print the jobs that are over with `sacct -P`"
    return _table(texts[0]) or _other_width(texts)


def _is_tar(head: bytes) -> bool:
    """Whether the first bytes are a header of tar, old or new: it has a checksum."""
    if len(head) < _TAR_BLOCK:
        return False
    try:
        tarfile.TarInfo.frombuf(head[:_TAR_BLOCK], "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def _is_maui(texts: list[str]) -> bool:
    words = texts[0].split()
    return len(words) >= 20 and any(_MAUI_CLASS.fullmatch(word) for word in words[6:9])


def _is_grid_workloads(texts: list[str]) -> bool:
    if any(_GRID_WORKLOADS.match(text) for text in texts[:50]):
        return True
    words = next((text.split() for text in texts if not text.startswith(("#", ";"))), [])
    return len(words) == _GRID_WORKLOADS_FIELDS and all(_NUMBER.fullmatch(word) for word in words[:5])


def _is_batsim(texts: list[str]) -> bool:
    names = {name.strip(' "').lower() for name in texts[0].split(",")}
    return bool(names & {"jobid", "job_id"}) and bool(names & {"submission_time", "starting_time", "start_time"})


_FORMATS: dict[str, Callable[[list[str]], bool]] = {
    "LSF's accounting (lsb.acct)": lambda texts: any(_LSF.match(text) for text in texts),
    "Grid Engine's accounting": lambda texts: any(_GRID_ENGINE.match(text) for text in texts),
    "HTCondor's history of jobs": lambda texts: any(_HTCONDOR.match(text) for text in texts),
    "HTCondor's log of events": lambda texts: bool(_HTCONDOR_EVENTS.match(texts[0])),
    "a workload trace of Maui or Moab": _is_maui,
    "the Grid Workloads Format (GWF)": _is_grid_workloads,
    "a CSV file of jobs, as Batsim and OAR write it": _is_batsim,
}
"""Name -> whether the first lines of a file are of it."""


def _table(first: str) -> str:
    """sacct's columns between something else than |."""
    for separator, words in _SEPARATORS.items():
        names = [name.strip(' "').lower() for name in first.split(separator)]
        if len(names) > 1 and ("jobid" in names or "jobidraw" in names):
            return f"sacct's columns, but between {words}; print them with `sacct -P`"
    return ""


def _other_width(texts: list[str]) -> str:
    """SWF with another number of fields."""
    lines = [text.split() for text in texts if not text.startswith(";")]
    width, count = Counter(len(words) for words in lines).most_common(1)[0]
    of_width = [words for words in lines if len(words) == width]
    numbers = sum(bool(_NUMBER.fullmatch(word)) for words in of_width for word in words)
    if (
        width == _SWF_FIELDS
        or width < _LEAST_SWF_FIELDS
        or 2 * count < len(lines)
        or numbers < _SWF_SHARE * width * count
    ):
        return ""
    return (
        f"SWF with another number of fields: {width} numbers a line, SWF has {_SWF_FIELDS}; leave out those that are too many, and "
        "write -1 for those that are unknown"
    )
