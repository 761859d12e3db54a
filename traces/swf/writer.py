"""Standard Workload Format: writer."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl

from traces.swf.fields import FIELDS


def write_swf(jobs: pl.DataFrame, header: list[tuple[str, str]], path: Path) -> None:
    """Writes `jobs` as SWF, gzipped for `.gz`; see `swf_content`."""
    path.write_bytes(swf_content(jobs, header, packed=path.suffix.lower() == ".gz"))


def swf_content(jobs: pl.DataFrame, header: list[tuple[str, str]], packed: bool) -> bytes:
    """`jobs` (columns of `FIELDS`; missing columns and nulls become -1) as SWF. packed: with gzip.

    The bytes depend on the arguments only (the gzip time stamp is zero).
    """
    columns = []
    for name in FIELDS:
        column = pl.col(name).fill_null(-1) if name in jobs.columns else pl.lit(-1)
        columns.append(column.cast(pl.Utf8).str.strip_suffix(".0").alias(name))  # whole where it is whole
    lines = jobs.select(pl.concat_str(columns, separator=" "))
    text = "".join(f"; {key}: {value}\n" for key, value in header) + "\n".join(lines.to_series().to_list()) + "\n"
    content = text.encode()
    return gzip.compress(content, mtime=0) if packed else content
