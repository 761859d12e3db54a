"""Which format a log has, from the first lines of its files, and the message for a file that has none."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from traces.common.blocks import first_bytes
from traces.common.log import LogError, log_files
from traces.foreign import foreign_format, no_text
from traces.slurm.columns import is_header_line, looks_like_sacct
from traces.slurm.document import is_document
from traces.slurm.fields import delimiter_of

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
_NUMBER = re.compile(r"[+-]?[\d.]+")
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
    if _PBS.match(text):  # this comes first, because a record may have 18 words
        return "pbs"
    if looks_like_sacct(text) or (columns and text.count(delimiter) >= columns):
        return "slurm"
    if text.startswith(";"):
        return "comment"
    words = text.split()
    if len(words) == _FIELDS_OF_SWF and sum(bool(_NUMBER.fullmatch(word)) for word in words) >= _NUMBERS_OF_SWF:
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
