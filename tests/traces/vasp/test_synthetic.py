"""Synthetic runs: files that are read like real ones, the same for the same seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.vasp.vasp_lines import (
    read_runs,
)
from traces.vasp.synthetic import SyntheticOptions, write_runs


def test_many_synthetic_runs(tmp_path: Path) -> None:
    """The last three of them are left on their way."""
    write_runs(tmp_path, SyntheticOptions(20, 7, unfinished=3))
    found = read_runs(tmp_path)
    assert list(found) == [f"synthetic-{number:05d}" for number in range(20)]
    assert [read.runs["state"].to_list() for read in found.values()] == [["finished"]] * 17 + [["cut_off"]] * 3
    for read in found.values():
        assert read.rejects.is_empty()
        assert (
            read.runs["residuals_told"].to_list() == read.runs["electronic_steps"].to_list() == [read.electronic.height]
        )


def test_the_same_options_give_the_same_files(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        write_runs(tmp_path / folder, SyntheticOptions(3, 5, unfinished=1))
    files = [sorted(path for path in (tmp_path / folder).rglob("*") if path.is_file()) for folder in ("a", "b")]
    assert [path.relative_to(tmp_path / "a") for path in files[0]] == [
        path.relative_to(tmp_path / "b") for path in files[1]
    ]
    assert len(files[0]) == 3 * 5
    assert all(ours.read_bytes() == theirs.read_bytes() for ours, theirs in zip(*files, strict=True))


@pytest.mark.parametrize(
    ("options", "says"),
    [({"runs": 0}, "runs"), ({"runs": 3, "unfinished": 4}, "unfinished"), ({"single_share": 1.5}, "single_share")],
)
def test_bad_options_name_themselves(options: dict[str, float], says: str) -> None:
    with pytest.raises(ValueError, match=f"^{says} "):
        SyntheticOptions(**options)  # type: ignore[arg-type]
