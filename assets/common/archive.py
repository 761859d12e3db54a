"""The archive of a backup: a tar file, compressed with Zstandard, whose first member says what the others are.

Reading one trusts nothing in it: names, kinds, sizes and hashes must be those that were announced, and those that a backup has.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tarfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import zstandard

from assets.common.journal import DATABASE, sync

KIND = "tracehouse backup"
ARCHIVE_VERSION = 1
MANIFEST = "manifest.json"
LONGEST_MANIFEST = 64 << 20
PSEUDONYM_KEY = "pseudonym.key"
CATALOGUE = "sources.local.toml"
CHUNK = 1 << 20
LEVEL = 3
"""Of the compression. Level 9 takes four times as long, and saves another tenth."""

CLUSTERS = "clusters"
CLUSTER_NAME = re.compile(r"clusters/[A-Za-z0-9][A-Za-z0-9_.\-]*\.toml")
"""What an imported cluster is called, which its user may have edited."""
MODEL_NAME = re.compile(r"models(/[^/\\\x00-\x1f\x7f]+)+")
Advance = Callable[[int], object]
"""Is called with the number of bytes that have been dealt with."""


@dataclass(frozen=True)
class ArchivedFile:
    """One file of an archive, by the name that it has there."""

    name: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What is in an archive. tracehouse: the version that wrote it. tables: version of the warehouse's tables. made: when, UTC."""

    tracehouse: str
    tables: int
    made: str
    files: tuple[ArchivedFile, ...]

    @property
    def size_bytes(self) -> int:
        """Of all files, unpacked."""
        return sum(file.size_bytes for file in self.files)

    @property
    def models(self) -> int:
        """How many model files there are."""
        return sum(file.name.startswith("models/") for file in self.files)

    def holds(self, name: str) -> bool:
        """Whether there is a file of this name."""
        return any(file.name == name for file in self.files)


def is_archive_name(name: str) -> bool:
    """Whether a file may have this name in an archive: nothing but what a home has, and never outside of the folder."""
    fits = name in (DATABASE, PSEUDONYM_KEY, CATALOGUE) or any(
        pattern.fullmatch(name) for pattern in (MODEL_NAME, CLUSTER_NAME)
    )
    return fits and not {".", ".."} & set(name.split("/"))


def describe_file(path: Path, name: str, advance: Advance) -> ArchivedFile:
    """A file as the manifest lists it."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
            advance(len(chunk))
    return ArchivedFile(name, size, digest.hexdigest())


def write_archive(target: Path, manifest: Manifest, folder: Path, advance: Advance) -> None:
    """Writes the files of a folder that the manifest lists. The target appears whole or not at all, readable by its owner only."""
    part = target.with_name(f"{target.name}.part")
    part.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as raw:
            compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
            with (
                compressor.stream_writer(raw, closefd=False) as packed,
                tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
            ):
                text = _manifest_text(manifest)
                tar.addfile(_member(MANIFEST, len(text), time.time()), io.BytesIO(text))
                for file in manifest.files:
                    path = folder / file.name
                    with path.open("rb") as content:
                        member = _member(file.name, file.size_bytes, path.stat().st_mtime)
                        tar.addfile(member, _Counted(content, advance))
            raw.flush()
            os.fsync(raw.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    sync(target.parent)


def unpack_archive(archive: Path, folder: Path, check: Callable[[Manifest], object], advance: Advance) -> Manifest:
    """Unpacks all files below a new folder of ours alone, and compares each with the manifest. They are on the disk when it returns.

    check: looks at the manifest before anything is unpacked, and raises where the archive is of no use. Raises ValueError for
    an archive that is damaged, or that no backup has written.
    """
    try:
        with archive.open("rb") as raw, zstandard.ZstdDecompressor().stream_reader(raw) as stream:
            with tarfile.open(fileobj=stream, mode="r|") as tar:
                manifest = _read_manifest(tar)
                check(manifest)
                folder.mkdir(mode=0o700, parents=True)
                for file in manifest.files:
                    _unpack(tar, file, folder / file.name, advance)
                if (extra := tar.next()) is not None:
                    raise _Foreign(f"{extra.name!r} is not in its list")
            while stream.read(CHUNK):  # to the end, where the checksum is
                pass
    except (_Foreign, tarfile.TarError, zstandard.ZstdError, EOFError) as error:
        raise ValueError(
            f"{archive}: damaged, or no archive of `tracehouse backup` ({error}). Nothing was changed"
        ) from None
    for parent, _, _ in os.walk(folder):
        sync(Path(parent))
    return manifest


class _Foreign(Exception):
    """No backup has written this."""


class _Counted:
    """A file that tells how much of it has been read."""

    def __init__(self, file: IO[bytes], advance: Advance) -> None:
        self.file = file
        self.advance = advance

    def read(self, size: int = -1) -> bytes:
        chunk = self.file.read(size)
        self.advance(len(chunk))
        return chunk


def _member(name: str, size: int, modified: float) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = size, 0o600, int(modified)
    return member


def _manifest_text(manifest: Manifest) -> bytes:
    document = {"kind": KIND, "archive_version": ARCHIVE_VERSION} | asdict(manifest)
    return (json.dumps(document, indent=1) + "\n").encode()


def _read_manifest(tar: tarfile.TarFile) -> Manifest:
    member = tar.next()
    if member is None or member.name != MANIFEST or not _is_plain(member) or member.size > LONGEST_MANIFEST:
        raise _Foreign(f"its first file is not {MANIFEST}")
    content = tar.extractfile(member)
    assert content is not None
    try:
        document = json.loads(content.read())
        if document["kind"] != KIND:
            raise _Foreign(f"{MANIFEST} is of something else")
        if document["archive_version"] > ARCHIVE_VERSION:
            raise _Foreign("a newer tracehouse has written it: update this one")
        files = tuple(
            ArchivedFile(str(file["name"]), int(file["size_bytes"]), str(file["sha256"])) for file in document["files"]
        )
        manifest = Manifest(str(document["tracehouse"]), int(document["tables"]), str(document["made"]), files)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _Foreign(f"{MANIFEST} is not a list of files") from None
    names = [file.name for file in manifest.files]
    if not all(is_archive_name(file.name) and file.size_bytes >= 0 for file in manifest.files):
        raise _Foreign("its list has names that no backup gives")
    if len(set(names)) != len(names) or DATABASE not in names:
        raise _Foreign(f"its list has a file twice, or no {DATABASE}")
    return manifest


def _is_plain(member: tarfile.TarInfo) -> bool:
    """No link, device or folder, and no file with holes."""
    return member.type == tarfile.REGTYPE and not member.issparse()


def _unpack(tar: tarfile.TarFile, file: ArchivedFile, target: Path, advance: Advance) -> None:
    member = tar.next()
    if member is None or member.name != file.name or not _is_plain(member) or member.size != file.size_bytes:
        raise _Foreign(f"{file.name!r} is missing, or is not what its list says")
    content = tar.extractfile(member)
    assert content is not None
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with target.open("xb") as new:
        while chunk := content.read(CHUNK):
            digest.update(chunk)
            new.write(chunk)
            advance(len(chunk))
        new.flush()
        os.fsync(new.fileno())
    if digest.hexdigest() != file.sha256:
        raise _Foreign(f"{file.name!r} is damaged")
