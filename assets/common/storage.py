"""Where things are on disk: the database, and files too big for it (their path and hash are in the database)."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

from traces.catalogue.places import home
from warehouse import Warehouse

KEPT_UNUSED_S = 3600
"""A model file that no row names is kept this long: the run that wrote it may be about to commit its row."""


def data_folder() -> Path:
    """Everything derived; remove it, materialize, and the same comes back."""
    return home() / "warehouse" / "data"


def open_warehouse() -> Warehouse:
    """The warehouse of `home()`; the file is made by the first write."""
    return Warehouse(data_folder() / "tracehouse.duckdb")


def report_path(source: str) -> Path:
    """Where the HTML report of a source is written."""
    return data_folder() / "reports" / f"{source}.html"


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file that appears complete or not at all, whatever else is running or dying."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    temporary.write_bytes(content)
    temporary.replace(path)


def store_model(source: str, name: str, content: bytes) -> tuple[str, str]:
    """Keeps a model file; returns (path below the data folder, SHA-256), as the database stores them.

    The name carries the hash, so that a file never changes under the row that names it.
    """
    digest = hashlib.sha256(content).hexdigest()
    path = data_folder() / "models" / source / f"{name}-{digest[:12]}.json"
    write_whole(path, content)
    return path.relative_to(data_folder()).as_posix(), digest


def read_model(file: str, sha256: str) -> bytes:
    """The content of a model file that the database names. Raises ValueError when it is missing or not what it was."""
    path = data_folder() / file
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise ValueError(f"{path}: the model file is gone; train it again with `tracehouse run`") from None
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ValueError(
            f"{path}: the model file is not the one that was trained; train it again with `tracehouse run`"
        )
    return content


def remove_unused_models(source: str, name: str, used: Iterable[str]) -> None:
    """Removes older files of a model that no row names any more."""
    kept = set(used)
    for path in (data_folder() / "models" / source).glob(f"{name}-*.json"):
        unused = path.relative_to(data_folder()).as_posix() not in kept
        if unused and time.time() - path.stat().st_mtime > KEPT_UNUSED_S:
            path.unlink(missing_ok=True)
