"""Parts of RLSchert's study run by their names."""

from __future__ import annotations

import sys

import pytest

from papers.rlschert import study
from papers.rlschert.options import PAPER_OPTIONS


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
