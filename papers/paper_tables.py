"""A table or figure of a paper that `tracehouse reproduce` makes: what makes it, and how long that takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

LOGS_FOLDER = "TRACEHOUSE_LOGS"
"""The variable that names the folder of the archive's logs."""
CHECKPOINTS = "CHECKPOINTS"
"""Among the arguments of a study: the folder of what it has trained."""


@dataclass(frozen=True)
class PaperStep:
    """A run of an asset, which is left out where it was made before.

    asset: what runs. config: its settings, those that are not the usual ones. made: SQL that counts its rows of $source. with_needed:
    whether all that the asset needs runs before it.
    """

    asset: str
    made: str
    config: dict[str, Any] = field(default_factory=dict)
    with_needed: bool = False


@dataclass(frozen=True)
class PaperTable:
    """name: as users call it. shows: what is in it. expected: how long it takes on two cores, for one log and all seeds. steps: what
    makes it in the warehouse. query: SQL of the table, of $source. study: the module that prints it instead, with its arguments.
    goes_on: where it goes on after an interruption. partitions: what sources are, None for a table of no source."""

    name: str
    paper: str
    shows: str
    expected: str
    steps: tuple[PaperStep, ...] = ()
    query: str = ""
    study: tuple[str, ...] = ()
    goes_on: str = "from the beginning"
    partitions: str | None = "sources"

    @property
    def made_by(self) -> str:
        """The asset, or the command."""
        return f"python -m {' '.join(self.study)}" if self.study else self.steps[-1].asset


PREDICTED = PaperStep(
    "predictions/runtime_predictions",
    "SELECT count(*) FROM predictions.runtime_predictions WHERE source = $source",
    {},
    True,
)
MEANS = (
    "SELECT DISTINCT backfill, policy, trained_on, seeds, cost FROM experiments.comparisons "
    "WHERE source = $source AND experiment = '{experiment}' AND goal = '{goal}' ORDER BY backfill DESC, cost, policy, trained_on"
)


def table_of_agents(name: str, paper: str, shows: str) -> PaperTable:
    """The verdicts of the experiment of this name on agents."""
    rows = f"FROM experiments.verdicts WHERE source = $source AND experiment = '{name}'"
    return PaperTable(
        name,
        paper,
        shows,
        "not measured",
        (PREDICTED, PaperStep(f"experiments/{name}", f"SELECT count(*) {rows}")),
        f"SELECT policy, estimates, seed, verdict, average_bounded_slowdown, average_wait_s {rows} "
        "AND goal = 'bsld' ORDER BY average_bounded_slowdown, policy, seed",
    )


def printed_table(
    name: str, paper: str, shows: str, expected: str, *study: str, goes_on: str = "from the beginning"
) -> PaperTable:
    """A table that a study prints. study: its module below papers, and arguments."""
    return PaperTable(
        name, paper, shows, expected, study=(f"papers.{study[0]}", *study[1:]), goes_on=goes_on, partitions=None
    )
