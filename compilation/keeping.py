"""Where compiled code is kept: in a folder of the user, so that all checkouts with the same sources share it.

numba's own cache names a file by the absolute folder of its module, and numbers the data files of a function. So no other checkout
finds them, and two processes that compile one function for different arguments can take the same number. Here a file is named by what
is in it. It has its key and a checksum, and is used only where both are right. Who compiles a function has its lock, so that processes
that begin beside each other divide the work.

numba reads a global name once, when it compiles, and puts its value into the code. The sources say what the value is, unless somebody
has set it otherwise in this process, as tests do. Such code must not be kept under the name of the usual one, so the values are in its
key.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import pickle
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing import parent_process
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any
from uuid import uuid4

import llvmlite
import numba
import numpy as np
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

KEPT_FOLDERS = 10
"""Folders of one room that stay: those used last. Each state of the sources has one of some megabytes."""
PATIENCE_S = 120
"""For code that another process compiles. After it, a process compiles the function itself."""
_CHECKSUM_BYTES = 32

_announced = False


def user_folder() -> Path | None:
    """`tracehouse` in the user's folder for what can be recomputed. None where the user has no such folder."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not cache.is_absolute():
        cache = Path("~/.cache").expanduser()  # raises RuntimeError where there is no home
    return cache / "tracehouse" if cache.is_absolute() else None


def surroundings() -> str:
    """What decides about compiled code beside the sources. numba's own key has the kind of processor."""
    settings = {name: value for name, value in os.environ.items() if name.startswith("NUMBA_")}
    settings.pop("NUMBA_CACHE_DIR", None)
    versions = sys.version, numba.__version__, llvmlite.__version__, np.__version__
    return repr((versions, sorted(settings.items())))


def opened(name: str, own: Path, given: str) -> Path | None:
    """The folder of this name that is used: below `given` if that is not empty, else below the user's folder. Below `own` where the
    first cannot be written, and None where that cannot be either. Without `given`, folders that were not used for long are removed."""
    with suppress(RuntimeError):
        parent = Path(given) if given else user_folder()
        if parent is not None and _can_write(parent / name, private=not given):
            if not given:
                _remove_unused(parent, name)
            return parent / name
    if _can_write(own / name, private=False):
        _remove_unused(own, name)
        return own / name
    return None


def _can_write(folder: Path, private: bool) -> bool:
    """Makes the folder if need be. private: nobody else may write there, or above it, since who loads compiled code runs it."""
    mode = 0o700 if private else 0o777
    try:
        folder.parent.mkdir(mode, parents=True, exist_ok=True)
        folder.mkdir(mode, exist_ok=True)
        os.utime(folder)
        states = [folder.parent.stat(), folder.stat()]
    except OSError:
        return False
    if private and any(state.st_uid != os.geteuid() or state.st_mode & 0o022 for state in states):
        return False
    return os.access(folder, os.R_OK | os.W_OK | os.X_OK)


def _remove_unused(parent: Path, name: str) -> None:
    """Of the folders of a room, those used last stay. A process that still uses another one compiles again what it misses."""
    room = name.rpartition("-")[0]
    folders: list[tuple[float, Path]] = []
    for folder in parent.glob(f"{room}-*"):
        if folder.name != name and re.fullmatch(rf"{re.escape(room)}-[0-9a-f]+", folder.name):
            with suppress(OSError):  # another process removes it just now
                folders.append((folder.stat().st_mtime, folder))
    for _, folder in sorted(folders, reverse=True)[KEPT_FOLDERS - 1 :]:
        shutil.rmtree(folder, ignore_errors=True)


