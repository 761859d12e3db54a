"""What would have happened: replays under a policy, and their results."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict

import polars as pl

from assets.common.storage import open_warehouse
from assets.replaying.pace import pace_of_site
from assets.replaying.running.loading import check_log_estimates
from assets.replaying.running.replayers import choose_policy
from assets.replaying.running.run import ReplayRun
from assets.replaying.running.settings import NodeSettings, RunSettings
from assets.replaying.running.tables import run_jobs, run_row, run_series
from tracehouse.keywords import refuse_unknown
from tracehouse.logs import Log
from tracehouse.policies import AnyPolicy, PolicyFile, PolicyTexts, is_function
from tracehouse.replaying import (
    AskedSettings,
    asked_settings,
    check_can_be_saved,
    checked,
    placement_table,
    replay_sized,
    replay_trace,
    save_run,
    summary,
    write_plots,
)
from tracehouse.text.replay_text import replay_text

JOB_FACTS = ("job_id", "user_name", "executable", "runtime_s", "requested_walltime_s")


ReplaySettings = TypedDict(  # type: ignore[misc]
    "ReplaySettings",
    {
        name: field.annotation
        for model in (RunSettings, NodeSettings)
        for name, field in model.model_fields.items()
        if name not in ("policy", "backfill")
    },
    total=False,
)
ReplaySettings.__doc__ = "The settings of a replay besides policy and backfilling.\n\n" + "\n".join(
    f"* ``{name}``: {field.description}"
    for model in (RunSettings, NodeSettings)
    for name, field in model.model_fields.items()
    if name not in ("policy", "backfill")
)


class Run:
    """One replay. `replay` makes it. `print(run)` prints what `tracehouse replay` prints.

    Attributes
    ----------
    log : str
        The name of the source, or the path of the log, that was replayed.
    replayed : assets.replaying.running.run.ReplayRun
        Input and output of the simulator, as arrays.
    """

    def __init__(self, log: str, replayed: ReplayRun) -> None:
        self.log, self.replayed = log, replayed

    def __repr__(self) -> str:
        wait_h = self.metrics["average_wait_s"] / 3600
        jobs, settings = len(self.replayed.jobs), self.replayed.settings
        rules = self.policy if settings.is_on_cluster else f"{self.policy}, {settings.backfill}"
        return f"Run({self.log}: {rules}, {jobs:,} jobs, mean wait {wait_h:,.1f} h)"

    def __str__(self) -> str:
        return replay_text(self.summary)

    @property
    def policy(self) -> str:
        """The policy, names in their usual case."""
        return self.replayed.policy.text

    @cached_property
    def metrics(self) -> dict[str, float]:
        """All metrics over the jobs that started, by name, as docs/reference/semantics.md defines them. Times are seconds."""
        return self.replayed.metrics()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What `tracehouse replay --json` prints: settings, counts, every metric, the hindsight bound, waits by class."""
        return summary(self.replayed, self.log)

    @cached_property
    def row(self) -> pl.DataFrame:
        """Settings, counts and all metrics as one row, as `save` keeps it in the table `replay.runs`."""
        return run_row("", self.replayed).drop("run")

    @property
    def jobs(self) -> pl.DataFrame:
        """The schedule, one row a job in order of submission.

        Returns
        -------
        polars.DataFrame
            job_id, user_name, executable, runtime_s and requested_walltime_s (-1 for none) of the log, and what the
            replay made of the job: job_index, start_time, end_time (UTC), wait_s, procs, backfilled. Start, end and
            wait are null for a job that was cancelled while it waited.

        Examples
        --------
        >>> import tracehouse
        >>> run = tracehouse.replay("birch", "SAF")
        >>> run.jobs.select("job_id", "wait_s", "backfilled").top_k(1, by="wait_s").row(0)
        ('2762.birch', 336049, False)
        """
        facts = self.replayed.rows.select(JOB_FACTS)
        return pl.concat([facts, run_jobs("", self.replayed).drop("run")], how="horizontal")

    @property
    def placement(self) -> pl.DataFrame:
        """On which nodes each job ran, one row a job in order of submission.

        Returns
        -------
        polars.DataFrame
            job_id, nodes (as Slurm writes lists of them), units (nodes, or processors of shared nodes), hop_cost, compact_hop_cost,
            leaves and pods. Nodes are null for a job that was cancelled while it waited.

        Raises
        ------
        ValueError
            The jobs were not placed: replay them with `topology`.

        Examples
        --------
        >>> import tracehouse
        >>> run = tracehouse.replay("birch", topology="10x4", procs_per_node=24)
        >>> run.placement.select("nodes", "units", "hop_cost").row(0)
        ('n[0-2]', 72, 96.0)
        """
        if self.replayed.ground is None:
            raise ValueError(
                "the jobs of this run were not placed on nodes: replay them with topology='16x8x4' or the like"
            )
        return placement_table(self.replayed).drop("start_time")

    @property
    def series(self) -> pl.DataFrame:
        """Use of the machine and the queue over time. The columns are time (UTC, begin of a step), step_s, and means over the step of
        procs_in_use, jobs_waiting and procs_waiting."""
        return run_series("", self.replayed).drop("run")

    @property
    def by_class(self) -> pl.DataFrame:
        """Waits and slowdowns by size and run time of the jobs: size_class, runtime_class, jobs, average_wait_s, ..."""
        return pl.DataFrame(self.replayed.by_class())

    def write_plots(self, folder: str | Path) -> list[Path]:
        """Writes gantt.png, usage.png, waits.png and, of placed jobs, nodes.png into a folder, which is made if it is missing. Returns
        their paths."""
        title = f"{Path(self.log).name}: {self.policy}, {self.replayed.settings.backfill}"
        return write_plots(self.replayed, title, Path(folder))

    def save(self, name: str) -> None:
        """Keep the run of a source in the warehouse, as `tracehouse replay --save`. A run of that name is replaced.

        This loads Dagster, which records it. Raises ValueError for a bad name, for a log that is no source, and for a
        source that is not in the warehouse. A function of this Python process is no policy of a saved run: write it into a file.
        """
        if is_function(self.replayed.settings.policy):
            raise ValueError(
                f"policy {self.policy} is a function of this Python process, so that nobody could replay the saved run: write it into "
                "a file, replay with the policy 'FILE.py:NAME', and save that"
            )
        check_can_be_saved(self.log, name)
        ground = self.replayed.ground
        save_run(self.log, name, self.replayed.settings, None if ground is None else ground.settings)


