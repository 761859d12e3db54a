"""Who is compared, on which windows, and in which columns."""

from __future__ import annotations

import numpy as np
import pytest

from assets.common.trace import load_trained_trace
from assets.evaluation.contestants import Contestant, contestants_of, evaluation_windows, scores_of
from simulator.metrics.metrics import METRICS, metrics
from simulator.policies.registry import RIVAL_HEURISTICS
from tests.tiny import SOURCE
from warehouse import Warehouse


def test_windows_do_not_overlap_and_lie_after_the_split() -> None:
    first = evaluation_windows(jobs=10_000, test_position=6_000, window_jobs=512, most=50)
    assert len(first) == 7
    assert first[0] == 6_000
    assert first[-1] == 10_000 - 512
    assert (np.diff(first) >= 512).all()
    assert len(evaluation_windows(200_000, 100_000, 512, 50)) == 50


def test_heuristics_key_and_learned_policies_are_compared(warehouse: Warehouse) -> None:
    _, test_position = load_trained_trace(warehouse, SOURCE)
    contestants = contestants_of(warehouse, SOURCE, test_position)
    assert [entry.policy for entry in contestants] == [*RIVAL_HEURISTICS, "key", "learned", "learned"]
    learned = contestants[-2:]
    assert [entry.seed for entry in learned] == [1, 2] and all(entry.in_windows for entry in learned)
    assert sum(entry.in_period for entry in learned) == 1, "the champion"
    with pytest.raises(ValueError, match="trained on jobs that are now in the test part"):
        contestants_of(warehouse, SOURCE, test_position - 1)


def test_scores_are_the_metrics_of_the_schedule(warehouse: Warehouse) -> None:
    trace, test_position = load_trained_trace(warehouse, SOURCE)
    window = trace.jobs("predicted").window(test_position, 80)
    columns, schedule = scores_of(trace, window, Contestant("SAF", "SAF"), "predicted")
    assert tuple(columns) == ("policy", "seed", "backfill", "estimates", "jobs", *METRICS, "semantics")
    values = metrics(window, schedule, trace.cluster_procs)
    assert {name: columns[name] for name in METRICS} == values and columns["jobs"] == 80
