"""Where a lake is: a catalogue in PostgreSQL and a folder, or a bucket, of Parquet files. And what may be said of it in messages."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from warehouse.errors import WarehouseError

PLACE = "TRACEHOUSE_WAREHOUSE"
DATA = "TRACEHOUSE_WAREHOUSE_DATA"
PREFIX = "ducklake:postgres:"
STORES = ("s3://", "gs://", "gcs://", "r2://")
"""What the address of a bucket begins with: the object stores that DuckDB's extension httpfs reads and writes."""
_SECRET = re.compile(r"(?i)(\b(?:password|passwd|sslpassword|secret)\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&\"']+)")
_SECRET_OF_ADDRESS = re.compile(r"(//[^/\s:@]*):[^/\s]*@")


@dataclass(frozen=True)
class LakePlace:
    """catalogue: how libpq finds the database, as words (`dbname=... host=...`) or an address (`postgresql://...`). data: a folder that
    all machines see under this path, or an address such as s3://bucket/folder. folder: of this home, for files of this machine."""

    catalogue: str
    data: str
    folder: Path

    def __post_init__(self) -> None:
        if scrubbed(self.catalogue) != self.catalogue:
            raise WarehouseError(
                f"{PLACE} holds a password. Take it out: set PGPASSWORD, or write a password file and set PGPASSFILE "
                "(docs/guides/lake.md tells how)"
            )

    @property
    def name(self) -> str:
        """Of the warehouse, in messages."""
        return f"{PREFIX}{self.catalogue}"

    @property
    def is_folder(self) -> bool:
        """Whether the data are in a folder, and not in an object store."""
        return not self.data.startswith(STORES)

    @property
    def extensions(self) -> tuple[str, ...]:
        """Those of DuckDB that its tables need."""
        return ("ducklake", "postgres_scanner") if self.is_folder else ("ducklake", "postgres_scanner", "httpfs")

    @property
    def tables(self) -> str:
        """Where the Parquet files of the tables are."""
        return f"{self.data.rstrip('/')}/tables/"

    @property
    def artefacts(self) -> Path:
        """The folder of files that rows name. Beside an object store it is that of the home, which all machines must share."""
        return Path(self.data) if self.is_folder else self.folder


def lake_of_environment(folder: Path) -> LakePlace | None:
    """The lake that TRACEHOUSE_WAREHOUSE names; None where it is not set, and the warehouse is a file. folder: of this home.

    Raises WarehouseError for other values.
    """
    text = os.environ.get(PLACE, "")
    return lake_of_text(text, os.environ.get(DATA, ""), folder) if text else None


def lake_of_text(text: str, data: str, folder: Path) -> LakePlace:
    """A lake. Raises WarehouseError, with what is expected."""
    if not text.startswith(PREFIX) or not text[len(PREFIX) :].strip():
        raise WarehouseError(
            f"{PLACE}: {scrubbed(text)!r} is no place of a warehouse. Write '{PREFIX}dbname=NAME host=HOST', or leave it out for the "
            "file of this home"
        )
    if not data:
        raise WarehouseError(
            f"{PLACE} names a lake, and {DATA} is not set. Set it to the folder that all machines share, such as /srv/tracehouse"
        )
    if not data.startswith(STORES) and not Path(data).is_absolute():
        raise WarehouseError(
            f"{DATA}: {data!r} is no absolute path, and no address of a bucket ({', '.join(STORES)}). Give the whole path, which must be "
            "the same on all machines"
        )
    return LakePlace(text[len(PREFIX) :].strip(), data, folder)


def scrubbed(text: str) -> str:
    """A text without passwords: those of connection words and addresses, and that of PGPASSWORD."""
    text = _SECRET_OF_ADDRESS.sub(r"\1:***@", _SECRET.sub(r"\1***", text))
    password = os.environ.get("PGPASSWORD", "")
    return text.replace(password, "***") if len(password) > 3 else text