def replay(
    log: Log | str | Path,
    policy: AnyPolicy | None = None,
    backfill: str | Path | PolicyFile | None = None,
    **settings: Any,
) -> Run:
    """Replay a log or a source under a policy, as `tracehouse replay`. docs/reference/semantics.md defines every word.

    Parameters
    ----------
    log
        What `load_log` has loaded, or what it would load: the path of a log, or the name of a source.
    policy
        Order of the queue: a name such as `"SAF"`, `"formula:TEXT"`, `"FILE.py:NAME"`, `"learned"` (the policy trained for the source),
        a Python function (docs/guides/plug-ins.md), or a trained policy (its file, or what `load_policy` or `train` returns). By default
        that of the source's `site`. Another one takes its place on the same nodes and under the same limits. `cluster=""` gives a row of
        processors.
    backfill
        Who may pass a job that does not fit: "none", "easy" (by default), "easy-sjbf", "conservative", ..., "learned", or an agent's file.
    **settings
        * `inspector` (None): who accepts or rejects what the policy picks: "unfit", "learned", or the file of a trained inspector.
        * `estimates` ("requested"): run times that the scheduler uses: "actual", "predicted:p80", "live:median", ...
        * `reserve_by`, `admit_by` ("estimate", or "requested"): what reservations use, and what lets a job pass a blocked one.
        * `correction` ("requested"): or "increments", "doubling". `rules` ("standard"): or "rlscheduler", "rlscheduler-corrected".
        * `window` (None): only these jobs, `(first, length)`. `warm_start` (False): begin with the jobs that the log says were there.
        * `outages` ([]): a CSV file, or dicts of start, end, procs and announced, in seconds of the log's own clock.
        * `cancelled` (False): also replay cancelled jobs. `drop_wider` (False): leave out wider jobs.
        * `trim` (0.0): share of the span cut for a second set of metrics.
        * `users` ("keep times"): or "keep pace". `load` (1.0): how many times as densely jobs are submitted. `procs` (None): processors.
        * `without_queue` ([]): queues left out. `partitions` ({}): queues and the processors that each owns, such as `{"gpu": 64}`.
          `cluster` (None): limits, hours and reservations of this cluster of the home hold.
          `round_walltimes` (None): round requests up to a multiple of this, such as "4h".
        * `topology` (None, or that of the catalogue): place jobs on nodes below switches, "16x8x4" or a file. With it go `hops`,
          `procs_per_node`, `nodes`, `place`, `period`, `switches`, `guard` and `placing_seed` (docs/guides/topology.md).

    Returns
    -------
    Run

    Raises
    ------
    LogError, CatalogueError, ValueError
        There is no such log or source, or a setting is wrong. The message says what is expected.

    Examples
    --------
    >>> import tracehouse
    >>> log = tracehouse.load_log("birch")
    >>> tracehouse.replay(log, "SAF")
    Run(birch: pbs:SAF, 9,857 jobs, mean wait 2.6 h)
    >>> run = tracehouse.replay(log, "formula:-estimate * procs", "conservative", window=(500, 512), procs=300)
    >>> print(f"{run.metrics['average_bounded_slowdown']:.2f}")
    40.38
    """
    refuse_unknown("replay", settings, ReplaySettings.__annotations__)
    given = str(log.given if isinstance(log, Log) else log)
    text = None if policy is None else PolicyTexts().of(policy)
    asked = asked_settings({**settings, "policy": text, "backfill": backfill}, given)
    return Run(given, _replay_loaded(log, asked) if isinstance(log, Log) else replay_trace(given, asked))


def _replay_loaded(log: Log, asked: AskedSettings) -> ReplayRun:
    settings = checked(asked)
    if not log.in_catalogue:
        check_log_estimates(Path(log.given), settings)
    policy = choose_policy(settings, open_warehouse() if log.in_catalogue else None, log.given)
    pace = pace_of_site(log.given, log.trace(False, ())) if settings.is_closed else None
    return replay_sized(log.trace(settings.cancelled, settings.labels), settings, policy, asked, pace=pace)
