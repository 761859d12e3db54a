"""The version of the code that makes an asset, as one hash: of all that it reaches, without comments."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path

from assets.common.code.reach import CODE_ROOT, ROOMS, STATEMENTS, Symbol, digest_of, reached_from, read_part

CLUSTER_FILES = frozenset(Symbol("traces.catalogue.clusters", name) for name in ("cluster_path", "found_path"))
"""Who reaches one of these reads the description of a cluster."""
READS_CLUSTERS = " reads clusters"
"""Behind the kept version of such a function."""


def code_version(function: Symbol) -> str:
    """Hash of all that a function reaches. It changes where one of these does, and not with a comment. Equal on all machines."""
    return _kept_version(function).removesuffix(READS_CLUSTERS)


def reads_clusters(function: Symbol) -> bool:
    """Whether a function reaches the descriptions of clusters, so that what it makes may change with one."""
    return _kept_version(function).endswith(READS_CLUSTERS)


def _kept_version(function: Symbol) -> str:
    versions = _kept_versions()
    if function not in versions:
        reads = READS_CLUSTERS if reached_from(function) & CLUSTER_FILES else ""
        versions[function] = version_of(function) + reads
        _keep_versions(versions)
    return versions[function]


def version_of(function: Symbol) -> str:
    """The hash, computed from the files."""
    texts = "\n".join(
        f"{symbol.module}:{symbol.name} {read_part(symbol).text}" for symbol in sorted(reached_from(function))
    )
    return hashlib.sha256(texts.encode()).hexdigest()[:12]


@cache
def _kept_versions() -> dict[Symbol, str]:
    """Versions that an earlier process has computed, as long as no file has changed since. To read all files takes seconds."""
    try:
        content = json.loads(_kept_file().read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(content, dict) or content.get("files") != _state_of_files():
        return {}
    return {Symbol(*name.split(":")): version for name, version in content["versions"].items()}


def _keep_versions(versions: dict[Symbol, str]) -> None:
    """Keeps them for the next process, where compiled code is kept. Where nothing may be written, each process computes its own."""
    file = _kept_file()
    content = {"files": _state_of_files(), "versions": {":".join(symbol): each for symbol, each in versions.items()}}
    with suppress(OSError):
        file.parent.mkdir(exist_ok=True)
        new = file.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps(content))
        new.replace(file)


def _kept_file() -> Path:
    return Path(cache_from_source(__file__)).with_name("code_versions.json")


@cache
def _state_of_files() -> str:
    """Changes with the name, time or size of a file that could be reached."""
    files = [
        file
        for room in (*ROOMS, STATEMENTS)
        for file in (CODE_ROOT / room).rglob("*")
        if file.suffix in (".py", ".sql", ".html", ".css")
    ]
    states = [f"{file} {file.stat().st_mtime_ns} {file.stat().st_size}" for file in sorted(files)]
    return digest_of(states)
