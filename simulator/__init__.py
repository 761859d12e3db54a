"""The replay engine: jobs, priorities, EASY backfilling, metrics and recorded trajectories. Compiled with numba."""

import hashlib
from pathlib import Path
from typing import Any

import numba


def _source_hash() -> str:
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


SOURCE_HASH = _source_hash()
"""Which rules these are: a hash over the files of this package, stored with every saved run."""

# numba's cache notices a change of the file that a function stands in, but not of the functions it calls from other
# files: an edited priority would be replayed as it was. So the cache carries a hash of all files of this package.
_settings: Any = numba.config
_settings.CACHE_DIR = str(Path(_settings.CACHE_DIR or Path(__file__).parent / "__pycache__") / f"engine-{SOURCE_HASH}")
