"""The compiled passes against torch's gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.scheduling.learning.choices import imitation_gradient, ppo_gradient
from models.scheduling.learning.kernel_pass import ClippedLoss, Gradients, RecordedChoices, imitation_pass, ppo_pass
from models.scheduling.learning.networks import new_policy_network
from simulator.policies.network import VISIBLE_JOBS
from simulator.policies.observation import LAYOUTS


@pytest.mark.parametrize("decisions", [1, 3, 400])
@pytest.mark.parametrize("layout", ["plain", "informed"])
def test_the_compiled_passes_leave_torch_s_gradients(decisions: int, layout: str) -> None:
    """Of one decision, and of many more rows than a block holds, in any order."""
    rng = np.random.default_rng(decisions)
    torch.manual_seed(decisions)
    net = new_policy_network("kernel", len(LAYOUTS[layout].inputs))
    shared = Gradients(net)
    num_rows = rng.integers(2, VISIBLE_JOBS + 1, decisions)
    first_row = np.cumsum(num_rows) - num_rows
    features = rng.random((num_rows.sum(), len(LAYOUTS[layout].inputs)), dtype=np.float32)
    choice = (rng.random(decisions) * num_rows).astype(np.int64)
    old, advantage = (rng.normal(m, 1.0, decisions).astype(np.float32) for m in (-3.0, 0.0))
    order = rng.permutation(decisions)
    scores = net(torch.from_numpy(features), torch.from_numpy(num_rows))

    def expected(slope: np.ndarray) -> list[np.ndarray]:
        found = torch.autograd.grad(scores, list(net.parameters()), torch.from_numpy(slope), retain_graph=True)
        return [a.numpy() for a in found]

    def check(slope: np.ndarray) -> None:
        for ours, theirs, p in zip(shared.gradients, expected(slope), net.parameters(), strict=True):
            scale = np.abs(theirs).max()
            np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=2e-3 * scale + 1e-6)
            assert p.grad is not None and np.shares_memory(p.grad.numpy(), ours)

    slope = np.empty(len(features), dtype=np.float32)
    plain = scores.detach().numpy()
    expected_sums = ppo_gradient(plain, num_rows, choice, old, advantage, 0.2, 0.01, slope)
    shared.flat[:] = 0.0
    recorded = RecordedChoices(features, first_row, num_rows, choice, old)
    seen = ppo_pass(recorded, advantage, order, ClippedLoss(0.2, 0.01), shared.weights, shared.gradients)
    assert seen == pytest.approx(expected_sums[:2], rel=1e-3)
    check(slope)
    expected_sums = imitation_gradient(plain, num_rows, choice, np.ones(decisions), slope)
    shared.flat[:] = 0.0
    seen = imitation_pass(recorded, order, shared.weights, shared.gradients)
    assert seen == pytest.approx(expected_sums, rel=1e-3)
    check(slope)
