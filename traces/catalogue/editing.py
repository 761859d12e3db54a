"""Adds sources to the second catalogue and removes them."""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path
from zoneinfo import available_timezones

from traces.catalogue.catalogue import Catalogue, load_catalogue, parse_catalogue, read_catalogue
from traces.catalogue.places import PROJECT, local_catalogue_path
from traces.catalogue.sources import NAME, CatalogueError


def add_source(
    name: str, log: Path, log_format: str, procs: int | None, time_zone: str | None, keep_names: bool = False
) -> str:
    """Declares a source in the second catalogue; returns the declaration it replaces there, or "".

    Raises CatalogueError for a bad name or time zone, or a name that `sources.toml` already has.
    """
    if not NAME.fullmatch(name):
        raise CatalogueError(f"bad source name {name!r}: use letters, digits, dots, dashes and underscores")
    bundled = read_catalogue(PROJECT / "sources.toml")
    if name in bundled.sources:
        raise CatalogueError(
            f"source {name!r} is already in {bundled.sources[name].declared_at}; choose another --name"
        )
    if time_zone is not None and time_zone not in available_timezones():
        raise CatalogueError(f'unknown time zone {time_zone!r}; expected an IANA name such as "Europe/Berlin"')
    entry = [f"[sources.{_quoted(name)}]", f"format = {_toml_string(log_format)}"]
    entry.append(f"path = {_toml_string(str(log.resolve()))}")
    if procs is not None:
        entry.append(f"procs = {procs}")
    if time_zone is not None:
        entry.append(f"time_zone = {_toml_string(time_zone)}")
    if keep_names:
        entry.append("pseudonyms = []")
    return _edit_declaration("sources", name, "\n".join(entry) + "\n", bundled)


def refuse_another_log(name: str, log: Path) -> None:
    """Raises CatalogueError where the second catalogue has this name for another log: its jobs would be forgotten."""
    local = local_catalogue_path()
    bundled = read_catalogue(PROJECT / "sources.toml")
    previous = read_catalogue(local, bundled).sources.get(name) if local.exists() else None
    if previous is not None and previous.path is not None and previous.path.resolve() != log.resolve():
        raise CatalogueError(
            f"source {name!r} is the log {previous.path} ({previous.declared_at}). Choose another --name, or give --replace to "
            f"forget its jobs and take {log} in its place"
        )


def add_vasp_source(name: str, folder: Path, time_zone: str | None, accounting: str | None) -> str:
    """Declares a folder of VASP runs in the second catalogue; returns the declaration it replaces there, or "".

    Raises CatalogueError for a bad name, time zone or accounting source, or a name that `sources.toml` already has.
    """
    if not NAME.fullmatch(name):
        raise CatalogueError(f"bad source name {name!r}: use letters, digits, dots, dashes and underscores")
    bundled = read_catalogue(PROJECT / "sources.toml")
    if name in bundled.vasp:
        raise CatalogueError(f"{name!r} is already in {bundled.vasp[name].declared_at}; choose another --name")
    if accounting is not None:
        load_catalogue().source(accounting)
    local = local_catalogue_path()
    previous = read_catalogue(local, bundled).vasp.get(name) if local.exists() else None
    entry = [f"[vasp.{_quoted(name)}]", f"path = {_toml_string(str(folder.resolve()))}"]
    if previous is not None:  # what is not given again stays
        time_zone, accounting = time_zone or previous.time_zone, accounting or previous.accounting or None
        entry += [f"quiet_s = {previous.quiet_s}", f"description = {_toml_string(previous.description)}"]
    entry += [f"time_zone = {_toml_string(time_zone)}"] if time_zone is not None else []
    entry += [f"accounting = {_toml_string(accounting)}"] if accounting is not None else []
    return _edit_declaration("vasp", name, "\n".join(entry) + "\n", bundled)


def remove_source(name: str, put_back: str, section: str = "sources") -> None:
    """Takes a source out of the second catalogue, or puts back the declaration that adding it has replaced."""
    _edit_declaration(section, name, put_back, read_catalogue(PROJECT / "sources.toml"))


def _edit_declaration(section: str, name: str, new: str, bundled: Catalogue) -> str:
    """Replaces the declaration of one source in the second catalogue; everything else in the file stays as it is."""
    path = local_catalogue_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f".{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two `tracehouse ingest` at once must not lose each other's entry
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
        if not new and first > 0 and last == len(lines) and not lines[first - 1].strip():
            first -= 1  # the blank line that came with it
        gap = "\n" if new and first == len(lines) else ""
        changed = "".join([*lines[:first], gap, new, *lines[last:]])
        parse_catalogue(path, changed, bundled)  # never write what could not be read back
        temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
        temporary.write_text(changed)
        temporary.replace(path)
    return old


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_\-]+", name) else f'"{name}"'


def _toml_string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
