"""`tracehouse distil`: a policy as a formula that replays as a policy does."""

from __future__ import annotations

import json
from pathlib import Path

from tests.pipelines.command_line import fail, succeed
from tests.tracehouse.cli.learning.conftest import QUICK


def test_distil(policy: Path) -> None:
    text = succeed("distil", policy, "mine")
    formula = text.splitlines()[0]
    assert formula.startswith("formula:") and "of the policy's" in text
    assert "one replay of the whole log, over its later 450 jobs" in text
    found = json.loads(succeed("distil", policy, "mine", "--json"))
    assert set(found["verdicts"]) == {"SAF", "policy", "formula"}
    assert found["formula"] == formula and 0 < found["agreement"] <= 1
    assert "average_wait_s" in json.loads(succeed("replay", "mine", "--policy", formula, "--json"))


def test_what_cannot_be_a_formula(home: Path) -> None:
    path = home / "code.json"
    text = succeed("train", "mine", "-o", path, *QUICK, "--rules", "rlscheduler")
    assert "distil" not in text and "--rules rlscheduler" in text
    assert "trained under the RLScheduler rules" in fail("distil", path, "mine")