class KeptCode(NullCache):
    """The compiled code of one function, by the types of its arguments. Takes the place of numba's own cache."""

    def __init__(self, folder: Path, function: Callable[..., Any]) -> None:
        self._folder, self._function = folder, function
        code = function.__code__
        self._name = f"{function.__module__}.{function.__qualname__}-{code.co_firstlineno}"
        cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
        self._code = hashlib.sha256(code.co_code + dumps(cells) if cells else code.co_code).hexdigest()
        self._locks: dict[Path, int] = {}

    @property
    def cache_path(self) -> str:
        """The folder."""
        return str(self._folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Code for these types. None where it is not kept, or cannot be used: then numba compiles it, and this process has its lock."""
        target_context.refresh()
        key = self._key(sig, target_context.codegen())
        code = self._read(key, target_context)
        if code is None:
            _announce()
            self._lock(self._file(key))
            code = self._read(key, target_context)
            if code is not None:
                self._unlock(self._file(key))
        return code

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keeps code, unless it has addresses of this process in it. A full disk is no error: others compile it again."""
        key = self._key(sig, data.codegen)
        if not data.library.has_dynamic_globals:
            self._write(key, data)
        self._unlock(self._file(key))

    def _read(self, key: tuple[Any, ...], target_context: Any) -> Any:
        with suppress(Exception):  # it is not there, or not whole: it is compiled again
            content = self._file(key).read_bytes()
            checksum, body = content[:_CHECKSUM_BYTES], content[_CHECKSUM_BYTES:]
            if hashlib.sha256(body).digest() == checksum:
                kept, code = pickle.loads(body)
                if kept == key:
                    return CompileResult._rebuild(target_context, *code)
        return None

    def _write(self, key: tuple[Any, ...], data: Any) -> None:
        body = dumps((key, data._reduce()))
        with suppress(OSError):
            self._folder.mkdir(0o700, parents=True, exist_ok=True)  # another process may have removed it
            new = self._folder / f"{uuid4().hex}.new"
            try:
                new.write_bytes(hashlib.sha256(body).digest() + body)
                new.replace(self._file(key))
            finally:
                new.unlink(missing_ok=True)

    def _lock(self, file: Path) -> None:
        """Waits while another process compiles what belongs in the file. A lock that this one kept, because compiling failed, is given
        back first."""
        self._unlock(file)
        with suppress(OSError):  # a folder that has no locks, or is gone
            lock = os.open(_lock_of(file), os.O_WRONLY | os.O_CREAT, 0o600)
            last = time.monotonic() + PATIENCE_S
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    self._locks[file] = lock
                    return
                except BlockingIOError:  # of another process. Any other error says that there are no locks here
                    if file.exists() or time.monotonic() > last:
                        break
                except OSError:
                    break
                time.sleep(0.1)
            os.close(lock)

    def _unlock(self, file: Path) -> None:
        lock = self._locks.pop(file, None)
        if lock is not None:
            with suppress(OSError):
                _lock_of(file).unlink()
            with suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_UN)  # a process that was forked meanwhile holds the file, too
            with suppress(OSError):
                os.close(lock)

    def _key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return sig, codegen.magic_tuple(), self._code, constants_of(self._function)

    def _file(self, key: tuple[Any, ...]) -> Path:
        return self._folder / f"{self._name}-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"


def _lock_of(file: Path) -> Path:
    return file.with_suffix(".lock")


def _announce() -> None:
    """Tells whoever waits at a terminal, once, why the first command takes longer."""
    global _announced
    if not _announced and parent_process() is None and sys.stderr is not None and sys.stderr.isatty():
        print("compiling for this machine: once, up to a minute, then it is kept", file=sys.stderr, flush=True)
    _announced = True


def constants_of(function: Callable[..., Any]) -> str:
    """A hash over the values that a function, and every compiled one that it calls, would be compiled with now."""
    digest = hashlib.sha256()
    seen, waiting = {function}, [function]
    while waiting:
        reader = waiting.pop()
        for name, value in _globals_of(reader):
            called = getattr(value, "py_func", None)  # of what numba has compiled
            if called is None:
                digest.update(f"{reader.__module__}.{reader.__qualname__} {name} {_words(value)}\n".encode())
            elif called not in seen:
                seen.add(called)
                waiting.append(called)
    return digest.hexdigest()


def _globals_of(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """What a function reads, by name, and what it may read of the modules among these."""
    names = list(dict.fromkeys(_names_in(function.__code__)))
    for name in names:
        value = function.__globals__.get(name)
        if not isinstance(value, ModuleType):
            yield name, value
        elif value is not np:  # its version is in the key
            yield from ((part, getattr(value, part)) for part in names if hasattr(value, part))


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def _words(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, tuple):
        return f"({' '.join(map(_words, value))})"
    plain = bool | int | float | complex | str | bytes | np.generic
    return repr(value) if isinstance(value, plain) else ""  # of anything else, the sources say what it is
