"""What can be wrong with a warehouse."""

from __future__ import annotations


class WarehouseError(Exception):
    """The warehouse cannot be used; the message says why and what to do."""


class NoWarehouse(WarehouseError):
    """Nobody has written a warehouse yet."""


class WarehouseBusy(WarehouseError):
    """Another process kept the warehouse for longer than the time-out."""


class NotCommitted(WarehouseBusy):
    """A transaction on a lake did not take effect: another writer came first, or the catalogue was lost. It can be run again."""
