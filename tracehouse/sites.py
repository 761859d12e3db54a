"""The site of a source: who replays it, on which cluster, and questions to that."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from assets.replaying.site import site_of
from tracehouse.queries import why
from tracehouse.replays import Run, replay
from tracehouse.scenarios import WhatIf, what_if


class Site:
    """Who replays a source or a log: its cluster's own scheduler, or an order. `site` makes it.

    Attributes
    ----------
    log : str
        The name of the source, or the path of the log.
    scheduler : str
        Who decides: "slurm", "pbs", or an order such as "FCFS".
    why_this : str
        Where that comes from, in words.
    cluster : str or None
        The cluster that is described for it.
    grade : str or None
        How far its replays can be trusted, A to D.
    trust : str
        The grade in a sentence, or why there is none.
    """

    def __init__(self, log: str) -> None:
        here = site_of(log)
        self.log, self.trust = log, here.trust
        self.scheduler, self.why_this = here.scheduler.policy, here.scheduler.why
        self.cluster = None if here.scheduler.described is None else here.scheduler.described.name
        self.grade = None if here.grade is None else here.grade.grade

    def __repr__(self) -> str:
        return f"Site({self.log}: {self.scheduler}, {self.why_this}, grade {self.grade or 'none'})"

    def replay(self, **change: Any) -> Run:
        """Replay it with a change, which means the same as in `what_if`, or as it is.

        Parameters
        ----------
        **change
            As those of `replay`: `procs="+10%"`, `nodes=-2`, `policy="SAF"`, `estimates="live"`, `load=1.2`,
            `edits=["PriorityWeightAge=1000"]`.

        Returns
        -------
        Run

        Raises
        ------
        LogError, CatalogueError, ValueError
            The change has no meaning here. The message says what has.
        """
        return replay(self.log, **change)

    def what_if(self, scenarios: Mapping[str, Mapping[str, Any]]) -> WhatIf:
        """Changes beside what runs today, by name, with verdicts and random orders in the same place. Arguments and errors as those of
        `what_if`."""
        return what_if(scenarios, self.log)

    def causes(self, replayed: bool = False) -> pl.DataFrame:
        """What kept its jobs waiting, in the log or in its replay, as `why` gives it."""
        return why(self.log, replayed=replayed)


def site(log: str | Path) -> Site:
    """Who replays a source or a log, and how far that can be trusted.

    Parameters
    ----------
    log
        A source, or the path of a log.

    Returns
    -------
    Site

    Raises
    ------
    LogError, CatalogueError
        There is no such source or log.

    Examples
    --------
    >>> import tracehouse
    >>> birch = tracehouse.site("birch")
    >>> birch.scheduler, birch.cluster
    ('pbs', 'birch')
    >>> birch.replay(procs="-10%", window=(0, 500)).replayed.cluster.procs
    864
    """
    return Site(str(log))
