"""Formats of exported jobs, by the names of their files."""

from __future__ import annotations

from pathlib import Path

SUFFIXES = {".swf": "swf", ".swf.gz": "swf", ".parquet": "parquet", ".csv": "evalys"}
"""Endings of a file's name, and the formats that they stand for."""
EXPORT_FORMATS = ("swf", "parquet", "evalys")


def format_of(path: Path) -> str:
    """The format that the name of a file asks for. Raises ValueError where it asks for none."""
    name = path.name.lower()
    for suffix, file_format in SUFFIXES.items():
        if name.endswith(suffix):
            return file_format
    raise ValueError(
        f"{path}: its name tells no format: let it end in {', '.join(SUFFIXES)}, or give --format {', '.join(EXPORT_FORMATS)}"
    )
