"""Learning by imitation: a network is shown the choices of a teacher and learns to make them itself (behaviour cloning).

The teacher is an order of the jobs. It can be a heuristic's, which a network then starts from instead of from nothing. It can
be that of a search that has seen the future of its windows (models/scheduling/hindsight.py): no scheduler can follow it, but a
network can copy it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from models.scheduling.arena import Arena, Windows
from models.scheduling.learning.kernel_pass import Gradients, imitation_pass, recorded_choices
from models.scheduling.options import ImitationOptions
from simulator.policies.network import KernelWeights
from simulator.policies.observation import Layout, blank_network

FloatArray = NDArray[np.float64]


def imitate(
    arena: Arena,
    windows: list[Windows],
    teachers: list[FloatArray],
    layout: Layout,
    options: ImitationOptions,
    seed: int,
    on_pass: Callable[[float, float], None] = lambda loss, share: None,
    start: KernelWeights | None = None,
) -> KernelWeights:
    """Shows windows[k] as teachers[k] orders them, and fits a kernel network.

    teachers: scores of the trace's jobs, lowest first, float64 (num_jobs,) each. on_pass: takes the mean loss and the share of
    choices that the network would make, too. Same arguments, same weights.
    """
    import torch

    from models.scheduling.learning.adam import Adam
    from models.scheduling.learning.networks import load_weights, new_policy_network, to_weights

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    network = new_policy_network("kernel", len(layout.inputs))
    if start is not None:
        load_weights(network, start)
    blank = blank_network(layout)
    shown = [arena.sample(blank, part, seed, teacher) for part, teacher in zip(windows, teachers, strict=True)]
    lessons = [(recorded_choices(part), np.arange(part.decisions)) for part in shown if part.decisions]
    batches = sum(-(-len(every) // options.minibatch) for _, every in lessons)
    shared = Gradients(network)
    steps = Adam(network.parameters(), lr=options.rate)
    last, taken = batches * options.passes, 0
    rng = np.random.default_rng(seed)
    for _ in range(options.passes):
        loss = hits = choices = 0.0
        for which in rng.permutation(len(lessons)):
            recorded, every = lessons[which]
            order = rng.permutation(every)
            for first in range(0, len(order), options.minibatch):
                batch = order[first : first + options.minibatch]
                shared.flat[:] = 0.0
                lost, hit = imitation_pass(recorded, batch, shared.weights, shared.gradients)
                shared.flat /= np.float32(len(batch))
                loss, hits = loss + lost, hits + hit
                steps.step()
                steps.param_groups[0]["lr"] *= 1 - 0.98 / (
                    last - 0.98 * taken
                )  # in a line to a fiftieth, as torch has it
                taken += 1
                choices += len(batch)
        on_pass(loss / max(choices, 1), hits / max(choices, 1))
    return to_weights(network, layout)
