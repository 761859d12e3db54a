"""The settings of a training. Each is declared once (assets/common/writing/options.py), for `tracehouse train` and for Python, and for
Dagster as far as the pipeline has it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, Field

from assets.common.writing.options import Option
from models.scheduling.options import InputLayout, Launcher, LearningMethod, PolicyRules, Recipe, StartingPoint

Learned = Literal["order", "backfilling", "inspector"]
"""What a training learns."""


def seeds_of(seeds: str | Sequence[int]) -> list[int]:
    """The seeds of a text such as 1,2,3. Raises ValueError for others."""
    text = seeds if isinstance(seeds, str) else ",".join(map(str, seeds))
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--seeds {text!r}: expected whole numbers with commas between, such as 1,2,3") from None
    if min(numbers) < 0 or len(set(numbers)) < len(numbers):
        raise ValueError(f"--seeds {text!r}: expected different numbers from 0 on")
    return numbers


class TrainingSettings(BaseModel):
    """What a policy is trained for, and how. None is the usual of the method, or of what is learned."""

    learn: Annotated[Learned, Option(words=get_args(Learned))] = Field(
        default="order",
        description="A policy that orders the queue (order), an agent that picks what starts past a blocked job (backfilling), or one that "
        "accepts or rejects what a policy picks (inspector).",
    )
    agent: Annotated[str | None, Option(metavar="TEXT")] = Field(
        default=None,
        description="The agent, whose rule it starts from: pick:OPTIONS (default pick:by=shortest,window=64-63) or inspect:accept, "
        "inspect:unfit.",
    )
    policy: Annotated[str | None, Option(short="p", metavar="NAME")] = Field(
        default=None, description="The policy beside which an agent decides. Default: FCFS, for an inspector SJF."
    )
    goal: Annotated[str, Option(short="g")] = Field(
        default="bsld",
        description="What to minimize: bsld, slowdown, wait, turnaround, utilisation (maximized), bsld:max_user, or a sum "
        "such as '0.7*bsld + 0.001*wait'.",
    )
    backfill: Annotated[str, Option(short="b")] = Field(
        default="easy", description="Backfilling: none, any, easy or easy-sjbf."
    )
    estimates: Annotated[str, Option(short="e")] = Field(
        default="requested",
        description="Run times the scheduler uses: requested, predicted or predicted:p80, ...",
    )
    rules: Annotated[PolicyRules, Option(words=get_args(PolicyRules))] = Field(
        default="standard",
        description="Replay rules. rlscheduler are those of that code, for its published tables.",
    )
    cluster: Annotated[str | None, Option(metavar="NAME")] = Field(
        default=None,
        description="Train and judge an order under Slurm, in the place of its priority, on the nodes of this cluster "
        "(clusters/NAME.toml, docs/guides/your-scheduler.md). Default: the source's own where it runs Slurm, which takes longer. '' is a "
        "row of processors, as for all other sources.",
    )
    window_jobs: Annotated[int, Option(least=8, default="512")] = Field(
        default=512,
        description="Consecutive jobs in a window of training, at most half of the jobs to learn from.",
    )
    method: Annotated[LearningMethod, Option(short="m", words=get_args(LearningMethod))] = Field(
        default="ppo", description=f"{Recipe.model_fields['method'].description}."
    )
    layout: Annotated[InputLayout | None, Option(words=get_args(InputLayout))] = Field(
        default=None,
        description="What the network reads. plain (the default) is what every log has, informed has predictions and the state of the "
        "cluster, too, program what searched:balanced goes by, and paper is RLScheduler's Table I. Agents have their own, picking and "
        "inspecting.",
    )
    start: Annotated[StartingPoint | None, Option(words=get_args(StartingPoint))] = Field(
        default=None,
        description="What training starts from. saf (the default) is smallest area first, key a copy of the best key, best the better of "
        "both, program searched:balanced within its cap, and nothing random weights. An agent starts from its rule (rule) or from nothing.",
    )
    paper: Annotated[bool, Option()] = Field(
        default=False, description="RLScheduler's own hyper-parameters, layout and start. It takes long."
    )
    epochs: Annotated[int | None, Option(least=1)] = Field(
        default=None, description="Epochs, generations or passes. Default: the method's own."
    )
    trajectories: Annotated[int | None, Option(least=1)] = Field(
        default=None,
        description="Windows that ppo replays in an epoch, a multiple of their siblings. Default: the method's own, 16. Give each worker "
        "512.",
    )
    minibatch: Annotated[int | None, Option(least=0)] = Field(
        default=None,
        description="Decisions in a gradient step of ppo, 0 for all of an epoch. Default: the method's own, 4096. With many workers give "
        "more, or some have nothing to do in a step.",
    )
    workers: Annotated[int | None, Option(least=1)] = Field(
        default=None,
        description="Train by decentralised PPO on so many processes, which replay windows and take gradient steps together.",
    )
    launcher: Annotated[Launcher | None, Option(words=get_args(Launcher))] = Field(
        default=None,
        description="What starts the workers: torchrun (the default), or ray, on the cluster of RAY_ADDRESS or on this machine.",
    )
    torchrun: Annotated[str | None, Option(metavar="COMMAND")] = Field(
        default=None,
        description="The command that starts workers on many machines, such as 'srun torchrun ...'. Default: torchrun here.",
    )
    sync_fraction: Annotated[float | None, Option(metavar="SHARE", share=(0, 1, (True, False)))] = Field(
        default=None,
        description="Share of the workers that must have finished an epoch's windows before the others stop theirs. Default: 1, never.",
    )
    backlogs: Annotated[str | None, Option(metavar="POLICY")] = Field(
        default=None,
        description="Policy whose replay gives windows their backlogs. Default: the learning policy's, replayed by each worker in each "
        "epoch. For logs of millions of jobs give FCFS or SAF.",
    )
    population: Annotated[int | None, Option(least=2, metavar="MEMBERS")] = Field(
        default=None,
        description="Tune learning rate, entropy bonus and minibatch by population-based training with so many members.",
    )
    interval: Annotated[int | None, Option(least=1)] = Field(
        default=None, description="Epochs after which members of a population are compared. Default: 5."
    )
    repeat: Annotated[Path | None, Option(metavar="FILE", form="file")] = Field(
        default=None,
        description="A policy file whose training stopped workers early: stop them where they stopped then.",
    )
    seeds: Annotated[Sequence[int], Option(default="1,2,3", convert=seeds_of)] = Field(
        default=(1, 2, 3), description="Training seeds. The best on later jobs is kept."
    )
    accept_trade: Annotated[bool, Option()] = Field(
        default=False, description="Also take a policy that is better on average while some jobs wait longer."
    )
