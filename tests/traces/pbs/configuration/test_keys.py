"""Tables of PBS's keys."""

import pytest

from traces.cluster.notes import KnownKey
from traces.cluster.remarks import NOT_MODELLED
from traces.pbs.configuration import keys


@pytest.mark.parametrize(
    "table", [keys.SERVER_KEYS, keys.QUEUE_KEYS, keys.SCHED_KEYS, keys.SCHED_CONFIG_KEYS, keys.VNODE_KEYS]
)
def test_a_key_that_is_left_out_says_what_it_would_have_changed(table: dict[str, KnownKey]) -> None:
    assert all(row.effect for row in table.values() if row.kind == NOT_MODELLED)
    assert all(word == word.lower() for row in table.values() for word in row.harmless)
