"""Pseudonyms for the people in a log: a keyed hash in place of a name.

The key is a file beside the catalogue, never in the database. A person who has only the warehouse cannot find out who is who. A person
who has the key can turn any name into its pseudonym, and so look back. The same name has the same pseudonym in all files and
sources.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterable
from pathlib import Path

import polars as pl

PSEUDONYM_KINDS = {
    "user": ("user_name", "requestor"),
    "group": ("group_name",),
    "account": ("account",),
    "project": ("project", "reservation"),
    "job": ("job_name", "submit_line", "admin_comment"),
}
"""What can be replaced, and the columns of the records that contain it.

A reservation is named after a project, a course or a person. But PBS numbers them (R183.head), and these numbers stay. The line of a
submission and the comment of an administrator are free text with paths and names in it: as a whole they become one pseudonym, which says
only whether two of them are alike.
"""

DEFAULT_KINDS = tuple(PSEUDONYM_KINDS)
_NUMBERED = re.compile(r"[RSM][0-9]+\.[\w.-]+")
"""PBS's own id of a reservation. Its records and queue have the same one."""
_MOST_REMEMBERED = 200_000
PSEUDONYM_LENGTH = 10
"""Characters of a pseudonym, with 5 bits each. Among a million names, the chance that two are alike is 1 in 2,000."""


class PseudonymError(Exception):
    """A key that cannot be used. The message names the file and the remedy."""


def read_key(path: Path) -> bytes:
    """The key in a file. If there is none, it is made at random, readable by its owner only. Raises PseudonymError."""
    if not path.exists():
        # a name of its own, because threads and other hosts may have the number of this process
        new = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        try:
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(secrets.token_hex(32) + "\n")
                file.flush()
                os.fsync(file.fileno())
            os.link(new, path)  # complete or not at all, and never over a key that another process has made meanwhile
        except FileExistsError:
            pass
        finally:
            new.unlink(missing_ok=True)
    text = path.read_text(encoding="ascii", errors="replace").strip()
    if len(text) < 32:
        raise PseudonymError(
            f"{path}: expected a key of at least 32 characters, found {len(text)}. Put the right one back, because without it "
            "new pseudonyms differ from those in the warehouse"
        )
    return text.encode()


def fingerprint_of(key: bytes) -> str:
    """What may be stored of a key, to recognize it: it cannot be turned back, since keys are made at random."""
    return hashlib.sha256(key).hexdigest()


def pseudonym_of(key: bytes, kind: str, name: str) -> str:
    """Such as user-k3m5a7q2xy. A user and a group of the same name have different ones."""
    digest = hmac.digest(key, f"{kind}\0{name}".encode(), "sha256")
    return f"{kind}-{base64.b32encode(digest).decode().lower()[:PSEUDONYM_LENGTH]}"


def pseudonym_hint(kind: str, name: str, names: Iterable[str]) -> str:
    """What to do for a name that is none of these because they are pseudonyms, such as of a --user. "" where none of them is one, or the
    name is one, too. kind: of PSEUDONYM_KINDS, else ""."""
    if name.startswith(f"{kind}-") or not any(each.startswith(f"{kind}-") for each in names):
        return ""
    return f". The log has pseudonyms: `tracehouse pseudonym {kind} {name}` prints that of this {kind}"


class Renamed(dict[bytes, bytes]):
    """Names (UTF-8) of a column to their pseudonyms, made when they are first needed. An empty name stays empty."""

    def __init__(self, kind: str, key: bytes, column: str = "") -> None:
        super().__init__()
        self.kind, self.key, self.column = kind, key, column

    def __missing__(self, name: bytes) -> bytes:
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        stays = not name or _names_nobody(self.column, name.decode())
        self[name] = new = name if stays else pseudonym_of(self.key, self.kind, name.decode()).encode()
        return new


def _names_nobody(column: str, name: str) -> bool:
    return column == "reservation" and _NUMBERED.fullmatch(name) is not None


def renames(kinds: tuple[str, ...], key: bytes) -> dict[str, Renamed]:
    """Column -> what replaces the names in it."""
    return {column: Renamed(kind, key, column) for kind in kinds for column in PSEUDONYM_KINDS[kind]}


def replace_names(
    records: pl.DataFrame, kinds: tuple[str, ...], key: bytes, keep_pseudonyms: bool = False
) -> pl.DataFrame:
    """The records with the names of these kinds replaced. Unknown names stay unknown.

    keep_pseudonyms: names that look like pseudonyms of their kind are kept too.
    """
    for kind in kinds:
        for column in PSEUDONYM_KINDS[kind]:
            if column in records.columns and records[column].null_count() < records.height:
                names = records[column].unique()
                kept = re.compile(f"{kind}-[a-z2-7]{{{PSEUDONYM_LENGTH}}}" if keep_pseudonyms else "")
                new = [
                    name
                    if not name or kept.fullmatch(name) or _names_nobody(column, name)
                    else pseudonym_of(key, kind, name)
                    for name in names.to_list()
                ]
                replaced = records[column].replace_strict(names, pl.Series(new, dtype=pl.Utf8), return_dtype=pl.Utf8)
                records = records.with_columns(replaced)
    return records
