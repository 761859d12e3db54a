"""Ids of the environments, for `gymnasium.make("tracehouse/Queue-v0")`. `import tracehouse` registers them, before or after Gymnasium
is imported, and loads nothing for it."""

from __future__ import annotations

import importlib.util
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.published import PLACING_EPISODES, SLOT_CLUSTERS, paper_part

if TYPE_CHECKING:
    from tracehouse.logs import Log

LOG = {"log": "birch"}
"""What is played where nothing else is given: a bundled source, so that an id works in a fresh installation."""
PICKS, INSPECTS = {"agent": "pick:window=10-10"}, {"agent": "inspect", "policy": "SJF"}
ENVIRONMENTS: dict[str, tuple[str, str, dict[str, str]]] = {
    "Queue": ("tracehouse.learning.environments:make_env", "queues", LOG),
    "Backfilling": ("tracehouse.learning.environments:make_env", "queues", LOG | PICKS),
    "Inspector": ("tracehouse.learning.environments:make_env", "queues", LOG | INSPECTS),
    "Placing": (f"{__name__}:placing", "placings", LOG),
    "SlotCluster": (f"{SLOT_CLUSTERS}:ClusterEnv", "slot_clusters", {}),
}
"""By name: what makes one environment, what makes several side by side, and its usual arguments."""


def register_environments() -> None:
    """Makes the ids known to Gymnasium, once."""
    from gymnasium.envs.registration import register, registry

    for name, (one, several, usual) in ENVIRONMENTS.items():
        if (full_name := f"tracehouse/{name}-v0") not in registry:
            register(full_name, one, vector_entry_point=f"{__name__}:{several}", kwargs=dict(usual))


def register_with_gymnasium() -> None:
    """Registers the ids now where Gymnasium is loaded, else as soon as it is."""
    if "gymnasium.envs" in sys.modules:
        register_environments()
    elif not any(isinstance(finder, _WhenGymnasiumIsLoaded) for finder in sys.meta_path):
        sys.meta_path.insert(0, _WhenGymnasiumIsLoaded())


class _WhenGymnasiumIsLoaded(MetaPathFinder):
    """Finds nothing itself. It registers the ids behind the import of Gymnasium's own, and is gone then."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """The usual spec of Gymnasium's environments, with ours registered at the end of their import."""
        if fullname != "gymnasium.envs":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_register(module: Any) -> None:
                load(module)
                register_environments()

            spec.loader.exec_module = load_and_register  # type: ignore[method-assign]
        return spec


def queues(num_envs: int, **settings: Any) -> Any:
    """`tracehouse.make_vec_env`, as `gymnasium.make_vec` calls it."""
    from tracehouse.learning.environments import make_vec_env

    return make_vec_env(episodes=num_envs, **settings)


def placing(log: Log | str | Path) -> Any:
    """Deep Back-Filling's episodes on the jobs of a log, one at a time."""
    return paper_part(PLACING_EPISODES).PlacingEnv(*_jobs_of(log))


def placings(num_envs: int, log: Log | str | Path) -> Any:
    """The same side by side."""
    return paper_part(PLACING_EPISODES).PlacingVectorEnv(*_jobs_of(log), num_envs)


def slot_clusters(num_envs: int, **settings: Any) -> Any:
    """RLSchert's cluster side by side."""
    return paper_part(SLOT_CLUSTERS).ClusterVectorEnv(num_envs, **settings)


def _jobs_of(log: Log | str | Path) -> tuple[Any, int]:
    from tracehouse.logs import Log, load_log

    trace = (log if isinstance(log, Log) else load_log(log)).trace()
    return trace.jobs_of(trace.rows), trace.cluster_procs
