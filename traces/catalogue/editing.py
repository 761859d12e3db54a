"""Adds sources to the second catalogue and removes them."""

from __future__ import annotations

import fcntl
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from zoneinfo import available_timezones

from traces.catalogue.catalogue import Catalogue, load_catalogue, parse_catalogue, read_catalogue
from traces.catalogue.places import PROJECT, local_catalogue_path
from traces.catalogue.sources import NAME, CatalogueError, Source


def add_source(name: str, log: Path, log_format: str, given: Mapping[str, Any], replace: bool = False) -> str:
    """Declares a source in the second catalogue. Returns the declaration it replaces there, or "".

    given: its other keys, None for one that nobody gave. What the catalogue already says of the same log is kept, unless it is given
    again, and so are all comments. replace: whether the name may have been that of another log. Raises CatalogueError where it
    may not, for a bad name or time zone, and for a name that `sources.toml` already has.
    """
    bundled = _bundled_without(name, "sources")
    time_zone = given.get("time_zone")
    if time_zone is not None and time_zone not in available_timezones():
        raise CatalogueError(f'unknown time zone {time_zone!r}: expected an IANA name such as "Europe/Berlin"')
    return _declare("sources", name, log, {"format": log_format} | dict(given), bundled, replace)


def add_vasp_source(
    name: str, folder: Path, time_zone: str | None, accounting: str | None, replace: bool = False
) -> str:
    """Declares a folder of VASP runs in the second catalogue. Returns the declaration it replaces there, or "".

    What the catalogue already says of the same folder is kept, unless it is given again. replace: whether the name may have been that
    of another folder. Raises CatalogueError where it may not, for a bad name, time zone or accounting source, and for a
    name that `sources.toml` already has.
    """
    bundled = _bundled_without(name, "vasp")
    if accounting is not None:
        load_catalogue().source(accounting)
    return _declare("vasp", name, folder, {"time_zone": time_zone, "accounting": accounting}, bundled, replace)


def name_clusters(name: str, log: Path, clusters: list[str]) -> None:
    """Names the clusters (`tracehouse cluster import`) of a source of the second catalogue, unless it names some already.

    Raises CatalogueError for a faulty catalogue, and where the name is that of another log."""
    source = declared_source(name)
    if source is None or not source.cluster:
        _declare("sources", name, log, {"cluster": clusters}, _bundled_without(name, "sources"), replace=False)


def linkable_source(name: str) -> Source:
    """A source of the second catalogue that has a log. Raises CatalogueError for another, of which commands change nothing."""
    source = declared_source(name)
    if source is None or source.path is None:
        place = load_catalogue().source(name).declared_at
        raise CatalogueError(
            f"{place}: commands link logs that `tracehouse ingest` adds, so write `cluster` of {name!r} there by hand"
        )
    return source


def link_clusters(name: str, clusters: Sequence[str]) -> tuple[str, ...]:
    """Names the clusters of a source of the second catalogue, in place of those that it names, which are returned. Every other key and
    all comments stay. Raises CatalogueError as `linkable_source`."""
    source = linkable_source(name)
    assert source.path is not None
    value = clusters[0] if len(clusters) == 1 else list(clusters)
    _declare("sources", name, source.path, {"cluster": value}, _bundled_without(name, "sources"), replace=False)
    return source.cluster


def forget_clusters(name: str) -> None:
    """Takes the key `cluster` out of the table of a source of the second catalogue, where it has one. Everything else stays as it is."""
    with _locked_catalogue() as local:
        table = tomllib.loads(local.read_text()).get("sources", {}).get(name, {}) if local.exists() else {}
        if "cluster" in table:
            bundled = read_catalogue(PROJECT / "sources.toml")
            lines = _edit_declaration("sources", name, None, bundled).splitlines(keepends=True)
            kept = _without_key(lines, "cluster")
            _edit_declaration("sources", name, "".join(kept), bundled)


def _without_key(lines: list[str], key: str) -> list[str]:
    """The lines of a table without those of a key, whose value may go over several lines."""
    first = next(k for k, line in enumerate(lines) if re.match(rf"\s*[\"']?{key}[\"']?\s*=", line))
    last = first + 1
    while last < len(lines) and not _is_whole("".join(lines[first:last])):
        last += 1
    return [*lines[:first], *lines[last:]]


