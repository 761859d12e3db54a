"""The door to DuckDB. The database itself lives in `warehouse/data/`, which git ignores, or in a lake (docs/guides/lake.md)."""

from warehouse.disk import DiskError, disk_fault
from warehouse.door import Unfinished, Warehouse, confined
from warehouse.errors import NotCommitted, NoWarehouse, WarehouseBusy, WarehouseError
from warehouse.lake_place import LakePlace, lake_of_environment
from warehouse.partitions import (
    first_row,
    replace_partition,
    replace_partition_by_query,
    replace_partitions,
    replace_rows,
)
from warehouse.waiting import file_lock

__all__ = [
    "DiskError",
    "LakePlace",
    "NoWarehouse",
    "NotCommitted",
    "Unfinished",
    "Warehouse",
    "WarehouseBusy",
    "WarehouseError",
    "confined",
    "disk_fault",
    "file_lock",
    "first_row",
    "lake_of_environment",
    "replace_partition",
    "replace_partition_by_query",
    "replace_partitions",
    "replace_rows",
]
