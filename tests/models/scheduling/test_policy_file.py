"""Policy files: what is written comes back, and whatever else is refused with a reason."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from models.scheduling.policy_file import load_policy, policy_from_bytes, policy_to_bytes
from simulator.policies.observation import FACTS, LAYOUTS
from tests.simulator.busy import PROCS, busy_jobs, random_weights

CARD = {"source": "mine", "goal": "bsld", "seed": 3}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_written_comes_back(layout: str, tmp_path: Path) -> None:
    weights = random_weights(1, layout)
    content = policy_to_bytes(weights, CARD)
    assert content == policy_to_bytes(weights, CARD)
    path = tmp_path / "policy.json"
    path.write_bytes(content)
    found, card = load_policy(path)
    assert card == CARD and all(np.array_equal(a, b) for a, b in zip(found, weights, strict=True))


def damaged(**changes: object) -> bytes:
    return json.dumps(json.loads(policy_to_bytes(random_weights(), CARD)) | changes).encode()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "cut short"),
        (policy_to_bytes(random_weights(), CARD)[:500], "cut short"),
        (b"[1, 2]", "not a policy file"),
        (b"[" * 100_000, "not a policy file"),
        (damaged(card=[]), "damaged"),
        (damaged(card={"trained_jobs": "all"}), "damaged"),
        (b'{"format": "other"}', "not a policy file"),
        (damaged(format="tracehouse kernel network 1"), "another tracehouse .*train it again"),
        (damaged(facts=["estimate", "procs", "hair"]), "another observation layout.*hair"),
        (damaged(facts=["estimate", "procs"]), r"another observation layout.*w1 has the shape \(8, 32\)"),
        (damaged(signals=[]), "another observation layout"),
        (damaged(weights={}), "another observation layout, or damaged"),
        (damaged(facts=["estimate", "area", "procs"]), "damaged: the weights are not those that were written"),
    ],
)
def test_anything_else_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"policy.json: .*{said}"):
        load_policy(path)


def test_one_changed_weight_is_noticed() -> None:
    document = json.loads(policy_to_bytes(random_weights(), CARD))
    document["weights"]["w4"][2] += 1e-6
    with pytest.raises(ValueError, match="hash differs"):
        policy_from_bytes(json.dumps(document).encode())


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="tracehouse train"):
        load_policy(tmp_path / "none.json")


def test_what_the_jobs_do_not_have_is_named() -> None:
    from simulator.engine.replay import replay

    with pytest.raises(ValueError, match=r"the policy reads request, predicted_p10.*--layout plain"):
        replay(busy_jobs(50), PROCS, "learned", weights=random_weights(1, "informed"))
    assert set(LAYOUTS["informed"].facts) <= set(FACTS)
