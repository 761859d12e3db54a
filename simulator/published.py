"""What other rooms take from papers/ by name: modules there, each of which is loaded when it is first asked for.

Nothing below papers/ imports it, and this is the only place that names its modules. A change there changes the versions of the assets
that reach its name here (assets/common/code/reach.py).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

RLSCHEDULER = "papers.rlscheduler.way"
"""`--rules rlscheduler`, a way to replay."""
RLSCHEDULER_RULES = "papers.rlscheduler.rules"
"""The figures that only this code has."""
RLSCHEDULER_WINDOWS = "papers.rlscheduler.windows"
"""Windows of a trace by these rules, for training and for comparisons."""
INSPECTED_BASES = "papers.rlscheduler.inspecting"
"""What an inspector inspects by these rules."""
DEEP_BACK_FILLING = "papers.deep_back_filling.way"
"""`--backfill FILE` with an agent that decides all starts."""
PLACING_EPISODES = "papers.deep_back_filling.environment"
"""The environment tracehouse/Placing-v0."""
SLOT_CLUSTERS = "papers.rlschert.environment"
"""The environment tracehouse/SlotCluster-v0."""


def paper_part(part: str) -> Any:
    """The module of a part, one of these names."""
    return import_module(part)
