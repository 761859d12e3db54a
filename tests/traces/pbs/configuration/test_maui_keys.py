"""Tables of Maui's keys."""

import pytest

from traces.cluster.notes import KnownKey
from traces.cluster.remarks import NOT_MODELLED
from traces.pbs.configuration import maui_keys


@pytest.mark.parametrize("table", [maui_keys.PARAMETER_KEYS, maui_keys.CREDENTIAL_KEYS, maui_keys.RESERVATION_KEYS])
def test_a_key_that_is_left_out_says_what_it_would_have_changed(table: dict[str, KnownKey]) -> None:
    assert all(row.effect for row in table.values() if row.kind == NOT_MODELLED)
    assert all(name == name.upper() for name in table)
