"""What people read of a cluster, and of each key of its configuration."""

from __future__ import annotations

from tests.traces.cluster.clusters import CLUSTER, DESCRIBED, REMARKS
from tracehouse.text.cluster_text import cluster_summary, cluster_text, keys_left_out_text, keys_text


def test_a_cluster_in_words() -> None:
    assert cluster_summary(CLUSTER) == (
        "6 nodes with 88 CPUs and 7 GPUs, 2 partitions, 1 account, 3 users, 1 QOS, 1 limit, 1 reservation, 2 switches; "
        "scheduler: slurm 22.05.8"
    )
    text = cluster_text(DESCRIBED, None)
    for part in ("n02,n01", "2 a100, 1", "batch (default)", "1-01:00", "gpu:a100 running by user", "bf_window = 2880"):
        assert part in text, part
    assert max(map(len, cluster_text(DESCRIBED, 60).splitlines())) <= 60


def test_keys_by_what_became_of_them() -> None:
    rows = [line.split() for line in keys_text(REMARKS, None).splitlines()]
    assert rows[1] == ["slurm.conf", "4", "1"] and rows[-1] == ["all", "files", "4", "1", "1", "0", "1"]
    text = keys_left_out_text(REMARKS, None)
    assert "Not modelled: these keys change schedules, and a replay leaves them out (1):" in text
    assert "  slurm.conf:1: Prolog=/bin/true: a job would start later" in text
    assert keys_left_out_text((), None) == "" and "and 5 more" in keys_left_out_text(REMARKS[4:5] * 45, None)
