"""Rows of log files that are gone, after a correction in the catalogue: the files cannot be read again, so that the new rows are
computed from the old ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb
import polars as pl

from assets.ingest.ledger import LedgerRow, corrected_settings, mark_changed, outdated_text
from assets.ingest.reading import Reader
from assets.ingest.rows import RECORDS, Corrected
from assets.ingest.versions import ReadingSettings
from traces.common.log import LogError
from traces.common.pseudonyms import replace_names
from traces.slurm.clock import LOCAL_TIMES, with_settled_times

TIMES = tuple(f"{name}_s" for name in LOCAL_TIMES)
"""Columns of Slurm records that are local times in the log."""
WIDE = "wider than the cluster's"
"""How the reason of a job begins that is too wide."""
RECORD = '{"line":'
"""How the text of a reject begins that is a record, and no line of a log."""


def correct_rows(
    connection: duckdb.DuckDBPyConnection, reader: Reader, ledger: dict[str, LedgerRow], files: list[str]
) -> Corrected:
    """Brings the rows of files that are gone to the settings of today, in the caller's transaction.

    What that needs and is not stored stays as it is. The ledger then says so (raw.log_files.outdated), and its settings are
    those that the rows have.
    Raises LogError where a job is wider than the cluster and may not be rejected, and for rows of another format.
    """
    done = Corrected()
    for file in files:
        row = ledger.get(file)
        if row is None:  # it was moved
            continue
        if row.log_format != reader.source.format:
            raise LogError(
                f"source {reader.source.name!r}: the jobs of {file}, which is gone, were read as {row.log_format}, and the log "
                f"is {reader.source.format} now. Add the log under another name, or take out the jobs of files that are gone "
                f"with `tracehouse remove {reader.source.name} --gone`"
            )
        settings = corrected_settings(row, reader)
        outdated = outdated_text(row, settings, reader)
        if outdated:
            done.outdated[file] = outdated
        if row.settings != settings or not row.settings_known:
            _FileRows(connection, reader, file, row, settings, done.counts).correct()
            done.files += 1
        connection.execute(
            "UPDATE raw.log_files SET settings = ?, outdated = ? WHERE source = ? AND file = ?",
            [str(settings), outdated or None, reader.source.name, file],
        )
    if done.files:
        mark_changed(connection, reader.source.name, "", 0)
    return done


class _FileRows:
    """The rows of one file that is gone. settings: those they are brought to."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        reader: Reader,
        file: str,
        row: LedgerRow,
        settings: ReadingSettings,
        counts: Counter[str],
    ) -> None:
        self.connection, self.reader, self.file, self.row = connection, reader, file, row
        self.settings, self.counts = settings, counts
        self.key = [reader.source.name, file]
        self.table = RECORDS[reader.source.format]

    def correct(self) -> None:
        """Writes the rows and rejects of the file again, and their counts."""
        rows, rejects = self._select(self.table), self._select("raw.rejects")
        wide_before = rejects.filter(pl.col("reason").str.starts_with(WIDE))
        back = self._read_rejects(wide_before, rows.schema)
        rows = pl.concat([self._with_names(self._moved(rows)), back])
        wide = self._wide(rows)
        self.counts["jobs taken back"] += back.join(wide, on="line", how="anti").height
        self.counts["jobs wider than the cluster"] += wide.join(back, on="line", how="anti").height
        others = rejects.join(back, on="line", how="anti")
        rejects = pl.concat([others, self._as_rejects(rows.join(wide, on="line", how="semi"), wide_before)]).sort(
            "line"
        )
        self._replace(self.table, rows.join(wide, on="line", how="anti").sort("line"))
        self._replace("raw.rejects", rejects)
        self._count(back.height - wide.height, rejects)

    def _select(self, table: str) -> pl.DataFrame:
        """The rows of the file in a table of the warehouse."""
        query = f"SELECT * EXCLUDE (source, file) FROM {table} WHERE source = $source AND file = $file ORDER BY line"
        return self.connection.sql(query, params={"source": self.key[0], "file": self.file}).pl()

    def _moved(self, rows: pl.DataFrame) -> pl.DataFrame:
        """With times as they are if the log was written in the time zone of today."""
        old, new = self.row.settings.time_zone, self.settings.time_zone
        if old == new or self.reader.source.format != "slurm":
            return rows
        local = {
            name: pl.from_epoch(pl.col(name), time_unit="s")
            .dt.replace_time_zone("UTC")
            .dt.convert_time_zone(old)
            .dt.replace_time_zone(None)
            for name in TIMES
        }
        was_local = pl.col("local_times")
        unsure = [
            pl.col(name).is_not_null()
            & (
                (time - pl.duration(hours=1))
                .dt.replace_time_zone(old, non_existent="null", ambiguous="earliest")
                .is_null()
                | time.dt.replace_time_zone(new, ambiguous="null", non_existent="null").is_null()
            )
            for name, time in local.items()
        ]
        self.counts[f"times read in {new} instead of {old}"] += (
            rows.select(pl.sum_horizontal(pl.col(name).is_not_null() & was_local for name in TIMES).sum()).item() or 0
        )
        self.counts["times in an hour that a clock has twice or skips"] += (
            rows.select(pl.sum_horizontal(each & was_local for each in unsure).sum()).item() or 0
        )
        moved = {name.removesuffix("_s"): pl.when(was_local).then(time) for name, time in local.items()}
        return with_settled_times(rows, moved, new).select(rows.columns)

    def _with_names(self, rows: pl.DataFrame) -> pl.DataFrame:
        """With pseudonyms for the kinds of names that were kept before."""
        hidden = tuple(sorted(set(self.settings.pseudonyms) - set(self.row.settings.pseudonyms)))
        if not self.reader.key:
            return rows
        return replace_names(rows, hidden, self.reader.key, keep_pseudonyms=not self.row.settings_known)

    def _read_rejects(self, wide: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
        """The records of lines that were rejected for being wider than the cluster."""
        stored = wide.filter(pl.col("text").str.starts_with(RECORD))
        lines = wide.join(stored, on="line", how="anti")
        parts = [pl.DataFrame(schema=schema)]
        if stored.height:
            text = "\n".join(stored["text"].to_list())
            parts.append(self._with_names(self._moved(pl.read_ndjson(text.encode(), schema=schema))))
        if lines.height:
            content = "".join(f"{text}\n" for text in lines["text"].to_list()).encode()
            parsed = self.reader.parse_stored(Path(self.file), self._head(), content, self.settings)
            records = parsed.records.with_columns(line=lines["line"].gather(parsed.records["line"] - 1))
            parts.append(records.select(schema.names()))
        return pl.concat(parts, how="vertical_relaxed")

    def _head(self) -> bytes:
        """The line that names the columns of a Slurm log."""
        rows = self.connection.execute(
            "SELECT value FROM raw.log_headers WHERE source = ? AND file = ? AND key = 'Columns'", self.key
        ).fetchall()
        return f"{rows[0][0]}\n".encode() if rows else b""

    def _wide(self, rows: pl.DataFrame) -> pl.DataFrame:
        """line and width of jobs that are too wide for the cluster. Raises LogError where they may not be rejected."""
        jobs = rows.filter(pl.col("record_type") == "E") if "record_type" in rows.columns else rows
        wide = self.reader.too_wide(jobs)
        if wide.height and not self.reader.source.drop_wider:
            line, procs = wide.row(0)
            raise LogError(
                f"{self.file}:{line}: a job of {procs} processors on a cluster of {self.reader.procs} (from the "
                f"{self.reader.procs_from}); the file is gone, and its jobs are in the warehouse. Give the cluster's true "
                f"size (--procs, or `procs` of source {self.reader.source.name!r}), or set `drop_wider = true` on the source"
            )
        return wide

    def _as_rejects(self, rows: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
        """Records as rejects. A line that was rejected before keeps its text. Other lines are gone with their file: the text is
        the record as JSON, so that it can be taken back."""
        texts = before.filter(~pl.col("text").str.starts_with(RECORD)).select("line", was="text")
        record = pl.struct(pl.exclude("was")).struct.json_encode()
        reason = f"{WIDE} {self.reader.procs} processors"
        return rows.join(texts, on="line", how="left").select(
            "line", reason=pl.lit(reason), text=pl.coalesce("was", record)
        )

    def _replace(self, table: str, rows: pl.DataFrame) -> None:
        self.connection.execute(f"DELETE FROM {table} WHERE source = ? AND file = ?", self.key)
        self.connection.register("corrected_rows", rows.to_arrow(compat_level=pl.CompatLevel.newest()))
        self.connection.execute(
            f"INSERT INTO {table} BY NAME SELECT ? AS source, ? AS file, * FROM corrected_rows", self.key
        )
        self.connection.unregister("corrected_rows")

    def _count(self, more_accepted: int, rejects: pl.DataFrame) -> None:
        """Brings the counts of lines up to date."""
        self.connection.execute(
            "UPDATE raw.log_files SET accepted = accepted + ?, rejected = ? WHERE source = ? AND file = ?",
            [more_accepted, rejects.height, *self.key],
        )
        self.connection.execute(
            "DELETE FROM raw.line_counts WHERE source = ? AND file = ? AND outcome IN ('accepted', 'rejected')",
            self.key,
        )
        self.connection.execute(
            "INSERT INTO raw.line_counts SELECT source, file, 'accepted', 'job', accepted FROM raw.log_files "
            "WHERE source = ? AND file = ? AND accepted > 0",
            self.key,
        )
        self.connection.execute(
            "INSERT INTO raw.line_counts SELECT source, file, 'rejected', reason, count(*) FROM raw.rejects "
            "WHERE source = ? AND file = ? GROUP BY ALL",
            self.key,
        )
