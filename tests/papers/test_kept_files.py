"""Archives of trained networks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from papers.kept_files import kept_archive, members_of, short_floats, write_members


def test_the_same_members_come_back_and_give_the_same_bytes(tmp_path: Path) -> None:
    members = {"b.json": b"2", "folder/a.csv": b"1,2\n"}
    for name in ("one", "two"):
        write_members(tmp_path / name, members)
    assert members_of(tmp_path / "one") == members and members_of(tmp_path / "three") == {}
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert kept_archive("rlscheduler").exists()


def test_short_floats_are_those_of_bfloat16() -> None:
    weights = np.random.default_rng(1).normal(size=(7, 5)).astype(np.float32)
    assert (short_floats(weights) == torch.from_numpy(weights).bfloat16().float().numpy()).all()
    assert (short_floats(short_floats(weights)) == short_floats(weights)).all()
