"""Which rows of a feature table have to be written again: those that changed jobs may have touched.

The features of a job depend on what was known before its submission. So where a log grows, all rows before the first change stay.
`features.written_parts` says from which jobs the rows of each part were computed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import duckdb
import polars as pl

import sql
from assets.common.code.reach import essence
from warehouse import first_row

PART_JOBS = 250_000
"""How many jobs are read, and features written, at a time."""


@dataclass
class ChangedParts:
    """The parts of a source that are written again, from the first one that may have changed.

    features: name of the table in the schema `features`. code: modules, and names of statements, that decide its rows. first: the first
    part that is written. inputs: of the query features.part_inputs, a row for each part. heights: rows of each part in the table.
    """

    features: str
    source: str
    code: tuple[ModuleType | str, ...]
    first: int = 0
    inputs: pl.DataFrame = field(default_factory=pl.DataFrame)
    heights: list[int] = field(default_factory=list)

    @property
    def from_index(self) -> int:
        """Index of the first job whose row is written again."""
        return self.first * PART_JOBS

    def compare(self, connection: duckdb.DuckDBPyConnection) -> int:
        """Finds the first part to write, by the jobs of now and those of then. Returns it; as many as there are parts for none."""
        parameters = {"source": self.source, "part_jobs": PART_JOBS, "code": self._code_hash()}
        self.inputs = connection.sql(sql.load("features.part_inputs"), params=parameters).pl()
        then = connection.sql(
            "SELECT part, inputs, earliest, row_count FROM features.written_parts WHERE source = $source AND features = $features "
            "ORDER BY part",
            params={"source": self.source, "features": self.features},
        ).pl()
        both = self.inputs.join(then, on="part", how="full", suffix="_then", coalesce=True)
        changed = both.filter(~pl.col("inputs").eq_missing(pl.col("inputs_then")))
        self.first = self.inputs.height
        if changed.height:
            # a log may have jobs that ended before their submission, and later rows remember them
            earliest = changed.select(pl.min_horizontal(pl.min("earliest"), pl.min("earliest_then"))).item()
            row = first_row(
                connection,
                "SELECT min(job_index) FROM core.jobs WHERE source = ? AND submit_time >= ?",
                [self.source, earliest],
            )
            touched = row[0] // PART_JOBS if row and row[0] is not None else self.first
            self.first = min(touched, int(changed["part"].to_numpy().min()), self.first)
        self.heights = then.filter(pl.col("part") < self.first)["row_count"].to_list()
        if not self._has_kept_rows(connection):
            self.first, self.heights = 0, []
        return self.first

    def counted(self, parts: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """The rows of all parts from `first` on, whose number is noted."""
        for rows in parts:
            self.heights.append(rows.height)
            yield rows

    def note(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Writes what was written, in the transaction of the rows."""
        rows = self.inputs.select(
            pl.lit(self.source).alias("source"),
            pl.lit(self.features).alias("features"),
            "part",
            "inputs",
            "earliest",
            row_count=pl.Series(self.heights, dtype=pl.Int64),
        )
        connection.execute(
            "DELETE FROM features.written_parts WHERE source = ? AND features = ?", [self.source, self.features]
        )
        connection.register("noted_parts", rows.to_arrow())
        connection.execute("INSERT INTO features.written_parts BY NAME SELECT * FROM noted_parts")
        connection.unregister("noted_parts")

    def _has_kept_rows(self, connection: duckdb.DuckDBPyConnection) -> bool:
        """Whether the rows before `first` are there: somebody may have removed them."""
        query = f"SELECT count(*) FROM features.{self.features} WHERE source = ? AND job_index < ?"
        row = first_row(connection, query, [self.source, self.from_index])
        return row is not None and row[0] == sum(self.heights)

    def _code_hash(self) -> str:
        digest = hashlib.sha256(f"{PART_JOBS} {essence(sql.load(f'features.{self.features}'))}".encode())
        for code in self.code:
            if isinstance(code, str):
                digest.update(essence(sql.load(code)).encode())
            else:
                assert code.__file__
                digest.update(Path(code.__file__).read_bytes())
        return digest.hexdigest()[:16]
