"""The settings of RLSchert's asset; the whole asset runs in tests/tracehouse/cli/predicting/test_vasp.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from papers.rlschert import rlschert
from papers.rlschert.options import RLSchertOptions
from papers.rlschert.rlschert import RLSchertConfig, RLSchertTraining
from papers.rlschert.workload import PAPER_ERRORS
from warehouse import Warehouse


def test_the_plan_is_what_the_settings_say(tmp_path: Path) -> None:
    config = RLSchertConfig(seeds=[4], jobs=20, cluster_sizes=[16], training=RLSchertTraining(iterations=3))
    plan = rlschert._plan_of(config, Warehouse(tmp_path / "w.duckdb"), "mine")
    assert plan.options == RLSchertOptions(iterations=3)
    assert (plan.seeds, plan.workload.jobs, plan.workload.errors, plan.cluster_sizes) == ((4,), 20, PAPER_ERRORS, (16,))


def test_settings_are_refused_before_anything_is_trained(tmp_path: Path) -> None:
    config = RLSchertConfig(cluster_sizes=[8])
    with pytest.raises(ValueError, match="cluster_sizes: jobs have up to 10 processors, got"):
        rlschert._plan_of(config, Warehouse(tmp_path / "w.duckdb"), "mine")
