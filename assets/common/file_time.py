"""The present by the clock that stamps files, which may differ from the clock of this machine."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from assets.common.storage import data_folder


def file_time(folder: Path) -> float:
    """The present by the clock of a folder's file system, Unix seconds. A file is as old as its stamp is before that.

    A file server stamps files by its own clock, and the clock of this machine may be hours ahead. So a file without a name is made on the
    same file system, and its stamp is read. That is in the data folder if it is there, and else in `folder`. Where neither can be
    written, only the clock of this machine is left.
    """
    for writable in (data_folder(), folder):
        try:
            if writable.stat().st_dev == folder.stat().st_dev:
                with tempfile.TemporaryFile(dir=writable, prefix=".tracehouse-") as file:
                    return os.fstat(file.fileno()).st_mtime
        except OSError:
            continue
    return time.time()
