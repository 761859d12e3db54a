"""Files are known by their name or by what is in them."""

import pytest

from tests.traces.pbs.configuration.configurations import MAUI, PBSNODES, QMGR, SCHED_CONFIG, file_of
from traces.cluster.remarks import ConfigurationError
from traces.pbs.configuration.files import files_by_role, role_of


@pytest.mark.parametrize(
    ("name", "text", "role"),
    [
        ("qmgr.txt", "", "print server"),
        ("qmgr_sched.txt", "", "print sched"),
        ("sched_config", "", "sched_config"),
        ("pbsnodes.json", "", "pbsnodes"),
        ("my-server", QMGR, "print server"),
        ("mine", "Sched default\n    state = idle\n", "print sched"),
        ("limits", MAUI, "maui.cfg"),
        ("a", SCHED_CONFIG, "sched_config"),
        ("b", PBSNODES, "pbsnodes"),
        ("README", "hello", None),
    ],
)
def test_roles(name: str, text: str, role: str | None) -> None:
    assert role_of(file_of(name, text)) == role


def test_two_files_of_a_kind_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"b: expected one file of pbsnodes, found a and b"):
        files_by_role([file_of("a", PBSNODES), file_of("b", PBSNODES)])
