"""Every word of the lists in slurm.conf has its row, and those that are left out say what they would have changed."""

from __future__ import annotations

from traces.cluster.remarks import NOT_MODELLED
from traces.slurm.configuration import parameter_keys
from traces.slurm.configuration.keys import GENERAL_KEYS


def test_rows_of_words() -> None:
    tables = [parameter_keys.SCHEDULER_PARAMETERS, parameter_keys.QOS_FLAGS, *parameter_keys.WORD_LISTS.values()]
    for table in tables:
        assert all(name == name.lower() and (row.effect or row.kind != NOT_MODELLED) for name, row in table.items())
    assert parameter_keys.WORD_LISTS.keys() <= GENERAL_KEYS.keys()
    assert set(parameter_keys.OLD_PARAMETERS.values()) <= parameter_keys.SCHEDULER_PARAMETERS.keys()
    assert "bf_interval" in parameter_keys.SCHEDULER_PARAMETERS
