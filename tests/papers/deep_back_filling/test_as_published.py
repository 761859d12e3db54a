"""Kept agents of Deep Back-Filling's own training."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import papers.deep_back_filling.study as study
from papers.deep_back_filling import as_published
from papers.deep_back_filling.options import DeepBackFillingOptions
from papers.deep_back_filling.placing_file import placing_from_bytes
from papers.kept_files import members_of
from tests.papers.deep_back_filling.small import JOBS, small_options
from tests.simulator.busy import PROCS


def test_a_training_is_kept_and_tested_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (study, as_published):
        monkeypatch.setattr(module, "PROCS", PROCS)
    monkeypatch.setattr(as_published, "BLOCK", 2)
    monkeypatch.setattr(as_published, "SHOWN_EPISODES", 4)
    monkeypatch.setattr(as_published, "WHOLE_QUEUE_RULES", ())
    monkeypatch.setattr(as_published, "TRAINED_WINDOWS", ("6-0", "4-2"))
    for front, back in ((6, 0), (4, 2)):
        study.print_training(JOBS, small_options(front=front, back=back), tmp_path)
    as_published.keep_agents(tmp_path, tmp_path / "kept.tar.xz")
    members = members_of(tmp_path / "kept.tar.xz")
    options = small_options()
    first = as_published.trial_starts(len(JOBS), options)
    monkeypatch.setattr(
        as_published, "try_rival", lambda rival, jobs, procs, first, window: study.rival_on(rival, jobs, first, options)
    )
    rows = as_published.tested(JOBS, members, first, options)
    assert [row.name for row in rows] == [
        f"{window}, {who}"
        for window in ("6-0", "4-2")
        for who in ("shortest", "agent of 4 episodes, drawn", "agent of 4 episodes, likeliest")
    ]
    lines = as_published.split_rows(rows)
    gain = 1 - np.mean(rows[3].metrics.queue) / np.mean(rows[0].metrics.queue)
    assert lines[0][0] == "shortest" and lines[0][3].startswith(f"{100 * gain:.0f} % (")
    curve = as_published.curve_lines(members[as_published.CURVES].decode())
    assert [line[:2] for line in curve] == [["6-0", "4"], ["4-2", "4"]]
    assert len(members[as_published.TESTS].splitlines()) == 8


def test_kept_agents_are_the_papers() -> None:
    members, hidden = members_of(as_published.KEPT_AGENTS), DeepBackFillingOptions().hidden
    for window in as_published.TRAINED_WINDOWS:
        agent = placing_from_bytes(members[f"{window}.json"])
        assert f"{agent.front}-{agent.back}" == window and agent.cluster_procs == 256
        assert [weights.shape[0] for weights, _ in agent.layers] == [*hidden, 21]
        assert json.loads(members[f"{window}.json"])["card"]["trained_now"] >= agent.card["episodes"] >= 3000
