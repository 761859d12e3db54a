"""JSON as qstat of PBS prints it, also where a user's variable or comment makes it no JSON.

Older servers write values as they are: `"X":005`, `"X":"\\'a\\'"`, `"comment":"reboot "disk clean""`. Each job is read by itself, strictly
where that is possible. Otherwise a text ends at the quote that the next key or the end of its object follows.
"""

from __future__ import annotations

import json
import re
from typing import Any

JSON = json.JSONDecoder(strict=False)
_JOB = re.compile(r'[{,]\s*"(\d+(?:\[\d*\])?(?:\.[\w.-]+)?)"\s*:\s*(?=\{)')
"""The id of a job, before its object."""
_TIMESTAMP = re.compile(r'"timestamp"\s*:\s*(\d{1,12})')
_KEY = re.compile(r'\s*"((?:[^"\\\n]|\\.)*)"\s*:\s*')
_END = r'\s*(?:,\s*"(?:[^"\\\n]|\\.)*"\s*:|\}\s*(?:[,}\]]|$)|\}\s*$)'
"""What comes after a value of an object: the next key, or the end of the object."""
_TEXT = re.compile(rf'"(.*?)"(?={_END})', re.DOTALL)
_BARE = re.compile(rf"(.*?)(?={_END})", re.DOTALL)
_SPACE = re.compile(r"\s*")


def jobs_of_document(text: str) -> dict[str, Any] | None:
    """The document of `qstat -f -F json`: "timestamp", and "Jobs" by id. A job that cannot be read is None. None for a text without
    jobs, or one that ends before its last brace."""
    heads = list(_JOB.finditer(text))
    if not heads or not re.search(r'"Jobs"\s*:', text[: heads[0].end()]) or not text.rstrip().endswith("}"):
        return None
    jobs: dict[str, Any] = {}
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        of_job = text[head.end() : following.start() if following else len(text)]
        jobs[head.group(1)] = _job(of_job)
    stamp = _TIMESTAMP.search(text, 0, heads[0].start())
    return {"timestamp": int(stamp.group(1)) if stamp else None, "Jobs": jobs}


def _job(text: str) -> dict[str, Any] | None:
    """The object at the beginning of the text, behind which nothing but the ends of other objects may come."""
    try:
        job, end = JSON.raw_decode(text)
        if isinstance(job, dict) and not text[end:].strip(" \t\r\n,}"):
            return job
    except json.JSONDecodeError:
        pass
    parsed = _object(text, 0, 0)
    return parsed[0] if parsed and not text[parsed[1] :].strip(" \t\r\n,}") else None


def _object(text: str, begin: int, depth: int) -> tuple[dict[str, Any], int] | None:
    """The object that begins here, and where it ends. None where it cannot be read."""
    values: dict[str, Any] = {}
    i = begin + 1
    while True:
        i = _skip(text, i)
        if text[i : i + 1] == "}":
            return values, i + 1
        key = _KEY.match(text, i)
        if key is None:
            return None
        parsed = _value(text, key.end(), depth)
        if parsed is None:
            return None
        values[key.group(1)], i = parsed
        i = _skip(text, i)
        if text[i : i + 1] == ",":
            i += 1


def _value(text: str, i: int, depth: int) -> tuple[Any, int] | None:
    if text[i : i + 1] == "{" and depth < 3 and (parsed := _object(text, i, depth + 1)):
        return parsed
    quoted = _TEXT.match(text, i)
    if quoted:
        return _unescaped(quoted.group(1)), quoted.end()
    bare = _BARE.match(text, i)
    if bare is None:
        return None
    word = bare.group(1).strip()
    return (int(word) if re.fullmatch(r"0|-?[1-9]\d{0,17}", word) else word), bare.end()


def _skip(text: str, i: int) -> int:
    space = _SPACE.match(text, i)
    return space.end() if space else i


def _unescaped(raw: str) -> str:
    """A text as JSON has it, or as it stands where JSON does not allow it."""
    try:
        value = JSON.decode(f'"{raw}"')
    except json.JSONDecodeError:
        return raw
    return str(value)
