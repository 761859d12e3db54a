"""The file of a cluster reads back to the same cluster, and faults name file, line and what was expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.cluster.clusters import CLUSTER, DESCRIBED, REMARKS
from traces.cluster.remarks import ConfigurationError
from traces.cluster.toml_reading import parse_cluster_toml, read_cluster_file
from traces.cluster.toml_writing import LEFT_OUT_KINDS, cluster_toml

SMALL = """\
name = "mine"

[scheduler]
name = "slurm"

[[nodes]]
names = "n[1-2]"
cores = 4

[[nodes]]
names = "m1"
cores = 8

[[partitions]]
name = "batch"
"""


def test_it_reads_back_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(cluster_toml(DESCRIBED))
    described = read_cluster_file(path)
    assert described.description == CLUSTER
    assert described.remarks == tuple(remark for remark in REMARKS if remark.kind in LEFT_OUT_KINDS)
    assert [node.name for node in parse_cluster_toml(SMALL, "mine.toml").description.nodes] == ["n1", "n2", "m1"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cores = 8", "colour = 8", r"mine.toml:12: expected one of .*cores.* in \[nodes\], found the key 'colour'"),
        ("cores = 8", "cores = 2.5", r"mine.toml:12: expected a whole number as cores, found 2.5"),
        (
            "cores = 8",
            "cores = 0",
            r"mine.toml:10: expected values that fit together, but node m1 needs at least 1 core",
        ),
        ("cores = 8", "weight = 2", r"mine.toml:10: expected the key cores in this table of \[\[nodes\]\]"),
        ("cores = 8", "cores = 8\nfeatures = 1", r"mine.toml:13: expected an array in brackets as features, found 1"),
        ("cores = 8", "cores = 8\nresources = 1", r"mine.toml:13: expected a table in braces as resources, found 1"),
        (
            "cores = 8",
            "cores = 8\nabsences = [{ state = 1 }]",
            r"mine.toml:13: expected a table with begin_s, end_s and state",
        ),
        ('names = "m1"', 'names = "m[2-1]"', r"mine.toml:11: expected names such as n\[01-16\] as names"),
        ('names = "m1"', "names = 3", r"mine.toml:11: expected names such as n\[01-16\] as names, found 3"),
        ('names = "m1"\n', "", r"mine.toml:10: expected names of this table of \[\[nodes\]\]"),
        (
            'names = "m1"',
            'names = "n1"',
            r"mine.toml: expected parts that fit together, but cluster mine has node n1 twice",
        ),
        (
            'name = "slurm"',
            'name = "lsf"',
            r"mine.toml:3: expected values that fit together, but expected a scheduler of",
        ),
        ('name = "slurm"', "name = ?", r"mine.toml:4: expected valid TOML, but"),
        (
            'name = "mine"\n',
            'name = "mine"\nvalid_from = 2026-03-01\n',
            r"mine.toml:2: expected a time such as 2026-03-01T00:00:00Z",
        ),
        ('name = "mine"\n', 'name = "mine"\ncolour = 1\n', r"mine.toml:2: expected one of .*, found the key 'colour'"),
        ('name = "mine"\n', "", r"mine.toml: expected a text in quotes as name, found None"),
        (
            'name = "batch"',
            'name = "batch"\nmax_time_s = "1h"',
            r"mine.toml:16: expected a whole number as max_time_s, found '1h'",
        ),
        ("[[partitions]]", "[partitions]", r"mine.toml:14: expected tables \[\[partitions\]\]"),
        ("[scheduler]\n", "scheduler = 3\n[other]\n", r"mine.toml:4: expected one of .* found the key 'other'"),
    ],
)
def test_faults_name_the_line(old: str, new: str, message: str) -> None:
    assert SMALL.count(old)
    with pytest.raises(ConfigurationError, match=message):
        parse_cluster_toml(SMALL.replace(old, new, 1), "mine.toml")
