"""Parts of RLSchert's study run by their names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from papers.kept_files import members_of
from papers.rlschert import study
from papers.rlschert.options import PAPER_OPTIONS
from papers.rlschert.workload import Workload


@pytest.mark.parametrize("arguments", [[], ["table_4"]])
def test_parts_are_named(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["-", *arguments])
    with pytest.raises(SystemExit, match="training, completion, table_3"):
        study.main()


def test_table_3_has_a_row_for_each_network(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    quick = PAPER_OPTIONS.model_copy(update={"pool": 2})
    monkeypatch.setattr(study, "PAPER_OPTIONS", quick)
    monkeypatch.setattr(study, "train_rlschert", lambda *_, on_iteration, **__: [on_iteration(None) for _ in range(3)])
    monkeypatch.setattr(sys, "argv", ["-", "table_3"])
    study.main()
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| P") or line.startswith("| p")]
    assert len(rows) == len(study.NETWORKS_TRIED)


def test_networks_that_are_trained_as_published_stand_beside_the_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = {"pool": 1, "sequences": 1, "iterations": 1, "validate_every": 1, "passes": 1}
    monkeypatch.setattr(study, "PAPER_OPTIONS", PAPER_OPTIONS.model_copy(update=changed))
    monkeypatch.setattr(study, "Workload", lambda: Workload(jobs=6))
    monkeypatch.setattr(study, "IMAGES_TRAINED", study.IMAGES_TRAINED[1:3])
    monkeypatch.setattr(study, "KEPT_NETWORKS", tmp_path / "kept.tar.xz")
    study.train_networks(tmp_path, 1)
    study.keep_networks(tmp_path, study.KEPT_NETWORKS)
    capsys.readouterr()
    study.networks()
    printed, curves = capsys.readouterr().out.split("by iteration")
    assert "| PPO, dense |" in curves
    rows = {line.split(" | ")[0].strip("| "): line for line in printed.splitlines() if line.startswith("| ")}
    assert {"SAF", "SJF, whole queue", "PPO, dense", "PPO, dense, first predictions"} <= set(rows)
    assert rows["PPO, dense"].endswith("| 1 of 1 | 7.03 |") and " to " in rows["SAF"]
    kept = {"rlschert-ppo-image_mlp-1.json", "deeprm-ppo-image_mlp-1.json", study.CURVES}
    assert set(members_of(study.KEPT_NETWORKS)) == kept
