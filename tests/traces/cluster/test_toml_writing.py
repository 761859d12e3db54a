"""The file of a cluster: alike nodes are one table, and comments name file and line."""

from __future__ import annotations

import tomllib

import pytest

from tests.traces.cluster.clusters import DESCRIBED
from traces.cluster import toml_writing


def test_the_file_reads_well() -> None:
    text = toml_writing.cluster_toml(DESCRIBED)
    document = tomllib.loads(text)
    assert [table["names"] for table in document["nodes"]] == ["n02,n01", "g1", "g2", ["box[0]", "box[1]"]]
    assert [table["users"] for table in document["members"]] == [["ada", "bob"], ["eve"]]
    for line in (
        "# Of 6 keys that were read, there are: 4 in this file, 1 not modelled, 1 without effect on schedules.",
        "valid_from = 2026-03-01T00:00:00Z",
        "bf_window = 2880  # slurm.conf:2",
        'names = "n02,n01"  # slurm.conf:4',
        "memory_mib = 64000  # slurm.conf:3",
        "gpus = 4",
        "max_time_s = 90000  # slurm.conf:9 (1-01:00)",
        "over_time_s = 14400  # 4:00 h",
        'effect = "a job would start later"',
    ):
        assert line in text.splitlines(), line


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["n1", "n2", "m1", "n3"], "n[1-2],m1,n3"),
        (["n2", "n1"], "n2,n1"),
        (["a1b1", "a1b2", "a2b1", "a2b2"], "a[1-2]b[1-2]"),
        (["box[0]"], ("box[0]",)),
        ([], ""),
    ],
)
def test_hosts_keep_their_order(names: list[str], text: object) -> None:
    assert toml_writing.hosts_value(names) == text


def test_values_and_keys() -> None:
    values = {"t": 'a "b"\x7f', "n": (1, 2.5, True), "m": {"odd key": 1, "": 2}}
    text = "\n".join(
        f"{toml_writing.toml_key(key)} = {toml_writing.toml_value(value)}" for key, value in values.items()
    )
    assert tomllib.loads(text) == {"t": 'a "b"\x7f', "n": [1, 2.5, True], "m": {"odd key": 1, "": 2}}
