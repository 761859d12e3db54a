"""Disks that do not take what is written, for tests: full ones, read-only ones, and files that may not grow."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def files_end_at(size_bytes: int) -> Iterator[None]:
    """No file of this process grows beyond a size: needs no privileges. Python ignores the signal, so that writing fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def small_disk(folder: Path, kibibytes: int) -> Iterator[None]:
    """A disk of its own at the folder. Skips the test where this account may not mount one."""
    folder.mkdir(parents=True, exist_ok=True)
    _mount("-t", "tmpfs", "-o", f"size={kibibytes}k", "none", str(folder))
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def resize(folder: Path, kibibytes: int) -> None:
    """Makes a small disk larger, as a user does who makes room."""
    _mount("-o", f"remount,size={kibibytes}k", str(folder))


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nothing below the folder can be written: by its permissions, or for root, who may do all, by a read-only mount."""
    if os.geteuid() == 0:
        _mount("--bind", str(folder), str(folder))
        try:
            _mount("-o", "remount,bind,ro", str(folder))
            yield
        finally:
            subprocess.run(["umount", "-l", str(folder)], check=True)
        return
    folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o555)
    try:
        yield
    finally:
        for path in folders:
            path.chmod(0o755)


def _mount(*arguments: str) -> None:
    try:
        done = subprocess.run(["mount", *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("the command `mount` is missing, which makes the small disk of this test (Debian: package mount)")
    if done.returncode:
        pytest.skip(
            "the right to mount is missing, which the small disk of this test needs (root, or CAP_SYS_ADMIN in a container): "
            f"{done.stderr.strip()}"
        )
