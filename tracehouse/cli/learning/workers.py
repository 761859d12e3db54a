"""Options of `tracehouse train` about many workers and populations."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import click

from models.scheduling.options import Launcher
from tracehouse.cli.parameters.amounts import ShareType

_SIZES = (
    click.option(
        "--trajectories",
        type=click.IntRange(min=1),
        help="Windows that ppo replays in an epoch, a multiple of their siblings. Default: the method's own, 16. Give each worker 512.",
    ),
    click.option(
        "--minibatch",
        type=click.IntRange(min=0),
        help="Decisions in a gradient step of ppo, 0 for all of an epoch. Default: the method's own, 4096. With many workers give more, "
        "or some have nothing to do in a step.",
    ),
)
_OPTIONS = (
    click.option(
        "--workers",
        type=click.IntRange(min=1),
        help="Train by decentralised PPO on so many processes, which replay windows and take gradient steps together.",
    ),
    click.option(
        "--launcher",
        type=click.Choice(get_args(Launcher)),
        help="What starts the workers: torchrun (the default), or ray, on the cluster of RAY_ADDRESS or on this machine.",
    ),
    click.option(
        "--torchrun",
        metavar="COMMAND",
        help="The command that starts workers on many machines, such as 'srun torchrun ...'. Default: torchrun here.",
    ),
    click.option(
        "--sync-fraction",
        type=ShareType(0, 1, is_open=(True, False)),
        metavar="SHARE",
        help="Share of the workers that must have finished an epoch's windows before the others stop theirs. Default: 1, never.",
    ),
    click.option(
        "--backlogs",
        metavar="POLICY",
        help="Policy whose replay gives windows their backlogs. Default: the learning policy's, replayed by each worker in each "
        "epoch. For logs of millions of jobs give FCFS or SAF.",
    ),
    click.option(
        "--population",
        type=click.IntRange(min=2),
        metavar="MEMBERS",
        help="Tune learning rate, entropy bonus and minibatch by population-based training with so many members.",
    ),
    click.option(
        "--interval",
        type=click.IntRange(min=1),
        help="Epochs after which members of a population are compared. Default: 5.",
    ),
    click.option(
        "--repeat",
        type=click.Path(dir_okay=False, path_type=Path),
        help="A policy file whose training stopped workers early: stop them where they stopped then.",
    ),
)


def size_options(command: Any) -> Any:
    """Adds the options about the sizes of epochs and steps to a command."""
    return _with(command, _SIZES)


def worker_options(command: Any) -> Any:
    """Adds the options about many workers to a command."""
    return _with(command, _OPTIONS)


def _with(command: Any, options: tuple[Any, ...]) -> Any:
    for option in reversed(options):
        command = option(command)
    return command
