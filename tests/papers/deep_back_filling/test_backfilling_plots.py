"""Pictures of agents show what the rows and the replays say."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from assets.common.trace import Trace, load_trace
from papers.deep_back_filling.backfilling import queue_over_time, wait_by_tail, who_waits
from tests.tiny import busy_log, warehouse_of

AGENTS = ["pick:by=shortest", "pick:from=all,window=2-2"]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    folder: Path = tmp_path_factory.mktemp("pictures")
    return load_trace(warehouse_of(folder, busy_log(300)), "mine")


def test_waits_by_the_slots_at_the_end() -> None:
    verdicts = pl.DataFrame(
        {
            "policy": [
                "FCFS, pick:by=shortest,from=all,window=20-0",
                "FCFS, pick:by=shortest,from=all,window=10-10",
                "ppo, FCFS, pick:by=shortest,from=all,window=10-10",
                "FCFS, pick:by=shortest,window=10-10",
            ],
            "seed": [None, None, 1, None],
            "average_wait_s": [7200.0, 3600.0, 1800.0, 1.0],
        }
    )
    (axis,) = wait_by_tail(verdicts).axes
    drawn = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in axis.lines}
    assert drawn["FCFS, pick:by=shortest,from=all, 20 slots"] == ([0, 10], [2.0, 1.0])
    assert drawn["learned: ppo, FCFS, pick:by=shortest,from=all, 20 slots"] == ([10], [0.5])
    assert len(drawn) == 2, "agents that keep a head have no window to split"


def test_queues_and_waits_of_each_agent(trace: Trace) -> None:
    (axis,) = queue_over_time(trace, "FCFS", AGENTS).axes
    assert [line.get_label() for line in axis.lines] == ["FCFS, easy", *AGENTS]
    assert all(min(line.get_ydata()) >= 0 for line in axis.lines)
    (axis,) = who_waits(trace, "FCFS", AGENTS).axes
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["FCFS, easy", *AGENTS]
