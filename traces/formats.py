"""Which format a log has, from the first lines of its files, and the message for a file that has none.

Names logs of other systems by their first lines, and says how they become logs that can be read.
"""

from __future__ import annotations

import re
import tarfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from traces.common.blocks import first_bytes
from traces.common.log import LogError, log_files
from traces.slurm.columns import delimiter_of, is_header_line, looks_like_sacct
from traces.slurm.document import is_document

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
_SLURM_DAEMON = re.compile(r"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[^\]]*\] ")
_PBS_DAEMON = re.compile(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(\.\d+)?;[0-9a-fA-F]{4};[^;]*;")
_DAEMONS = {
    "the log of a daemon of Slurm (slurmctld, slurmd or slurmdbd)": (
        _SLURM_DAEMON,
        "Slurm's accounting is what `sacct --allusers --parsable2` prints",
    ),
    "the log of a daemon of PBS (server, scheduler or mom)": (
        _PBS_DAEMON,
        "PBS's accounting is in server_priv/accounting, a file a day",
    ),
}
"""Name -> (how its lines begin, where the accounting of that system is)."""


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


def daemon_log(texts: list[str]) -> str:
    """Which daemon wrote these lines, and where the accounting is. "" where that was no daemon. texts: lines that are not blank."""
    for name, (begins, accounting) in _DAEMONS.items():
        if 2 * sum(begins.match(text) is not None for text in texts) > len(texts):
            return f"{name}, which has no accounting of jobs. {accounting} (docs/guides/bring-your-own-logs.md)"
    return ""


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


# --- formats


EXPECTED = (
    "Expected SWF (18 numbers a line, ';' comments), PBS accounting (MM/DD/YYYY HH:MM:SS;type;id;key=value ...) or Slurm's "
    "sacct -P (columns between |, named on the first line) or sacct --json"
)
WAY_OUT = (
    "If it is one of them, say which with `tracehouse ingest --format`, or `format` in the catalogue. Name the columns of "
    "sacct's lines without a header with `--columns`, or `columns`"
)
_HEAD_BYTES = 65536
_HEAD_BYTES_OF_MANY = 8192
_SHOWN_LINES, _SHOWN_LETTERS, _SHOWN_FILES = 2, 60, 3
_PBS = re.compile(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;[^;]*;[^;]*;")
_PBS_OF_ANOTHER_DATE = re.compile(r"[^;=|]{6,40};[A-Za-z];[^;]*;.*=")
_SACCT_OF_OTHER_COLUMNS = re.compile(r"\d[^|]*\|(?:[^|]*\|){2}")
_FIELD_NUMBER = re.compile(r"[+-]?[\d.]+")
_FIELDS_OF_SWF, _NUMBERS_OF_SWF = 18, 15


@dataclass(frozen=True)
class FileLook:
    """What the first lines of a file look like.

    format: "swf", "pbs" or "slurm". None for none of them, and for an empty file. otherwise: what it looks like instead, or "".
    few: how many lines look like its likeliest format, where these are some but less than half, else "". beginning: its first
    lines, shortened, without anything that a terminal would act on.
    """

    path: Path
    format: str | None
    otherwise: str = ""
    few: str = ""
    beginning: str = ""


@dataclass(frozen=True)
class LogLook:
    """format: of the log. odd: its files that do not look like a log, or have more lines of no format than of this one."""

    format: str
    odd: list[FileLook]


def guess_format(path: Path) -> str:
    """ "swf", "pbs" or "slurm", see `look_at_log`. Raises LogError as it does."""
    return look_at_log(path).format


def look_at_log(path: Path) -> LogLook:
    """Which format a log has, from the first lines of each file.

    A file has a format if at least one in three of its first lines has it. Comments and blank lines do not count.
    Raises LogError when no file has a format, when files have different ones, or when more than half of the files of a folder have
    none. The message says what was looked for, how the file begins, and what to do.
    """
    files = log_files(path)
    looks = [look_at_file(path)] if files == [path] else [_look_at_file_or_fault(file) for file in files]
    filled = [look for look in looks if look.format or look.otherwise or look.beginning]
    if not filled:
        raise LogError(f"{path}: the log is empty; check the file, or whether its copy has finished")
    formats = {look.format for look in filled if look.format}
    if not formats:
        raise LogError(_message_of_none(filled))
    if len(formats) > 1 or 2 * sum(look.format is None for look in filled) > len(filled):
        raise LogError(_message_of_mixed(path, filled))
    return LogLook(formats.pop(), [look for look in filled if look.few or not look.format])


def look_at_file(path: Path, most: int = _HEAD_BYTES) -> FileLook:
    """What a file looks like, from its first `most` bytes. Raises LogError when it cannot be read."""
    head = first_bytes(path, most)
    if kind := no_text(head):
        return FileLook(path, None, kind)
    if is_document(head):
        return FileLook(
            path, "slurm", beginning=shown(head[:_SHOWN_LETTERS].decode("utf-8", errors="backslashreplace"))
        )
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if len(head) == most and len(lines) > 1:
        lines.pop()  # it may be cut
    texts = [text for line in lines if (text := line.decode("utf-8", errors="backslashreplace").strip())]
    beginning = ", ".join(shown(text) for text in texts[:_SHOWN_LINES])
    return _look_at_lines(path, texts, beginning) if texts else FileLook(path, None)


def refuse_no_text(path: Path) -> None:
    """Raises LogError for a file that holds no text, such as an archive, though it was said to be a log."""
    if kind := no_text(first_bytes(path, 1024)):
        raise LogError(f"{path}: it looks like {kind}")


def shown(text: str) -> str:
    """Text in quotes for a message: shortened, and without anything that a terminal would act on."""
    cut = text[:_SHOWN_LETTERS] + ("..." if len(text) > _SHOWN_LETTERS else "")
    return '"' + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut) + '"'


def _look_at_file_or_fault(path: Path) -> FileLook:
    try:
        return look_at_file(path, _HEAD_BYTES_OF_MANY)
    except LogError as error:  # the reader reports it again, if other files show the format
        return FileLook(path, None, str(error).removeprefix(f"{path}: "))


def _look_at_lines(path: Path, texts: list[str], beginning: str) -> FileLook:
    """What a file of text looks like. texts: its first lines, not blank."""
    header = next((text for text in texts[:10] if is_header_line(text)), "")
    delimiter = delimiter_of(header) if header else "|"
    columns = header.count(delimiter)
    kinds = Counter(_kind_of(text, delimiter, columns) for text in texts)
    comments = kinds.pop("comment", 0)
    lines = kinds.total()
    if not lines:
        return FileLook(path, "swf", beginning=beginning)
    log_format, count = max(((kind, kinds[kind]) for kind in ("pbs", "slurm", "swf")), key=lambda item: item[1])
    few = f"only {count} of the first {lines} lines look like {log_format}" if 2 * count < lines else ""
    if 3 * count >= lines:
        return FileLook(path, log_format, few=few, beginning=beginning)
    if count:
        return FileLook(path, None, few=few, beginning=beginning)
    otherwise = "" if comments else _other_kind(texts, kinds, lines)
    if comments:
        records = [text for text in texts if not text.startswith(";")]
        first, otherwise = records[0], foreign_format(records)
    if comments and not otherwise:
        otherwise = f"SWF's comments, but a line with {len(first.split())} fields: {shown(first)}"
    return FileLook(path, None, otherwise, beginning=beginning)


def _kind_of(text: str, delimiter: str, columns: int) -> str:
    """delimiter: between the columns of sacct. columns: how many of them are in its header line, 0 without one."""
    if _PBS_DAEMON.match(text):
        return ""
    if _PBS.match(text):  # this comes first, because a record may have 18 words
        return "pbs"
    if looks_like_sacct(text) or (columns and text.count(delimiter) >= columns):
        return "slurm"
    if text.startswith(";"):
        return "comment"
    words = text.split()
    if len(words) == _FIELDS_OF_SWF and sum(bool(_FIELD_NUMBER.fullmatch(word)) for word in words) >= _NUMBERS_OF_SWF:
        return "swf"
    if _PBS_OF_ANOTHER_DATE.match(text):
        return "pbs of another date"
    return "sacct of other columns" if _SACCT_OF_OTHER_COLUMNS.match(text) else ""


def _other_kind(texts: list[str], kinds: Counter[str], lines: int) -> str:
    """What a file that is not a log looks like, from its first lines and the kinds of all."""
    if 2 * kinds["pbs of another date"] >= lines:
        return "PBS accounting with another kind of date; write dates as MM/DD/YYYY HH:MM:SS"
    if 2 * kinds["sacct of other columns"] >= lines:
        return "sacct's lines without a header; name their columns with `--columns JobID,User,Submit,...`"
    if daemon := daemon_log(texts):
        return daemon
    first = texts[0]
    if first[0] in "{[":
        return "JSON, but not that of `sacct --json`; print the jobs that are over with `sacct -P` or `sacct --json`"
    if first.startswith("<"):
        return "a web page or XML; was it downloaded without logging in?"
    return foreign_format(texts)


def _message_of_none(looks: list[FileLook]) -> str:
    look = looks[0]
    more = f" None of {len(looks)} files is a log." if len(looks) > 1 else ""
    otherwise = f"It looks like {look.otherwise}. " if look.otherwise else ""
    if look.few:
        otherwise = f"{look.few.capitalize()}. "
    beginning = f"It begins with {look.beginning}. " if look.beginning else ""
    return f"{look.path}: unknown log format. {otherwise}{beginning}{EXPECTED}.{more} {WAY_OUT}"


def _message_of_mixed(path: Path, looks: list[FileLook]) -> str:
    by_kind: dict[str, list[str]] = {}
    for look in looks:
        by_kind.setdefault(look.format or "no log", []).append(look.path.name)
    listed = []
    for kind, names in sorted(by_kind.items()):
        more = f" and {len(names) - _SHOWN_FILES} more" if len(names) > _SHOWN_FILES else ""
        listed.append(f"{kind}: {', '.join(shown(name) for name in names[:_SHOWN_FILES])}{more}")
    return (
        f"{path}: a folder of mixed files ({'; '.join(listed)}). A source has one format: put the files of each into a folder of "
        "their own. Or say which one counts with `tracehouse ingest --format`: lines of other files are then rejected"
    )
