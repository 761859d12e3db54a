"""Mean waits of groups of jobs, such as those of each partition, in a replay and in the real run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

COLUMNS = "of | name | jobs | real mean wait, s | ours, mean over phases, s | ratio"
RULER = " | ".join(["---"] * 6)


def rows_by_group(
    groups: Mapping[str, Sequence[str]], real: NDArray[np.int64], ours: Sequence[NDArray[np.int64]]
) -> Iterator[str]:
    """A row of COLUMNS for each group. groups: what they are of, and each job's name there, in whose place a job that has none has "".
    real: waits in seconds. ours: the same of each replay."""
    mean = np.mean(np.stack(ours), axis=0)
    for kind, names in groups.items():
        of_job = np.array(names)
        different = sorted(set(names) - {""})
        for name in different if len(different) > 1 else ():
            mine = of_job == name
            waits = float(real[mine].mean()), float(mean[mine].mean())
            ratio = f"{waits[1] / waits[0]:.2f}" if waits[0] > 0 else ""
            yield f"{kind} | {name} | {int(mine.sum())} | {waits[0]:.0f} | {waits[1]:.0f} | {ratio}"
