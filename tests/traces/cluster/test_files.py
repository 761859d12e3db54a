"""Files are read plain or packed, and broken ones are named."""

import gzip
from pathlib import Path

import pytest

from traces.cluster.files import read_text_file
from traces.cluster.remarks import ConfigurationError


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
