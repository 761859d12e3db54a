"""Training of policies with our own methods."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

from models.scheduling.options import InputLayout, LearningMethod, PolicyRules, StartingPoint
from tracehouse.learning.policy_training import read_jobs, seeds_of, train_policy
from tracehouse.logs import Log
from tracehouse.policies import PolicyFile


class TrainSettings(TypedDict, total=False):
    """What a policy is trained for, and how. `tracehouse train --help` says what each means."""

    learn: str
    agent: str | None
    policy: str | None
    goal: str
    backfill: str
    estimates: str
    rules: PolicyRules
    window_jobs: int
    method: LearningMethod
    layout: InputLayout | None
    start: StartingPoint | None
    paper: bool
    epochs: int | None
    trajectories: int | None
    minibatch: int | None
    workers: int | None
    population: int | None
    interval: int | None


USUAL: dict[str, Any] = {
    **dict.fromkeys(
        ("agent", "policy", "layout", "start", "epochs", "trajectories", "minibatch", "workers", "population")
    ),
    **dict.fromkeys(("interval", "launcher", "torchrun", "sync_fraction", "backlogs", "repeat")),
    **{"learn": "order", "goal": "bsld", "backfill": "easy", "estimates": "requested", "rules": "standard"},
    **{"window_jobs": 512, "method": "ppo", "paper": False},
}
"""Every option of the command, as it is where nobody gives it."""


def train(
    log: Log | str | Path,
    out: str | Path | None = None,
    seeds: Sequence[int] = (1, 2, 3),
    accept_trade: bool = False,
    **settings: Unpack[TrainSettings],
) -> PolicyFile:
    """Train a scheduling policy on the first third of a log, and judge it on the jobs of its second half, as `tracehouse train`.

    It takes minutes, and says on standard error how far it is.

    Parameters
    ----------
    log
        What `load_log` has loaded, or what it would load. At least 300 jobs.
    out
        The policy file to write. By default SOURCE-METHOD.json in the working folder.
    seeds
        Training seeds. The best on later jobs is kept.
    accept_trade
        Also take a policy that is better on average while some jobs wait longer.
    **settings
        * `goal` ("bsld"), `backfill` ("easy"), `estimates` ("requested"), `window_jobs` (512): as in `make_env`.
        * `learn` ("order"): or "backfilling", "inspector", an agent beside a policy. With it go `agent` and `policy`.
        * `method` ("ppo"): or "evolution", "imitation". `layout`, `start`, `rules`, `paper`, `epochs`, `trajectories`, `minibatch`.
        * `workers`, `population`, `interval` (None): many processes, and population-based training.

    Returns
    -------
    PolicyFile
        `replay` takes it. Its card says how good the policy is: `card["unseen_costs"]`, `card["verdicts"]`.

    Raises
    ------
    LogError, CatalogueError, ValueError
        There is no such log or source, it has too few jobs, or a setting is wrong.

    Examples
    --------
    >>> import tracehouse
    >>> policy = tracehouse.train("lublin-256", "mine.json", seeds=[1], goal="wait", epochs=1, window_jobs=64)
    >>> policy.card["goal"], "SAF" in policy.card["verdicts"]
    ('wait', True)
    >>> tracehouse.replay("lublin-256", policy).policy
    'mine.json'
    """
    unknown = settings.keys() - TrainSettings.__annotations__.keys()
    if unknown:
        expected = ", ".join(TrainSettings.__annotations__)
        raise TypeError(f"train() has no setting {', '.join(sorted(unknown))}: expected some of {expected}")
    options: dict[str, Any] = {**USUAL, **settings}
    jobs = (
        read_jobs(log.given, options["estimates"], log.trace())
        if isinstance(log, Log)
        else read_jobs(str(log), options["estimates"])
    )
    numbers = seeds_of(",".join(map(str, seeds)))
    trained = train_policy(jobs, numbers, accept_trade, None if out is None else Path(out), None, options)
    return PolicyFile(trained.path, trained.card)
