"""The name of a file tells its format."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.sharing.formats import format_of


@pytest.mark.parametrize(
    ("name", "file_format"),
    [("a.swf", "swf"), ("a.SWF.GZ", "swf"), ("a.b.parquet", "parquet"), ("a.csv", "evalys")],
)
def test_names_tell_formats(name: str, file_format: str) -> None:
    assert format_of(Path(name)) == file_format


def test_other_names_tell_none() -> None:
    for name in ("a.json", "a.csv.gz", "parquet", "swf"):
        with pytest.raises(ValueError, match=r"its name tells no format: let it end in \.swf"):
            format_of(Path(name))
