"""The door to DuckDB. The database itself lives in `warehouse/data/`, which git ignores."""

from warehouse.door import Warehouse, commit_so_far, file_lock
from warehouse.errors import WarehouseBusy, WarehouseError
from warehouse.partitions import first_row, replace_partition, replace_partition_by_query, replace_rows

__all__ = [
    "Warehouse",
    "WarehouseBusy",
    "WarehouseError",
    "commit_so_far",
    "file_lock",
    "first_row",
    "replace_partition",
    "replace_partition_by_query",
    "replace_rows",
]
