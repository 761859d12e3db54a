"""Mean waits of groups of jobs."""

from __future__ import annotations

import numpy as np

from studies.slurm.waits_by_group import rows_by_group


def test_each_group_has_its_mean_over_replays_and_a_kind_of_one_group_has_no_row() -> None:
    groups = {"partition": ["a", "b", "a", ""], "QOS": ["normal"] * 4}
    ours = [np.array([10, 0, 20, 7]), np.array([30, 0, 40, 7])]
    rows = list(rows_by_group(groups, np.array([10, 0, 40, 7]), ours))
    assert rows == ["partition | a | 2 | 25 | 25 | 1.00", "partition | b | 1 | 0 | 0 | "]
