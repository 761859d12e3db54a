"""Training of policies with our own methods."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

from assets.common.writing.options import written_settings
from assets.policies.settings import TrainingSettings
from tracehouse.keywords import refuse_unknown
from tracehouse.learning.policy_training import read_jobs, train_policy
from tracehouse.logs import Log
from tracehouse.policies import PolicyFile

TrainSettings = TypedDict(  # type: ignore[misc]
    "TrainSettings",
    {
        name: field.annotation
        for name, field in TrainingSettings.model_fields.items()
        if name not in ("seeds", "accept_trade")
    },
    total=False,
)
TrainSettings.__doc__ = "What a policy is trained for, and how. `tracehouse train --help` says what each means."


def train(
    log: Log | str | Path,
    out: str | Path | None = None,
    seeds: Sequence[int] = (1, 2, 3),
    accept_trade: bool = False,
    **settings: Any,
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
        * `cluster` (None): the name of a described Slurm, in the place of whose priority the order is trained and judged. By
          default the source's own, if it has one; "" is a row of processors.
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
    >>> policy = tracehouse.train("birch", "mine.json", seeds=[1], goal="wait", epochs=1, window_jobs=64)
    >>> policy.card["goal"], "SAF" in policy.card["verdicts"]
    ('wait', True)
    >>> tracehouse.replay("birch", policy).policy
    'mine.json'
    """
    refuse_unknown("train", settings, TrainSettings.__annotations__)
    asked = written_settings(TrainingSettings, settings | {"seeds": seeds, "accept_trade": accept_trade})
    jobs = read_jobs(log.given, asked, log) if isinstance(log, Log) else read_jobs(str(log), asked)
    trained = train_policy(jobs, asked, None if out is None else Path(out), None)
    return PolicyFile(trained.path, trained.card)
