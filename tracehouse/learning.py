"""What learns: trained policies, and Gymnasium environments to train others in."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assets.policies.training import PolicyTask, arena_of_task, split_of
from models.scheduling.arena import Windows
from models.scheduling.policy_file import load_policy as read_policy
from simulator.policies.observation import LAYOUTS, Layout
from tracehouse.logs import Log, load_log

if TYPE_CHECKING:
    from models.scheduling.arena import Arena
    from models.scheduling.environment import SchedulingEnv, SchedulingVectorEnv

PARTS = ("learn", "choose", "judge")


@dataclass(frozen=True)
class PolicyFile:
    """A trained policy; `load_policy` makes it, and `replay` takes it.

    Attributes
    ----------
    path : pathlib.Path
        The file.
    card : dict
        What it was trained on and for, and what it was worth on windows that it had not seen.
    """

    path: Path
    card: dict[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return str(self.path)


def load_policy(file: str | Path) -> PolicyFile:
    """Load a trained policy, checked, to look at its card and replay with it.

    Parameters
    ----------
    file
        A policy file, as `tracehouse train` writes it.

    Returns
    -------
    PolicyFile

    Raises
    ------
    ValueError
        There is no such file, or it is damaged, or of another version of tracehouse.

    Examples
    --------
    >>> import tracehouse
    >>> tracehouse.load_policy("nothing-here.json")
    Traceback (most recent call last):
        ...
    ValueError: nothing-here.json: no such policy file; train one with `tracehouse train`
    """
    return PolicyFile(Path(file), read_policy(Path(file))[1])


def make_env(
    log: Log | str | Path,
    goal: str = "bsld",
    backfill: str = "easy",
    estimates: str = "requested",
    window_jobs: int = 256,
    layout: str = "plain",
    part: str = "learn",
) -> SchedulingEnv:
    """Make a Gymnasium environment in which an agent orders the queue of a log, one window of jobs an episode.

    Each step chooses the next job to start. The reward comes at the end of a window, and is minus the goal's cost. This
    needs the extra `gym`.

    Parameters
    ----------
    log
        What `load_log` has loaded, or what it would load. At least 300 jobs.
    goal
        What to make small: "bsld", "slowdown", "wait", "turnaround", "bsld:max_user", or a sum such as
        "0.7*bsld + 0.001*wait". Or "utilisation", made large.
    backfill
        "none", "any", "easy" or "easy-sjbf".
    estimates
        Run times that the scheduler uses: "requested", "actual", "predicted", "predicted:p80", ...
    window_jobs
        Consecutive jobs in an episode; fewer in a short log.
    layout
        What the agent sees of a job: "plain", "informed" or "paper". docs/policies.md lists the inputs.
    part
        Which jobs the windows are of: "learn" (the first 30 % of the log), "choose" (the next 10 %) or "judge" (the
        second half). Windows begin on an empty cluster.

    Returns
    -------
    gymnasium.Env
        Observations are float32 (128, inputs), zero beyond the waiting jobs. Actions are places in the queue, 0 to 127.
        `info["action_mask"]`, bool (128,), says which there are.

    Raises
    ------
    ImportError
        Gymnasium is not installed.
    LogError, CatalogueError, ValueError
        The log cannot be loaded or has too few jobs, or a setting is wrong.

    Examples
    --------
    >>> import tracehouse
    >>> env = tracehouse.make_env("lublin-256", goal="wait", window_jobs=64)
    >>> observation, info = env.reset(seed=1)
    >>> observation.shape, int(info["action_mask"].sum()) > 1
    ((128, 8), True)
    >>> observation, reward, terminated, truncated, info = env.step(0)
    """
    _check_gymnasium()
    from models.scheduling.environment import SchedulingEnv

    return SchedulingEnv(*_place(log, PolicyTask(goal, backfill, estimates, "standard", window_jobs), layout, part))


def make_vec_env(
    log: Log | str | Path,
    episodes: int,
    goal: str = "bsld",
    backfill: str = "easy",
    estimates: str = "requested",
    window_jobs: int = 256,
    layout: str = "plain",
    part: str = "learn",
) -> SchedulingVectorEnv:
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
    >>> envs = tracehouse.make_vec_env("lublin-256", episodes=4, window_jobs=64)
    >>> observations, info = envs.reset(seed=1)
    >>> observations.shape
    (4, 128, 8)
    >>> observations, rewards, terminated, truncated, info = envs.step(np.zeros(4, dtype=np.int64))
    """
    _check_gymnasium()
    from models.scheduling.environment import SchedulingVectorEnv

    arena, windows, inputs = _place(log, PolicyTask(goal, backfill, estimates, "standard", window_jobs), layout, part)
    return SchedulingVectorEnv(arena, windows, episodes, inputs)


def _place(log: Log | str | Path, task: PolicyTask, layout: str, part: str) -> tuple[Arena, Windows, Layout]:
    """Where the episodes play, which windows they are, and what is seen of them."""
    for name, value, expected in (("layout", layout, tuple(LAYOUTS)), ("part", part, PARTS)):
        if value not in expected:
            raise ValueError(f"unknown {name} {value!r}; expected one of {', '.join(expected)}")
    trace = (log if isinstance(log, Log) else load_log(log)).trace()
    split = split_of(trace, task.window_jobs)
    scored = getattr(split, part).scored
    windows = Windows.spread(scored.start, scored.stop, min(split.learn.jobs, len(scored)), 4000)
    return arena_of_task(trace, task), windows, LAYOUTS[layout]


def _check_gymnasium() -> None:
    try:
        import gymnasium  # noqa: F401
    except ModuleNotFoundError:
        raise ImportError("environments need Gymnasium: pip install 'tracehouse[gym]'") from None
