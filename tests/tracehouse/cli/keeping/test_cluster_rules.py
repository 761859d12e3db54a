"""`tracehouse cluster identify` and `adopt`: what they are given, and what comes next."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.assets.replay.limits.test_identified import hidden_trace
from tests.tracehouse.text.test_rules_text import RESULT
from tracehouse.cli.keeping.cluster import cluster
from tracehouse.identifying import AdoptedRules, IdentifiedLog


def test_identify_prints_draws_and_names_the_next_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assets.common.trace.logged_facts", lambda rows, believed: {})
    given: list[object] = []

    def identify_cluster(*words: object) -> IdentifiedLog:
        given.append(words)
        return IdentifiedLog(hidden_trace(400), replace(RESULT, declared=()), tmp_path / "found.toml")

    monkeypatch.setattr("tracehouse.identifying.identify_cluster", identify_cluster)
    picture = tmp_path / "rules.png"
    result = CliRunner().invoke(cluster, ["identify", "mine", "--budget", "50", "--picture", str(picture)])
    assert result.exit_code == 0, result.output
    assert given == [("mine", None, 50)] and picture.stat().st_size > 1000
    assert "Each user has at most 10 running jobs" in result.output
    assert "tracehouse cluster adopt mine" in result.output
    as_json = CliRunner().invoke(cluster, ["identify", "mine", "--json"])
    assert json.loads(as_json.stdout)["replays"] == 7


@pytest.mark.parametrize(
    ("words", "named", "said"),
    [
        (["mine"], True, "tracehouse replay mine --cluster mine"),
        (["mine"], False, 'cluster = "mine"'),
        (["mine", "--revoke"], True, "no found rules any more"),
    ],
)
def test_adopt(words: list[str], named: bool, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    adopted = AdoptedRules(Path("clusters/mine.toml"), 3, named)
    monkeypatch.setattr("tracehouse.identifying.adopt_rules", lambda source, revoke: adopted)
    result = CliRunner().invoke(cluster, ["adopt", *words])
    assert result.exit_code == 0 and said in result.output
