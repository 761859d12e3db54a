"""Parts of RLSchert's study run by their names."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from papers.kept_files import kept_archive, members_of, short_floats
from papers.rlschert import study
from papers.rlschert.networks import new_rlschert_network
from papers.rlschert.options import PAPER_OPTIONS
from papers.rlschert.rules import HORIZON
from papers.rlschert.training import RLSchertPolicy
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


@pytest.fixture
def policy() -> RLSchertPolicy:
    torch.manual_seed(1)
    return RLSchertPolicy(new_rlschert_network("image_mlp", 16, False), "image_mlp", False)


def test_a_network_comes_back_with_short_weights(policy: RLSchertPolicy) -> None:
    content = study.network_to_bytes(policy, 16, {"seed": 1})
    other, card = study.network_from_bytes(content)
    assert card == {"seed": 1} and study.network_to_bytes(other, 16, card) == content
    for name, part in policy.network.state_dict().items():
        assert np.array_equal(short_floats(part.numpy()), other.network.state_dict()[name].numpy())


@pytest.mark.parametrize("wrong", [b"[]", b"no JSON", b"{}"])
def test_what_is_no_network_is_refused(wrong: bytes, policy: RLSchertPolicy) -> None:
    content = study.network_to_bytes(policy, 16, {})
    for damaged in (wrong, content.replace(b'"procs": 16', b'"procs": 18'), content[:-900]):
        with pytest.raises(ValueError, match="no network of RLSchert, or a damaged one"):
            study.network_from_bytes(damaged)


def test_kept_networks_decide() -> None:
    kept = {name: content for name, content in members_of(kept_archive("rlschert")).items() if name.endswith(".json")}
    assert len(kept) >= 3
    for content in kept.values():
        policy, card = study.network_from_bytes(content)
        assert policy.network.act(torch.zeros(1, HORIZON, 72)).shape == (1, 14) and 0 < card["iterations"] <= card["of"]
