"""Two runs over the same jobs: what differs, for whom, and whether it could be chance."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import polars as pl

from assets.common.storage import open_warehouse
from assets.replaying.compare import compare_runs
from assets.replaying.running.tables import run_jobs
from tracehouse.replays import Run
from tracehouse.text.replay_text import compare_text
from traces.catalogue.catalogue import load_catalogue
from warehouse import Warehouse, replace_rows

_NUMBERS = ("a", "b", "difference")
_SHARES = ("better_share", "equal_share", "worse_share")


class Comparison:
    """How run B differs from run A. `compare` makes it. `print(comparison)` prints what `tracehouse compare` prints.

    Attributes
    ----------
    summary : dict
        What `tracehouse compare --json` prints. It has the runs, the settings that differ, the verdict, and all differences.
    """

    def __init__(self, summary: dict[str, Any]) -> None:
        self.summary = summary

    def __repr__(self) -> str:
        wait = self.summary["metrics"]["average_wait_s"]["difference"]
        said = f"{self.summary['jobs']:,} jobs, mean wait {wait:+,.0f} s"
        if "word" not in self.verdict:
            return f"Comparison({said}, no verdict)"
        scored = self.verdict["panel"]["wait_s"]
        of_half = (
            f"the later {self.verdict['scored_jobs']:,}: {scored['b'] - scored['a']:+,.0f} s, {self.verdict['word']}"
        )
        return f"Comparison({said}; {of_half})"

    def __str__(self) -> str:
        return compare_text(self.summary)

    @property
    def settings(self) -> dict[str, tuple[Any, Any]]:
        """The settings that differ, by name: (of run A, of run B)."""
        return {name: (a, b) for name, (a, b) in self.summary["settings"].items()}

    @property
    def metrics(self) -> pl.DataFrame:
        """Every metric over all jobs, one row each. `scored_metrics` is of those that the verdict is about.

        Returns
        -------
        polars.DataFrame
            metric, a, b and difference (B minus A).

        Examples
        --------
        >>> import tracehouse
        >>> log = tracehouse.load_log("birch")
        >>> found = tracehouse.compare(tracehouse.replay(log, "FCFS"), tracehouse.replay(log, "SAF"))
        >>> found.metrics.columns
        ['metric', 'a', 'b', 'difference']
        """
        rows = [{"metric": name} | {n: row.get(n) for n in _NUMBERS} for name, row in self.summary["metrics"].items()]
        return pl.DataFrame(rows, schema={"metric": pl.String} | dict.fromkeys(_NUMBERS, pl.Float64))

    @property
    def verdict(self) -> dict[str, Any]:
        """Whether B is worth adopting where A runs, judged by the later half of the jobs that started in both.

        Returns
        -------
        dict
            word (docs/reference/semantics.md, "Verdicts"), is_certain, scored_jobs, panel, payers and
            typical_block. Or why_none alone, where there is no verdict. Where enough jobs follow others, pace_verdict and
            pace_change_share are those with users who keep their pace (docs/explanation/users-react.md).
        """
        return self.summary["verdict"]

    @property
    def scored_metrics(self) -> pl.DataFrame:
        """What the verdict is about: measures of the later half of the jobs that started in both.

        Returns
        -------
        polars.DataFrame
            metric, a, b and difference (B minus A). Empty where there is no verdict.
        """
        panel = self.verdict.get("panel", {})
        rows = [
            {"metric": name, "a": row["a"], "b": row["b"]}
            for name, row in panel.items()
            if None not in (row["a"], row["b"])
        ]
        table = pl.DataFrame(rows, schema={"metric": pl.String} | dict.fromkeys(("a", "b"), pl.Float64))
        return table.with_columns(difference=pl.col("b") - pl.col("a"))

    @property
    def paired(self) -> pl.DataFrame:
        """Differences job by job, over the jobs that started in both runs.

        Returns
        -------
        polars.DataFrame
            One row for each metric and each group of jobs (all, then size classes of run A's cluster). The columns are
            jobs_of, jobs, metric, a, b and difference. better_share, equal_share and worse_share are the shares of jobs
            that wait less, as long and longer under B.
        """
        rows = []
        for group in self.summary["paired"]:
            facts = {name: group[name] for name in ("jobs_of", "jobs")}
            shares = {name: group[name] for name in _SHARES}
            rows += [facts | {"metric": name} | row | shares for name, row in group.items() if isinstance(row, dict)]
        return pl.DataFrame(rows, infer_schema_length=None)


def compare(run_a: Run | str, run_b: Run | str, source: str | None = None) -> Comparison:
    """Compare two runs over the same jobs: every metric under A and B, and whether B is worth adopting where A runs.

    The verdict is on the later half of the jobs of a whole trace, and `scored_metrics` are of these. `metrics` are of all jobs.
    docs/reference/semantics.md, "Verdicts", has the rules.

    Parameters
    ----------
    run_a, run_b
        Two runs that `replay` returned, or the names of two saved runs of `source`.
    source
        The source of the saved runs. Leave it out for runs that `replay` returned.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        There is no such run, or the runs were not over the same jobs. The message says what differs.

    Examples
    --------
    >>> import tracehouse
    >>> log = tracehouse.load_log("birch")
    >>> fcfs = tracehouse.replay(log, "FCFS")
    >>> sjf = tracehouse.replay(log, "SJF")
    >>> comparison = tracehouse.compare(fcfs, sjf)
    >>> comparison.settings
    {'policy': ('pbs:FCFS', 'pbs:SJF')}
    >>> comparison.metrics.row(0, named=True)["metric"]
    'average_wait_s'
    """
    if isinstance(run_a, str) and isinstance(run_b, str):
        if source is None:
            raise ValueError("give the source of the saved runs, such as compare('fcfs', 'fcfs-easy', 'birch')")
        return Comparison(compare_runs(open_warehouse(), load_catalogue().source(source).name, run_a, run_b))
    if not (isinstance(run_a, Run) and isinstance(run_b, Run)):
        raise ValueError(
            "compare two saved runs by name, or two that replay returned: save the other with run.save(NAME)"
        )
    with tempfile.TemporaryDirectory(prefix="tracehouse-") as folder:
        warehouse, log = Warehouse(Path(folder) / "two-runs.duckdb"), run_a.log
        with warehouse.write() as connection:
            for name, run in (("A", run_a), ("B", run_b)):
                key = {"source": log, "run": name}
                replace_rows(connection, "replay.runs", key, run.row)
                replace_rows(connection, "replay.run_jobs", key, run_jobs(name, run.replayed))
        return Comparison(compare_runs(warehouse, log, "A", "B", runs=(run_a.replayed, run_b.replayed)))
