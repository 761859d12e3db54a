"""The door to DuckDB. The database itself lives in `warehouse/data/`, which git ignores."""

from warehouse.door import Warehouse, WarehouseBusy, WarehouseError
from warehouse.partitions import first_row, replace_partition, replace_partition_by_query, replace_rows

__all__ = [
    "Warehouse",
    "WarehouseBusy",
    "WarehouseError",
    "first_row",
    "replace_partition",
    "replace_partition_by_query",
    "replace_rows",
]
