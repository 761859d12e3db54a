"""The door to DuckDB. The database itself lives in `warehouse/data/`, which git ignores."""

from warehouse.disk import DiskError, disk_fault
from warehouse.door import Unfinished, Warehouse, confined, file_lock
from warehouse.errors import NoWarehouse, WarehouseBusy, WarehouseError
from warehouse.partitions import first_row, replace_partition, replace_partition_by_query, replace_rows

__all__ = [
    "DiskError",
    "NoWarehouse",
    "Unfinished",
    "Warehouse",
    "WarehouseBusy",
    "WarehouseError",
    "confined",
    "disk_fault",
    "file_lock",
    "first_row",
    "replace_partition",
    "replace_partition_by_query",
    "replace_rows",
]
