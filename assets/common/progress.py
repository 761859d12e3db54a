"""Progress bars on long work: on a terminal only, silent elsewhere (logs and the UI get the asset's own messages)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")


def progress(items: Iterable[T], label: str, total: int | None = None) -> Iterable[T]:
    return tqdm(items, desc=f"  {label}", total=total, disable=None, leave=False)


def progress_bar(label: str, total: int) -> tqdm:
    return tqdm(desc=f"  {label}", total=total, disable=None, leave=False)
