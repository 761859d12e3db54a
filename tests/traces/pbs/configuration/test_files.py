"""Files are known by their name or by what is in them."""

import gzip
from pathlib import Path

import pytest

from tests.traces.pbs.configuration.configurations import MAUI, PBSNODES, QMGR, SCHED_CONFIG, file_of
from traces.cluster.remarks import ConfigurationError
from traces.pbs.configuration.files import files_by_role, read_text_file, role_of


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


def test_packed_files_are_read_and_broken_ones_named(tmp_path: Path) -> None:
    packed = tmp_path / "qmgr.txt.gz"
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbfset server x = 1\n\n# note\n"))
    file = read_text_file(packed)
    assert (file.name, list(file.lines())) == ("qmgr.txt", [(1, "set server x = 1")])
    packed.write_bytes(packed.read_bytes()[:20])
    with pytest.raises(
        ConfigurationError, match=r"qmgr.txt.gz: expected a file that can be read, but: .*Copy it again"
    ):
        read_text_file(packed)


def test_two_files_of_a_kind_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"b: expected one file of pbsnodes, found a and b"):
        files_by_role([file_of("a", PBSNODES), file_of("b", PBSNODES)])
