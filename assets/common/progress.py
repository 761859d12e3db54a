"""Progress bars on long work: on a terminal only, silent elsewhere (logs and the UI get the asset's own messages)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from tqdm import tqdm

_Item = TypeVar("_Item")


def progress(items: Iterable[_Item], label: str, total: int | None = None) -> Iterable[_Item]:
    """The items, with a bar that moves as they are taken. total: how many, where `items` has no length."""
    return tqdm(items, desc=f"  {label}", total=total, disable=None, leave=False)


def progress_bar(label: str, total: int) -> tqdm:
    """A bar of `total` steps that the caller moves."""
    return tqdm(desc=f"  {label}", total=total, disable=None, leave=False)
