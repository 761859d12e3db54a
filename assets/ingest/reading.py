"""From a source's log files to parsed lines, in two threads and bounded memory. It knows the formats."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Thread

import polars as pl

from assets.ingest.generated import generated_log
from assets.ingest.versions import CodeVersion, ReadingSettings, current_version, hashed_settings, reading_settings
from traces.catalogue.places import pseudonym_key_path
from traces.catalogue.sources import Source
from traces.common.blocks import LogStream, Parse, Seen, first_bytes, parse_block
from traces.common.log import LogError, ParsedLines, line_texts, log_files
from traces.common.pseudonyms import Renamed, read_key, renames, replace_names
from traces.formats import guess_format, refuse_no_text
from traces.pbs.reader import parse_pbs
from traces.slurm.reader import slurm_head, slurm_parser, slurm_stream
from traces.swf.reader import header_value, parse_swf

COMMAND_LINE = "command line"
THREADS = 2
SUBMITTED = {"swf": "submit_s", "pbs": "ctime_s", "slurm": "submit_s"}
"""The column of each format's records with the time of submission, seconds of the log's clock."""


AT_REST_S = 86_400
"""A file that has not changed for so long is complete. PBS begins a new one every day."""


def is_at_rest(path: Path) -> bool:
    """Whether nothing writes to a log file any more, as far as its last change tells. A file that cannot be looked at is."""
    try:
        return time.time() - path.stat().st_mtime > AT_REST_S
    except OSError:
        return True


@dataclass(frozen=True)
class Reader:
    """How the log of one source is read.

    source: with a format that is never "auto". files: its log files, in order.
    settings: what of the catalogue gives the records their meaning. former_settings: their hash, as the first releases wrote it.
    version: of the format's reader, and of the statements that make jobs of its records.
    procs, procs_from: processors of the cluster, if they are known before the jobs are. They come from the "catalogue", the
        "command line" or the "header". Otherwise it is None and "peak".
    key, renames: of pseudonyms. key is None where names stay as they are.
    """

    source: Source
    files: list[Path]
    settings: ReadingSettings
    former_settings: str
    version: CodeVersion
    procs: int | None
    procs_from: str
    default_time_zone: str
    key: bytes | None
    renames: dict[str, Renamed]

    @property
    def grows(self) -> bool:
        """Whether a file of this format is appended to. PBS servers do that, the others write whole files."""
        return self.source.format == "pbs"

    def stream(self, path: Path, seen: Seen | None = None) -> LogStream:
        """The blocks of one file. seen: what was read of it before. It has no effect where files do not grow."""
        if self.source.format == "slurm":
            return slurm_stream(path, self.source.columns)
        return LogStream(path, seen=seen if self.grows else None, leave_unfinished=self.grows and not is_at_rest(path))

    def parse(self, path: Path) -> Parse:
        """Reads lines of one file. Raises LogError for an archive and the like, and when a job is wider than the cluster (see
        `Source.drop_wider`)."""
        if self.files == [path]:
            refuse_no_text(path)  # the format may have been given, and nobody may have looked
        head = slurm_head(path) if self.source.format == "slurm" else b""
        parse = self._parser(path, head, self.settings, self.renames)
        return partial(self._checked, path, parse)

    def parse_stored(self, path: Path, head: bytes, content: bytes, settings: ReadingSettings) -> ParsedLines:
        """What lines say of a file that is gone, however wide the jobs are. head: the line of a Slurm log that names its
        columns. settings: those of the other rows of the file."""
        key = read_key(pseudonym_key_path()) if settings.pseudonyms else None
        parse = self._parser(path, head, settings, renames(settings.pseudonyms, key) if key else {})
        return self._renamed(parse(content, 1), settings.pseudonyms, key)

    def _parser(self, path: Path, head: bytes, settings: ReadingSettings, renamed: dict[str, Renamed]) -> Parse:
        if self.source.format == "pbs":
            return partial(parse_pbs, renames=renamed)
        if self.source.format == "slurm":
            return slurm_parser(path, head, settings.time_zone, settings.columns)
        return parse_swf

    def _renamed(self, parsed: ParsedLines, kinds: tuple[str, ...], key: bytes | None) -> ParsedLines:
        if key and self.source.format == "slurm":
            records, events = (replace_names(each, kinds, key) for each in (parsed.records, parsed.events))
            return replace(parsed, records=records, events=events)
        return parsed

    def _checked(self, path: Path, parse: Parse, content: bytes, first_line: int) -> ParsedLines:
        parsed = self._renamed(parse(content, first_line), self.source.pseudonyms, self.key)
        return self._check_width(path, parsed, content, first_line) if self.procs else parsed

    def too_wide(self, records: pl.DataFrame) -> pl.DataFrame:
        """The records that are wider than the cluster: their line, and their processors as `width`."""
        names = ("allocated_procs", "requested_procs") if self.source.format == "swf" else ("procs", "requested_procs")
        procs = self.procs
        if procs is None or all((widest := records[name].max()) is None or widest <= procs for name in names):  # type: ignore[operator]
            return records.clear().select("line", width=pl.lit(0))
        width = _swf_procs() if self.source.format == "swf" else pl.max_horizontal("procs", "requested_procs")
        return records.filter(width > procs).select("line", width=width)

    def _check_width(self, path: Path, parsed: ParsedLines, content: bytes, first_line: int) -> ParsedLines:
        source, wide = self.source, self.too_wide(parsed.records)
        if wide.is_empty():
            return parsed
        line, procs = wide.row(0)
        if not source.drop_wider:
            typed = source.declared_at == COMMAND_LINE
            reject = (
                "leave them out with --drop-wider" if typed else "set `drop_wider = true` on the source to reject them"
            )
            raise LogError(
                f"{path}:{line}: a job of {procs} processors on a cluster of {self.procs} (from the {self.procs_from}). "
                f"There are {wide.height} such job(s), the widest {wide['width'].to_numpy().max():d}. Give the cluster's true size "
                f"(--procs, or `procs` of source {source.name!r}), or {reject}"
            )
        lines = wide["line"].to_list()
        texts = line_texts(content, lines, first_line)
        return parsed.reject_rows(lines, f"wider than the cluster's {self.procs} processors", texts)


def reader_of(
    source: Source, default_time_zone: str = "UTC", key_of: Callable[[], bytes] = lambda: read_key(pseudonym_key_path())
) -> Reader:
    """How to read a source. The default time zone counts where neither source nor log names one. key_of: gives the key of pseudonyms,
    where one is needed. A generated source writes its log first. Raises LogError when there is no log, or when its format is not known."""
    path = source.path or generated_log(source)
    source = replace(source, format=guess_format(path) if source.format == "auto" else source.format)
    files = log_files(path)
    hidden = source.replaced_names
    key = key_of() if hidden else None
    names = renames(hidden, key) if key else {}
    procs, procs_from = _known_procs(source, files)
    time_zone = source.time_zone or default_time_zone
    settings = reading_settings(source, procs, key, time_zone)
    former = hashed_settings(source, str(path), settings, time_zone)
    version = current_version(source.format)
    return Reader(source, files, settings, former, version, procs, procs_from, default_time_zone, key, names)


def _known_procs(source: Source, files: list[Path]) -> tuple[int | None, str]:
    if source.procs is not None:
        return source.procs, COMMAND_LINE if source.declared_at == COMMAND_LINE else "catalogue"
    for file in files if source.format == "swf" else ():
        header_procs = header_value(parse_swf(first_bytes(file)).header, "MaxProcs", "MaxNodes")
        if header_procs and header_procs > 0:
            return header_procs, "header"
    return None, "peak"


def _swf_procs() -> pl.Expr:
    """Processors of an SWF job: those that were allocated, else those requested. Null when neither is above 0."""
    given, requested = pl.col("allocated_procs"), pl.col("requested_procs")
    return pl.when(given > 0).then(given).when(requested > 0).then(requested)


Item = tuple[Path, LogStream, ParsedLines | None]
_Promise = tuple[Path, LogStream, Future[ParsedLines] | None]
_MOST_WAITING = 32


def parsed_files(reader: Reader, files: Iterable[tuple[Path, Seen | None]]) -> Iterator[Item]:
    """(path, its stream, the lines of one block) for every block of every file, in order, and (path, its stream, None) after
    the last one of each. seen: what is known of a file already. Raises LogError.

    One thread reads, THREADS parse, and the caller writes, all at the same time.
    """
    waiting: Queue[_Promise | Exception | None] = Queue(_MOST_WAITING)
    stop = Event()
    with ThreadPoolExecutor(THREADS) as pool:
        thread = Thread(target=_read, args=(reader, files, pool, waiting, stop), daemon=True)
        thread.start()
        try:
            while (item := waiting.get()) is not None:
                if isinstance(item, Exception):
                    raise item
                path, stream, future = item
                yield path, stream, future.result() if future else None
        finally:
            stop.set()
            while thread.is_alive():  # the thread may wait for a place in the queue
                with suppress(Empty):
                    waiting.get(timeout=0.1)


def _read(
    reader: Reader,
    files: Iterable[tuple[Path, Seen | None]],
    pool: ThreadPoolExecutor,
    waiting: Queue[_Promise | Exception | None],
    stop: Event,
) -> None:
    try:
        for path, seen in files:
            stream = reader.stream(path, seen)
            parse: Parse | None = None
            for block in stream:
                if stop.is_set():
                    return
                parse = parse or reader.parse(path)
                waiting.put((path, stream, pool.submit(parse_block, block, parse)))
            waiting.put((path, stream, None))
    except Exception as error:  # the reader of the queue raises it again
        waiting.put(error)
    waiting.put(None)
