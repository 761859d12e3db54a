"""The Python API of tracehouse, for notebooks and scripts: `import tracehouse` is all that a user imports.

Load a log with `load_log`, replay it with `replay`, compare two runs with `compare`, ask the warehouse with `query`.
docs/guides/python.md is the guide. Tables are polars frames (`.to_pandas()` gives pandas', `.to_arrow()` Arrow's), and errors have
the messages of the command line.

Nothing heavy is loaded before it is used: this module imports the others when one of their names is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tracehouse.gym_ids import register_with_gymnasium

if TYPE_CHECKING:
    from tracehouse.comparisons import Comparison, compare
    from tracehouse.ingesting import IngestSettings, ingest
    from tracehouse.learning.environments import AgentSettings, make_env, make_vec_env
    from tracehouse.learning.training import TrainSettings, train
    from tracehouse.learning.tuning import Tuned, tune
    from tracehouse.logs import Log, load_log, sources
    from tracehouse.policies import PolicyFile, load_policy
    from tracehouse.predictions import advise_walltime, predict_queued_wait, predict_wait, predicted_runtimes
    from tracehouse.queries import leaderboard, query, saved_runs, who, why
    from tracehouse.replays import ReplaySettings, Run, replay
    from tracehouse.scenarios import Site, WhatIf, site, what_if
    from traces.catalogue.sources import CatalogueError
    from traces.common.log import LogError
    from warehouse import WarehouseError

__all__ = [
    "AgentSettings",
    "CatalogueError",
    "Comparison",
    "IngestSettings",
    "Log",
    "LogError",
    "PolicyFile",
    "ReplaySettings",
    "Run",
    "Site",
    "TrainSettings",
    "Tuned",
    "WarehouseError",
    "WhatIf",
    "advise_walltime",
    "compare",
    "ingest",
    "leaderboard",
    "load_log",
    "load_policy",
    "make_env",
    "make_vec_env",
    "predict_queued_wait",
    "predict_wait",
    "predicted_runtimes",
    "query",
    "replay",
    "saved_runs",
    "site",
    "sources",
    "train",
    "tune",
    "what_if",
    "who",
    "why",
]

_MODULE_OF = {
    name: module
    for module, names in {
        "tracehouse.comparisons": ("Comparison", "compare"),
        "tracehouse.ingesting": ("IngestSettings", "ingest"),
        "tracehouse.learning.environments": ("AgentSettings", "make_env", "make_vec_env"),
        "tracehouse.logs": ("Log", "load_log", "sources"),
        "tracehouse.policies": ("PolicyFile", "load_policy"),
        "tracehouse.predictions": ("advise_walltime", "predict_queued_wait", "predict_wait", "predicted_runtimes"),
        "tracehouse.queries": ("leaderboard", "query", "saved_runs", "who", "why"),
        "tracehouse.replays": ("ReplaySettings", "Run", "replay"),
        "tracehouse.scenarios": ("Site", "WhatIf", "site", "what_if"),
        "tracehouse.learning.tuning": ("Tuned", "tune"),
        "tracehouse.learning.training": ("TrainSettings", "train"),
        "traces.catalogue.sources": ("CatalogueError",),
        "traces.common.log": ("LogError",),
        "warehouse": ("WarehouseError",),
    }.items()
    for name in names
}


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first asked for."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'tracehouse' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value  # so that the next time costs nothing
    return value


def __dir__() -> list[str]:
    """The public names, for completion in a notebook."""
    return sorted(__all__)


register_with_gymnasium()