def _is_whole(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def declared_source(name: str) -> Source | None:
    """What the second catalogue has under this name. Raises CatalogueError for a faulty catalogue."""
    local = local_catalogue_path()
    return read_catalogue(local, read_catalogue(PROJECT / "sources.toml")).sources.get(name) if local.exists() else None


def refuse_another(section: str, name: str, path: Path) -> None:
    """Raises CatalogueError where this is the name of another path, because what is stored under it would be forgotten.

    section: "sources" for logs, also those in the inbox, and "vasp" for folders of VASP runs.
    """
    catalogue = load_catalogue(may_be_missing=True)
    previous = catalogue.sources.get(name) if section == "sources" else catalogue.vasp.get(name)
    if previous is None or previous.path is None or previous.path.resolve() == path.resolve():
        return
    kind, rows = ("log", "jobs") if section == "sources" else ("folder", "runs")
    remedy = f"Choose another --name, or give --replace to forget its {rows} and take {path} in its place"
    if previous.declared_at == str(previous.path):
        raise CatalogueError(f"{name!r} is the {kind} {previous.path}, which is in the inbox. {remedy}")
    raise CatalogueError(
        f"{name!r} is the {kind} {previous.path} ({previous.declared_at}). If it is the same {kind} in another place, correct its "
        f"`path` there, and nothing is forgotten. {remedy.replace('Choose', 'Else choose')}"
    )


def _bundled_without(name: str, section: str) -> Catalogue:
    """The first catalogue. Raises CatalogueError for a bad name, and where the catalogue has this one."""
    if not NAME.fullmatch(name):
        raise CatalogueError(f"bad source name {name!r}: use letters, digits, dots, dashes and underscores")
    bundled = read_catalogue(PROJECT / "sources.toml")
    declared = (bundled.sources if section == "sources" else bundled.vasp).get(name)
    if declared is not None:
        raise CatalogueError(f"{name!r} is already in {declared.declared_at}: choose another --name")
    return bundled


def _declare(section: str, name: str, path: Path, given: dict[str, Any], bundled: Catalogue, replace: bool) -> str:
    """Writes the table of a source. Returns the declaration it replaces, or "".

    given: its other keys, None for one that is not given. The present table is read under the lock, since another `tracehouse
    ingest` may have written it a moment ago.
    """
    given = {"path": str(path.resolve())} | {key: value for key, value in given.items() if value is not None}
    with _locked_catalogue() as local:
        if not replace:
            refuse_another(section, name, path)
        elif local.exists():
            read_catalogue(local, bundled)  # a faulty catalogue raises an error that names its line
        tables = tomllib.loads(local.read_text()).get(section, {}) if local.exists() else {}
        kept = dict(tables.get(name, {}))
        if kept.get("path") and (local.parent / kept["path"]).resolve() == path.resolve():
            kept["path"] = given["path"]
        else:
            kept = {}
        if kept and kept | given == kept:
            return _edit_declaration(section, name, None, bundled)
        if kept:
            declaration = _edit_declaration(section, name, None, bundled)
            if not declaration:
                raise CatalogueError(
                    f"{local}: expected a table [{section}.{name}], found the source written otherwise: correct it"
                )
            changed = {key: value for key, value in given.items() if kept.get(key) != value}
            for key, value in changed.items():
                declaration = with_key(declaration, key, value)
            return _edit_declaration(section, name, declaration, bundled)
        values = (f"{key} = {_toml(value)}" for key, value in given.items())
        return _edit_declaration(section, name, "\n".join([f"[{section}.{_quoted(name)}]", *values]) + "\n", bundled)


def with_key(declaration: str, key: str, value: Any) -> str:
    """The text of a table with a key that has this value, in the place of the one that it had, else behind its other keys. All other lines
    stay, and so does a comment behind the value."""
    lines = declaration.splitlines(keepends=True)
    new, last, begin = f"{key} = {_toml(value)}", 1, 1
    for end in range(2, len(lines) + 1):
        statement = "".join(lines[begin:end])
        if statement.lstrip().startswith("["):  # a table below this one
            break
        try:
            parsed = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:  # it goes on in the next line
            continue
        if key in parsed:
            return "".join([*lines[:begin], f"{new}{_comment_behind(statement, parsed)}\n", *lines[end:]])
        begin, last = end, end if parsed else last
    return "".join([*lines[:last], *(() if lines[last - 1].endswith("\n") else "\n"), f"{new}\n", *lines[last:]])


def _comment_behind(statement: str, parsed: dict[str, Any]) -> str:
    """The comment after the value of a statement, with the blanks before it."""
    for mark in re.finditer(r"\s*#", statement):
        with suppress(tomllib.TOMLDecodeError):
            if tomllib.loads(statement[: mark.start()]) == parsed:
                return statement[mark.start() :].rstrip()
    return ""


def remove_source(name: str, put_back: str, section: str = "sources") -> None:
    """Takes a source out of the second catalogue, or puts back the declaration that adding it has replaced."""
    with _locked_catalogue():
        _edit_declaration(section, name, put_back, read_catalogue(PROJECT / "sources.toml"))


@contextmanager
def _locked_catalogue() -> Iterator[Path]:
    """The path of the second catalogue, while no other process edits it. Two commands must not lose each other's entry."""
    path = local_catalogue_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f".{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield path


def _edit_declaration(section: str, name: str, new: str | None, bundled: Catalogue) -> str:
    """Replaces the declaration of one source in the second catalogue. Everything else in the file stays as it is.

    Call it under the lock. Returns the previous declaration. new: None leaves all as it is.
    """
    path = local_catalogue_path()
    text = path.read_text() if path.exists() else "# Sources added by `tracehouse ingest`; edit freely.\n"
    lines = text.splitlines(keepends=True)
    table = rf"\[\s*{section}\s*\.\s*[\"']?{re.escape(name)}[\"']?\s*"
    first = next((i for i, line in enumerate(lines) if re.match(rf"\s*{table}\]", line)), len(lines))
    last = first
    for i in range(first, len(lines)):
        if i > first and re.match(r"\s*\[", lines[i]) and not re.match(rf"\s*{table}\.", lines[i]):
            break
        if lines[i].strip() and not lines[i].lstrip().startswith("#"):
            last = i + 1  # comments and blank lines after the last entry belong to what follows
    old = "".join(lines[first:last])
    if new is None:
        return old
    if not new and first > 0 and last == len(lines) and not lines[first - 1].strip():
        first -= 1  # the blank line that came with it
    gap = "\n" if new and first == len(lines) else ""
    changed = "".join([*lines[:first], gap, new, *lines[last:]])
    parse_catalogue(path, changed, bundled)  # never write what could not be read back
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_text(changed)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error
    return old


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_\-]+", name) else f'"{name}"'


def _toml(value: str | int | list[str]) -> str:
    """A value of a declaration, as TOML has it."""
    if isinstance(value, list):
        return f"[{', '.join(_toml_string(item) for item in value)}]"
    return _toml_string(value) if isinstance(value, str) else str(value).lower()


def _toml_string(text: str) -> str:
    # the escapes of JSON are those of TOML, but for the last control character
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
