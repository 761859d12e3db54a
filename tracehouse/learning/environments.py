"""Learning: Gymnasium environments in which other libraries train agents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from assets.policies.training import PolicyTask, arena_of_task, split_of
from models.scheduling.arena import Windows
from simulator.policies.agents import parse_agent
from simulator.policies.observation import AGENT_LAYOUTS, LAYOUTS, Layout
from tracehouse.logs import Log, load_log

if TYPE_CHECKING:
    from models.scheduling.arena import Arena
    from models.scheduling.environment import AgentEnv, AgentVectorEnv, SchedulingEnv, SchedulingVectorEnv

PARTS = ("learn", "choose", "judge")


class AgentSettings(TypedDict, total=False):
    """What an agent decides in an environment, where that is not the order of the queue.

    Each step answers a question beside a policy. The rows of an observation are the answers.

    Attributes
    ----------
    agent : str or None
        "pick:window=H-T" asks which job is backfilled, with at most 127 visible jobs and any options of `--backfill`
        but `by`, which is not read. There are H + T + 1 rows. Jobs that may be picked come first, and the row behind
        the last one picks none, where none is an answer. `backfill` is not read.

        "inspect" asks whether the policy's pick is accepted (row 0) or rejected (row 1).
    policy : str
        The policy beside which the agent decides, "FCFS" if it is left out.

    Notes
    -----
    The reward is minus what waiting adds to the goal until the next question. For a goal that is no sum over jobs, which
    are utilisation and those of users, it comes at the end. `layout` is "picking" or "inspecting" by default, and may be
    any other one. docs/guides/backfilling.md lists the inputs.

    Examples
    --------
    >>> import tracehouse
    >>> env = tracehouse.make_env("birch", agent="pick:window=10-10", policy="FCFS")
    >>> observation, info = env.reset(seed=1)
    >>> observation.shape, info["action_mask"].shape
    ((21, 20), (21,))
    >>> observation, reward, terminated, truncated, info = env.step(0)
    """

    agent: str | None
    policy: str


def make_env(
    log: Log | str | Path,
    goal: str = "bsld",
    backfill: str = "easy",
    estimates: str = "requested",
    window_jobs: int = 256,
    layout: str | None = None,
    part: str = "learn",
    **settings: Unpack[AgentSettings],
) -> SchedulingEnv | AgentEnv:
    """Make a Gymnasium environment in which an agent decides on the jobs of a log, one window of jobs an episode.

    Each step chooses the next job to start, or answers the question of AgentSettings. The reward comes at the end of a
    window, and is minus the goal's cost. Windows begin on an empty cluster. This needs the extra `gym`.

    Parameters
    ----------
    log
        What `load_log` has loaded, or what it would load. At least 300 jobs.
    goal
        What to minimize: "bsld", "slowdown", "wait", "turnaround", "bsld:max_user", or a sum such as
        "0.7*bsld + 0.001*wait". Or "utilisation", which is maximized.
    backfill
        "none", "any", "easy" or "easy-sjbf".
    estimates
        Run times that the scheduler uses, such as "requested", "actual", "predicted" or "predicted:p80".
    window_jobs
        Consecutive jobs in an episode, fewer in a short log.
    layout
        What the agent sees of a job: "plain" (default), "informed" or "paper". docs/guides/policies.md lists the inputs.
    part
        Which jobs: "learn" (the first 30 % of the log), "choose" (the next 10 %) or "judge" (the second half).
    **settings
        agent, policy: see AgentSettings.

    Returns
    -------
    gymnasium.Env
        Observations are float32 (128, inputs), zero beyond the waiting jobs. Actions are places in the queue, 0 to 127.
        `info["action_mask"]`, bool (128,), says which there are.

    Raises
    ------
    ImportError
        Gymnasium is not installed.
    LogError, CatalogueError, ValueError, TypeError
        The log cannot be loaded or has too few jobs, or a setting is wrong.

    Examples
    --------
    >>> import tracehouse
    >>> env = tracehouse.make_env("birch", goal="wait", window_jobs=64)
    >>> observation, info = env.reset(seed=1)
    >>> observation.shape, int(info["action_mask"].sum()) > 1
    ((128, 8), True)
    >>> observation, reward, terminated, truncated, info = env.step(0)
    """
    task = _with_agent(PolicyTask(goal, backfill, estimates, "standard", window_jobs), **settings)
    return _environments(task)[0](*_place(log, task, layout, part))


def make_vec_env(
    log: Log | str | Path,
    episodes: int,
    goal: str = "bsld",
    backfill: str = "easy",
    estimates: str = "requested",
    window_jobs: int = 256,
    layout: str | None = None,
    part: str = "learn",
    **settings: Unpack[AgentSettings],
) -> SchedulingVectorEnv | AgentVectorEnv:
    """Make a Gymnasium vector environment: `episodes` windows of a log side by side.

    Parameters
    ----------
    log
        As in `make_env`, as is everything below `episodes`.
    episodes
        How many windows.

    Returns
    -------
    gymnasium.vector.VectorEnv
        As in `make_env`, with a first axis of `episodes`. An episode that has ended begins again at the next step.

    Raises
    ------
    ImportError, LogError, CatalogueError, ValueError
        As in `make_env`.

    Examples
    --------
    >>> import numpy as np
    >>> import tracehouse
    >>> envs = tracehouse.make_vec_env("birch", episodes=4, window_jobs=64)
    >>> observations, info = envs.reset(seed=1)
    >>> observations.shape
    (4, 128, 8)
    >>> observations, rewards, terminated, truncated, info = envs.step(np.zeros(4, dtype=np.int64))
    """
    task = _with_agent(PolicyTask(goal, backfill, estimates, "standard", window_jobs), **settings)
    several = _environments(task)[1]
    arena, windows, inputs = _place(log, task, layout, part)
    return several(arena, windows, episodes, inputs)


def _with_agent(task: PolicyTask, agent: str | None = None, policy: str | None = None) -> PolicyTask:
    """The task with what an agent decides. Raises ValueError for a policy without an agent beside it, and TypeError for a setting that is
    no text."""
    settings = {"backfill": task.backfill, "estimates": task.estimates, "agent": agent or "", "policy": policy or ""}
    for name, value in settings.items():
        if not isinstance(value, str):
            raise TypeError(f"{name} {value!r}: expected text, see tracehouse.make_env")
    if agent is None and policy is not None:
        raise ValueError(
            f"policy {policy!r} is used beside an agent, and there is none: give an agent, "
            "such as agent='inspect', or leave policy out"
        )
    return replace(task, agent=agent, base=policy or "FCFS")


def _place(log: Log | str | Path, task: PolicyTask, layout: str | None, part: str) -> tuple[Arena, Windows, Layout]:
    """Where the episodes play, which windows they are, and what is seen of them."""
    layouts, usual = LAYOUTS, "plain"
    if task.agent is not None:
        layouts = AGENT_LAYOUTS | LAYOUTS
        usual = "picking" if parse_agent(task.agent).picking.by else "inspecting"
    layout = layout or usual
    for name, value, expected in (("layout", layout, tuple(layouts)), ("part", part, PARTS)):
        if value not in expected:
            raise ValueError(f"unknown {name} {value!r}: expected one of {', '.join(expected)}")
    trace = (log if isinstance(log, Log) else load_log(log)).trace()
    split = split_of(trace, task.window_jobs)
    scored = getattr(split, part).scored
    windows = Windows.spread(scored.start, scored.stop, min(split.learn.jobs, len(scored)), 4000)
    return arena_of_task(trace, task), windows, layouts[layout]


def _environments(task: PolicyTask) -> tuple[Any, Any]:
    """The environments of one window, and of several, for an ordering policy or an agent. Raises ImportError without Gymnasium."""
    try:
        import gymnasium  # noqa: F401
    except ModuleNotFoundError:
        raise ImportError("environments need Gymnasium: pip install 'tracehouse[gym]'") from None
    from models.scheduling.environment import AgentEnv, AgentVectorEnv, SchedulingEnv, SchedulingVectorEnv

    return (SchedulingEnv, SchedulingVectorEnv) if task.agent is None else (AgentEnv, AgentVectorEnv)
