"""Every row of the tables says what it must, and no key is in two spellings."""

from __future__ import annotations

from traces.cluster.remarks import MODELLED, NOT_MODELLED
from traces.slurm.configuration import keys
from traces.slurm.configuration.nodes import NODE_FIELDS
from traces.slurm.configuration.partitions import PARTITION_FIELDS


def test_rows_of_keys() -> None:
    for table in (keys.GENERAL_KEYS, keys.SLURM_NODE_KEYS, keys.PARTITION_KEYS):
        assert all(name == name.lower() for name in table)
        assert all(row.effect for row in table.values() if row.kind == NOT_MODELLED)
        assert not table.keys() & keys.OLD_SPELLINGS.keys()


def test_modelled_keys_have_a_place() -> None:
    assert {name for name, row in keys.SLURM_NODE_KEYS.items() if row.kind == MODELLED} == NODE_FIELDS.keys()
    assert {name for name, row in keys.PARTITION_KEYS.items() if row.kind == MODELLED} == PARTITION_FIELDS.keys()
