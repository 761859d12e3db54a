"""What-if questions: several scenarios beside what runs today, and who replays a source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

import polars as pl

from assets.common.progress import say_if_slow
from assets.common.writing.outputs import write_output
from assets.pages.scenario_page import scenario_page
from assets.replaying.running.scored_part import PartOptions
from assets.replaying.scenarios.planning import plan_scenarios
from assets.replaying.scenarios.results import ScenarioResults, replay_scenarios
from assets.replaying.scenarios.scenario_file import SET_ALONE, ScenarioFile, read_scenarios, scenarios_of
from assets.replaying.site import site_of
from tracehouse.logs import Log
from tracehouse.policies import PolicyTexts
from tracehouse.queries import why
from tracehouse.replaying import warn_of_peak
from tracehouse.replays import Run, replay
from tracehouse.text.what_if_text import what_if_text

TEXT_WIDTH = 120
CHANGED = "changed"
"""The scenario of edits that come without a file of scenarios."""
TIME_PARTS = ("period", "begin", "end")
"""Parts of time: one that is given on the command line replaces those of the file."""


class ScoredJobs(TypedDict, total=False):
    """Which jobs `what_if` scores, as `tracehouse what-if` takes it; begin and end are --from and --to."""

    period: str
    begin: str
    end: str
    queue: str
    user: str
    account: str


class WhatIf:
    """Scenarios beside their base, made by `what_if`. `print(answer)` prints what `tracehouse what-if` prints.

    Attributes
    ----------
    scenarios : polars.DataFrame
        One row for the log, the base and each scenario, with settings, waits in hours, the change against the base and a verdict.
    groups : polars.DataFrame
        Accounts (or users), size classes and queues of each scenario, with their jobs and mean waits before and after, in hours.
    """

    def __init__(self, results: ScenarioResults) -> None:
        self.results = results
        self.scenarios, self.groups = results.rows, results.groups

    def __repr__(self) -> str:
        names = ", ".join(each.name for each in self.results.plan.scenarios)
        return f"WhatIf({self.results.plan.source}: {names})"

    def __str__(self) -> str:
        return what_if_text(self.results, TEXT_WIDTH, 1)

    @property
    def jobs(self) -> pl.DataFrame:
        """One row for each job and scenario, with its wait in the log, in the base and in the scenario, in hours."""
        return self.results.jobs

    @property
    def summary(self) -> dict[str, Any]:
        """What `tracehouse what-if --json` prints."""
        return self.results.summary()

    def write(self, folder: str | Path, file_format: str = "csv") -> list[Path]:
        """Writes scenarios, groups and jobs into a folder, which is made if need be, as "csv" or "parquet". Returns their paths."""
        return self.results.write(Path(folder), file_format)

    def write_page(self, path: str | Path) -> None:
        """Writes the page to mail, one HTML file that loads nothing."""
        write_output(Path(path), scenario_page(self.results).encode())


def what_if(
    scenarios: str | Path | Mapping[str, Mapping[str, Any]],
    source: Log | str | Path | None = None,
    base: Mapping[str, Any] | None = None,
    cluster: str | None = None,
    **scored: Unpack[ScoredJobs],
) -> WhatIf:
    """Replay scenarios of a source, and compare each with what runs today, as `tracehouse what-if`.

    Parameters
    ----------
    scenarios
        The path of a TOML file, or what each scenario changes by its name. docs/guides/what-if.md has a table of all keys. A policy
        may be anything that `replay` takes, a Python function too.
    source
        A source, the path of a log, or what `load_log` has loaded. By default that of the file.
    base
        Changes of the base, where no file says them.
    cluster
        A cluster of the home for the base, in place of that of the file: its Slurm or PBS decides, or its limits hold.
    **scored
        Which jobs are scored: `period` ("last-month"), `begin`, `end`, `queue`, `user`, `account`. By default all, or those of the file.

    Returns
    -------
    WhatIf

    Raises
    ------
    LogError, CatalogueError, ValueError
        There is no such source, the base is wrong, or every scenario fails. One that fails beside others has a row with failed_because.

    Examples
    --------
    >>> import tracehouse
    >>> scenarios = {"a tenth more": {"procs": "+10%"}, "SAF": {"policy": "SAF"}}
    >>> answer = tracehouse.what_if(scenarios, "birch", base={"policy": "FCFS"})
    >>> answer.scenarios.select("scenario", "procs", "verdict").rows()[2:]
    [('a tenth more', 1056, 'dominates, certain'), ('SAF', 960, 'trades')]
    """
    unknown = scored.keys() - ScoredJobs.__annotations__.keys()
    if unknown:
        expected = ", ".join(ScoredJobs.__annotations__)
        raise TypeError(f"what_if() knows no {', '.join(sorted(unknown))}; expected some of {expected}")
    file = _file_of(scenarios, base)
    if cluster is not None:
        file = replace(file, base={**file.base, "cluster": cluster or None})
    given = {name: str(value) for name, value in scored.items() if value is not None}
    if isinstance(source, Log):  # its jobs have been read, and it has said how large the cluster is
        return WhatIf(replay_scenarios(plan_scenarios(file, source.given, merged_part(file, given), source.trace)))
    with say_if_slow("reading the jobs"):
        plan = plan_scenarios(file, None if source is None else str(source), merged_part(file, given))
    if not plan.base.settings.is_on_cluster and not plan.base.settings.cluster:
        warn_of_peak(plan.trace.cluster_procs, plan.trace.cluster_procs_from)
    return WhatIf(replay_scenarios(plan))


def _file_of(scenarios: str | Path | Mapping[str, Mapping[str, Any]], base: Mapping[str, Any] | None) -> ScenarioFile:
    if isinstance(scenarios, Mapping):
        texts = PolicyTexts()
        changes = {name: texts.in_table(table, f"scenario {name!r}") for name, table in scenarios.items()}
        where = SET_ALONE if set(changes) == {CHANGED} else "scenarios"
        return scenarios_of({"scenarios": changes, **({"base": texts.in_table(base, "[base]")} if base else {})}, where)
    if base:
        raise ValueError("a file says what the base is, in its table [base]: leave base out")
    return read_scenarios(Path(scenarios))


def merged_part(file: ScenarioFile, given: dict[str, str]) -> PartOptions:
    """What is scored: what is given on the command line, and else what the file says."""
    of_file = file.part.model_dump(exclude_none=True)
    if any(name in given for name in TIME_PARTS):
        of_file = {name: value for name, value in of_file.items() if name not in TIME_PARTS}
    return PartOptions(**of_file | given)


class Site:
    """Who replays a source or a log: its cluster's own scheduler, or an order. `site` makes it.

    Attributes
    ----------
    log : str
        The name of the source, or the path of the log.
    scheduler : str
        Who decides, such as "slurm", "pbs" or "FCFS".
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

    def lottery(self, orders: int = 20) -> pl.DataFrame:
        """Random orders in the place of its own, on the same nodes and under the same limits.

        Parameters
        ----------
        orders
            How many, with the seeds from 1 on.

        Returns
        -------
        polars.DataFrame
            seed, average_wait_s, average_bounded_slowdown and utilisation. The first row, without a seed, is its own scheduler's.
        """
        runs = {None: self.replay()} | {
            seed: self.replay(policy=f"random:seed={seed}") for seed in range(1, orders + 1)
        }
        shown = ("average_wait_s", "average_bounded_slowdown", "utilisation")
        return pl.DataFrame(
            [{"seed": seed} | {name: run.metrics[name] for name in shown} for seed, run in runs.items()]
        )

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
