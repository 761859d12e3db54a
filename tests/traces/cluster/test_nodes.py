"""What a node must have."""

import pytest

from traces.cluster.nodes import Node


def test_threads_count_as_cpus_unless_the_scheduler_says_otherwise() -> None:
    assert Node("n1", 8, threads_per_core=2).cpus == 16
    assert Node("n1", 8, threads_per_core=2, cpus=8).cpus == 8
    assert Node("n1", 8, gpus={"a100": 2, "v100": 1}).num_gpus == 3


@pytest.mark.parametrize("bad", [{"cores": 0}, {"cores": 4, "memory_mib": -1}, {"cores": 4, "gpus": {"a100": -2}}])
def test_counts_must_be_possible(bad: dict) -> None:
    with pytest.raises(ValueError, match="node n1"):
        Node("n1", **bad)
