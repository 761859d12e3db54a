"""Taking a source out of Dagster's records: its partition, and its runs, which else the UI shows as failures of assets that are well."""

import dagster as dg
from dagster._core.storage.event_log.schema import (
    AssetCheckExecutionsTable,  # Dagster wipes results of checks of all sources only
)
from dagster._core.storage.event_log.sql_event_log import (
    SqlEventLogStorage,  # not exported; the storage whose table that is
)

from pipelines.processes import UNFINISHED_STATUSES
from pipelines.running import dagster_instance

PARTITION_KINDS = ("sources", "vasp")
"""Names of Dagster's dynamic partitions: sources, and folders of VASP runs."""


def forget_partition(name: str, partitions: str = "sources") -> None:
    """Takes a name out of Dagster's partitions, with its finished runs. Its assets are no longer shown for it."""
    with dagster_instance() as instance:
        if name in instance.get_dynamic_partitions(partitions):
            instance.delete_dynamic_partition(partitions, name)
        if not any(
            name in instance.get_dynamic_partitions(kind) for kind in PARTITION_KINDS
        ):  # runs do not say of which kind they are
            _forget_runs(instance, name)


def _forget_runs(instance: dg.DagsterInstance, name: str) -> None:
    runs = instance.get_runs(filters=dg.RunsFilter(tags={"dagster/partition": name}))
    gone = {run.run_id for run in runs if run.status not in UNFINISHED_STATUSES}
    for run_id in sorted(gone):
        instance.delete_run(run_id)
    storage = instance.event_log_storage
    if not gone or not isinstance(storage, SqlEventLogStorage):
        return
    with storage.index_connection() as connection:
        for run_id in gone:
            checked = AssetCheckExecutionsTable.c.run_id == run_id
            connection.execute(AssetCheckExecutionsTable.delete().where(checked))
    for record in storage.get_asset_records():
        last = record.asset_entry.last_materialization
        if record.asset_entry.last_run_id in gone or (last is not None and last.run_id in gone):
            _name_the_last_of_others(instance, storage, record.asset_entry.asset_key)


def _name_the_last_of_others(instance: dg.DagsterInstance, storage: SqlEventLogStorage, key: dg.AssetKey) -> None:
    """Dagster keeps the last run of each asset apart from the runs. It becomes the last one that is left."""
    left = instance.fetch_materializations(key, limit=1).records
    if left:
        storage.store_asset_event(left[0].event_log_entry, left[0].storage_id)
    else:
        instance.wipe_assets([key])
