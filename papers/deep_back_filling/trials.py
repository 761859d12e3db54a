"""Policies of Deep Back-Filling tried in episodes that end when so many jobs are placed, as the paper tests its checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from papers.deep_back_filling.episodes import PlacingBatch, placing_inputs
from papers.deep_back_filling.networks import ActorCritic, layers_of, play_episodes
from papers.deep_back_filling.options import DeepBackFillingOptions
from papers.deep_back_filling.placing_file import PlacingAgent
from papers.deep_back_filling.protocol import ProtocolMetrics, protocol_metrics, protocol_starts
from simulator.jobs.jobs import Jobs

DRAW_SEED = 1
"""Of the actions that are drawn in tests, so that all checkpoints have the same luck."""


@dataclass(frozen=True)
class CheckpointTest:
    """What a policy was worth after so many training episodes, with the likeliest action every time and with drawn ones.

    Each metric has one value for each test episode.
    """

    episodes: int
    likeliest: ProtocolMetrics
    drawn: ProtocolMetrics


def training_jobs(num_jobs: int, options: DeepBackFillingOptions) -> int:
    """How many jobs from the beginning of the trace on are trained on. Raises ValueError where they are too few."""
    jobs = int(options.cut * num_jobs)
    if jobs < options.training_later:
        raise ValueError(
            f"cut leaves {jobs} jobs to train on, and an episode may come to see {options.training_later}: raise cut, lower "
            "training_later, or take a longer trace"
        )
    return jobs


def trial_starts(num_jobs: int, options: DeepBackFillingOptions) -> NDArray[np.int64]:
    """Where the test episodes begin, int64 (test episodes,): behind what is trained on, unless all is (`cut` 1)."""
    first = training_jobs(num_jobs, options) if options.cut < 1 else 0
    return protocol_starts(num_jobs, first, options.test_episodes, options.later)


def try_placing(
    actor: torch.nn.Module,
    jobs: Jobs,
    cluster_procs: int,
    first: NDArray[np.int64],
    options: DeepBackFillingOptions,
    draws: bool = False,
) -> ProtocolMetrics:
    """Plays episodes from these jobs of the trace on. draws: whether actions are drawn instead of the likeliest taken."""
    batch = PlacingBatch(jobs, cluster_procs, len(first), options.placing_rules(options.later))
    play_episodes(actor, batch, first, np.random.default_rng(DRAW_SEED) if draws else None)
    return protocol_metrics(jobs, cluster_procs, first, batch.start, options.placed, options.slots)


def try_checkpoint(
    network: ActorCritic, jobs: Jobs, cluster_procs: int, options: DeepBackFillingOptions, episodes: int
) -> CheckpointTest:
    """The test of a policy after so many training episodes."""
    first = trial_starts(len(jobs), options)
    likeliest, drawn = (
        try_placing(network.actor, jobs, cluster_procs, first, options, draws) for draws in (False, True)
    )
    return CheckpointTest(episodes, likeliest, drawn)


def new_network(cluster_procs: int, options: DeepBackFillingOptions) -> ActorCritic:
    """Actor and critic for this cluster, initialised from torch's generator."""
    return ActorCritic(placing_inputs(cluster_procs, options.slots), options.slots + 1, options.hidden)


def agent_of(
    network: ActorCritic, cluster_procs: int, options: DeepBackFillingOptions, card: dict[str, Any]
) -> PlacingAgent:
    """The actor as it is kept in a file. options: with the run time that counts as 1."""
    assert options.longest_s is not None
    return PlacingAgent(cluster_procs, options.front, options.back, options.longest_s, layers_of(network.actor), card)


def with_longest(jobs: Jobs, options: DeepBackFillingOptions) -> DeepBackFillingOptions:
    """The options with the run time that counts as 1, where they have none."""
    return options.model_copy(update={"longest_s": options.longest_s or int(jobs.estimate.max())})


def metrics_to_tensors(metrics: ProtocolMetrics) -> list[torch.Tensor]:
    """The columns as torch tensors, for a checkpoint."""
    return [torch.from_numpy(np.ascontiguousarray(column)) for column in metrics]


def metrics_from_tensors(tensors: list[torch.Tensor]) -> ProtocolMetrics:
    """The inverse of `metrics_to_tensors`."""
    return ProtocolMetrics(*(tensor.numpy() for tensor in tensors))
