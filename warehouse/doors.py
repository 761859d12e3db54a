"""What a door must be able to do. There are two: one DuckDB file (`warehouse/file_door.py`), and a lake (`warehouse/lake_door.py`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeAlias

import duckdb

Commit: TypeAlias = "Callable[[duckdb.DuckDBPyConnection], None]"
"""Ends the transaction of a connection, so that it counts. It is a text: a type that Python keeps to its end would make DuckDB print
that it was leaked, after each command."""


class Door(ABC):
    """A way to the tables, wherever they are.

    name: of the warehouse, in messages. folder: where this home keeps what belongs to it on this machine: rows that are about to be
    inserted. artefacts: the folder of files that rows name, such as models.
    """

    name: str
    folder: Path
    artefacts: Path

    @property
    def staging(self) -> Path:
        """The folder of rows that are about to be inserted."""
        return self.folder / "staging"

    @abstractmethod
    def must_exist(self) -> None:
        """Raises NoWarehouse where that can be seen without a connection."""

    @abstractmethod
    def connect(
        self, read_only: bool, deadline: float, confined: bool, makes: bool = False
    ) -> duckdb.DuckDBPyConnection:
        """A connection whose current database is the warehouse.

        confined: it reaches no other file. makes: whether the warehouse may be made. Raises NoWarehouse, WarehouseBusy at the deadline
        (time.monotonic), WarehouseError.
        """

    @abstractmethod
    def close(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Closes a connection. What its transaction has not committed is gone."""

    @abstractmethod
    def close_other_files(self, connection: duckdb.DuckDBPyConnection, files: Path | None = None) -> None:
        """Closes the network, and files other than those of the tables and of one folder: `staging`, or `files`."""

    @abstractmethod
    def alone(self, deadline: float) -> AbstractContextManager[Commit]:
        """Nobody else writes meanwhile. Raises WarehouseBusy."""

    @abstractmethod
    def beside(self, partition: str, deadline: float) -> AbstractContextManager[Commit]:
        """Nobody else writes this partition meanwhile; who may write others depends on the door. Raises WarehouseBusy."""

    @abstractmethod
    def lock(self, name: str, deadline: float) -> AbstractContextManager[None]:
        """A lock of this name, for work that takes longer than a transaction. Raises WarehouseBusy."""

    @abstractmethod
    def faults(self) -> AbstractContextManager[None]:
        """Turns what can go wrong outside of statements into WarehouseErrors with the way out."""
