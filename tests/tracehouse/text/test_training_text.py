"""What `tracehouse train` prints of numbers."""

from __future__ import annotations

import numpy as np
import pytest

from assets.policies.verdicts import JudgedRules
from models.judging.chance import cloud_around, random_orders
from models.judging.judge import judge
from models.judging.panel import Replayed
from simulator.engine.replay import replay
from tests.simulator.busy import PROCS, busy_jobs
from tracehouse.text.training_text import SLURMS_PRIORITY, print_ratios


def test_ratios_of_trained_policies(capsys: pytest.CaptureFixture[str]) -> None:
    jobs, scored = busy_jobs(300), np.arange(300) >= 150
    easy = Replayed(jobs, PROCS, replay(jobs, PROCS, "FCFS", "easy"), scored)
    cloud = cloud_around(easy, lambda order: replay(jobs, PROCS, order, "easy"), random_orders(300)[:4])
    judged = JudgedRules({"key": judge([easy], [easy])}, cloud)
    print_ratios(judged, 150, SLURMS_PRIORITY)
    assert "each over that of Slurm's own priority" in capsys.readouterr().out
    print_ratios(judged, 150)
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    assert "over its later 150 jobs" in lines[0]
    assert lines[2].split()[:3] == ["key", "1.00", "1.00"] and lines[2].endswith("no difference")
    slowdown, wait = (cloud.spread(name)[0] for name in ("bounded_slowdown", "wait"))
    assert lines[3].split()[:4] == ["random", "order", f"{slowdown:.2f}", f"{wait:.2f}"] and " 5 to 95 %: " in lines[3]
    assert lines[4].startswith("4 random orders: bounded slowdown ")
