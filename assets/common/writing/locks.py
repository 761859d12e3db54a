"""Who works on a source, who declares it, and who ends it.

Commands take several steps: the catalogue's entry, rows, Dagster's partition. Whoever removes a source must not come between the steps of
another. So whoever works on a source holds a lock of it together with others, and whoever removes it holds it alone. Whoever restores
a home holds all of them alone (`warehouse.file_door.FileDoor.all_locks`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from assets.common.storage import HOME_LOCK, data_folder
from traces.catalogue.sources import NAME
from warehouse import file_lock


@contextmanager
def works_on(name: str) -> Iterator[None]:
    """Others may work on the source of this name, too, but nobody removes it meanwhile. Raises WarehouseBusy."""
    with _held(name, "work", shared=True):
        yield


@contextmanager
def alone_on(name: str) -> Iterator[None]:
    """Nobody works on the source of this name meanwhile. Raises WarehouseBusy."""
    with _held(name, "work", shared=False):
        yield


@contextmanager
def declares(name: str) -> Iterator[None]:
    """Nobody else adds or removes the entry of this name in the catalogue meanwhile. Take it before the other locks. Raises
    WarehouseBusy."""
    with _held(name, "entry", shared=False):
        yield


@contextmanager
def _held(name: str, kind: str, shared: bool) -> Iterator[None]:
    if not NAME.fullmatch(name):  # no source can be called so, and the name may be a path
        yield
        return
    folder, of = data_folder(), f"source {name!r}"
    with (
        file_lock(folder / HOME_LOCK, of=folder, shared=True),
        file_lock(folder / f".{name}.{kind}.lock", of=of, shared=shared),
    ):
        yield
