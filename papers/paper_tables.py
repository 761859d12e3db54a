"""Tables and figures of papers that tracehouse makes: what makes each, and how long it takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

OF_RLSCHEDULER = "RLScheduler"
OF_RLSCHERT = "RLSchert"
OF_DEEP_BACK_FILLING = "Deep Back-Filling"
OF_ANNEALING = "Neural Simulated Annealing"
OF_DDPPO = "DD-PPO"
OF_INSPECTOR = "SchedInspector"


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
    makes it in the warehouse. query: SQL of the table, of $source. benchmark: the module that prints it instead, with its arguments.
    goes_on: where it goes on after an interruption. partitions: what sources are, None for a table of no source."""

    name: str
    paper: str
    shows: str
    expected: str
    steps: tuple[PaperStep, ...] = ()
    query: str = ""
    benchmark: tuple[str, ...] = ()
    goes_on: str = "from the beginning"
    partitions: str | None = "sources"

    @property
    def made_by(self) -> str:
        """The asset, or the command."""
        return f"python -m {' '.join(self.benchmark)}" if self.benchmark else self.steps[-1].asset


_PREDICTED = PaperStep(
    "predictions/runtime_predictions",
    "SELECT count(*) FROM predictions.runtime_predictions WHERE source = $source",
    {},
    True,
)
_MEANS = (
    "SELECT DISTINCT backfill, policy, trained_on, seeds, cost FROM experiments.comparisons "
    "WHERE source = $source AND experiment = '{experiment}' AND goal = '{goal}' ORDER BY backfill DESC, cost, policy, trained_on"
)
_AGENTS = (
    "SELECT policy, estimates, seed, verdict, average_bounded_slowdown, average_wait_s FROM experiments.verdicts "
    "WHERE source = $source AND experiment = '{experiment}' AND goal = 'bsld' ORDER BY average_bounded_slowdown, policy, seed"
)
_CURVES = (
    "SELECT variant, epoch, avg(validation_cost) AS validation_cost, count(*) AS seeds FROM experiments.curves "
    "WHERE source = $source AND experiment = '{experiment}' GROUP BY ALL ORDER BY ALL"
)
_RLSCHERT_MADE = (
    "SELECT count(*) FROM experiments.rlschert WHERE source = $source AND experiment = 'main' AND policy = 'RLSchert'"
)
_RLSCHERT = (
    "SELECT setting, policy, kill, avg(slowdown) AS slowdown, avg(completion) AS completion_time, avg(kills) AS kills "
    "FROM experiments.rlschert WHERE source = $source AND part = 'test' AND experiment = '{experiment}' GROUP BY ALL ORDER BY ALL"
)


def _published(goal: str, backfill: str) -> PaperStep:
    made = (
        "SELECT count(*) FROM experiments.comparisons WHERE source = $source AND experiment = 'published' "
        f"AND goal = '{goal}' AND backfill = '{backfill}' AND policy LIKE 'ppo%'"
    )
    return PaperStep("experiments/published", made, {"goals": [goal], "backfills": [backfill]})


def _of_rlscheduler(name: str, shows: str, goal: str) -> PaperTable:
    return PaperTable(
        name,
        OF_RLSCHEDULER,
        f"{shows}: heuristics, tuned key and learned policies on ten windows",
        "10 minutes",
        (_published(goal, "none"), _published(goal, "easy")),
        _MEANS.format(experiment="published", goal=goal),
        goes_on="after each of two backfilling rules",
    )


def _of_asset(
    name: str, paper: str, shows: str, expected: str, asset: str, experiment: str, config: dict[str, Any]
) -> PaperTable:
    table = "curves" if asset == "experiments/curves" else "verdicts"
    made = f"SELECT count(*) FROM experiments.{table} WHERE source = $source AND experiment = '{experiment}'"
    query = (_CURVES if table == "curves" else _AGENTS).format(experiment=experiment)
    first = () if table == "curves" else (_PREDICTED,)
    return PaperTable(name, paper, shows, expected, (*first, PaperStep(asset, made, config)), query)


def _of_rlschert(name: str, shows: str, experiment: str) -> PaperTable:
    step = PaperStep("experiments/rlschert", _RLSCHERT_MADE, {}, True)
    return PaperTable(
        name,
        OF_RLSCHERT,
        shows,
        "62 minutes, with all RLSchert tables",
        (step,),
        _RLSCHERT.format(experiment=experiment),
        partitions="vasp",
    )


def _of_benchmark(
    name: str, paper: str, shows: str, expected: str, *benchmark: str, goes_on: str = "from the beginning"
) -> PaperTable:
    return PaperTable(name, paper, shows, expected, benchmark=benchmark, goes_on=goes_on, partitions=None)


CHECKPOINTS = "CHECKPOINTS"
"""Among the arguments of a benchmark: the folder of what it has trained."""
_LISTED = (
    _of_rlscheduler("table5", "Table V, bounded slowdown", "bsld"),
    _of_rlscheduler("table6", "Table VI, utilisation", "utilisation_as_coded"),
    PaperTable(
        "table7",
        OF_RLSCHEDULER,
        "Table VII, policies of other logs on this one: give several sources",
        "10 minutes a source",
        (
            _published("bsld", "none"),
            _published("bsld", "easy"),
            PaperStep(
                "experiments/transfer",
                "SELECT count(*) FROM experiments.comparisons WHERE source = $source AND experiment = 'transfer'",
            ),
        ),
        _MEANS.format(experiment="transfer", goal="bsld"),
        goes_on="after each source and backfilling rule",
    ),
    _of_rlscheduler("table8", "Table VIII, bounded slowdown of the worst user", "bsld:max_user"),
    _of_rlscheduler("table10", "Table X, slowdown", "slowdown"),
    _of_rlscheduler("table11", "Table XI, wait", "wait"),
    _of_benchmark(
        "rules",
        OF_RLSCHEDULER,
        "Tables V, VI, VIII, X and XI, rules alone beside the column RL",
        "1 minute",
        "papers.rlscheduler.study",
    ),
    _of_asset(
        "figure8",
        OF_RLSCHEDULER,
        "Figure 8, networks",
        "8 minutes",
        "experiments/curves",
        "networks",
        {"filtering": False},
    ),
    _of_asset(
        "figure9",
        OF_RLSCHEDULER,
        "Figure 9, with and without the filter",
        "not measured",
        "experiments/curves",
        "filtering",
        {"networks": []},
    ),
    _of_benchmark(
        "figures10-13",
        OF_RLSCHEDULER,
        "Figures 10 to 13, training curves for four goals, 6 epochs",
        "3 minutes",
        "papers.rlscheduler.goal_curves",
    ),
    _of_asset(
        "inspector",
        OF_INSPECTOR,
        "inspectors beside several policies, and by the paper's own rules",
        "not measured",
        "experiments/inspector",
        "inspector",
        {},
    ),
    _of_benchmark(
        "inspector-rules",
        OF_INSPECTOR,
        "its sixteen bases under its rules, without learning",
        "at most 18 minutes",
        "papers.schedinspector.study",
    ),
    _of_benchmark(
        "dbf-rules",
        OF_DEEP_BACK_FILLING,
        "Figures 4 to 6, rules that see a part of the queue",
        "1 minute",
        "papers.deep_back_filling.study",
    ),
    _of_benchmark(
        "dbf-windows",
        OF_DEEP_BACK_FILLING,
        "Figures 4 to 7, agents of our own mode and inspectors",
        "1 hour",
        "papers.deep_back_filling.split_windows",
        "--folder",
        CHECKPOINTS,
        goes_on="with the trainings that are missing",
    ),
    _of_benchmark(
        "dbf-figure3",
        OF_DEEP_BACK_FILLING,
        "Figure 3, learning curve of one seed, 5,000 episodes",
        "3.3 hours",
        "papers.deep_back_filling.study",
        "--train",
        "--checkpoints",
        CHECKPOINTS,
        goes_on="from the last checkpoint",
    ),
    _of_asset(
        "backfilling",
        OF_DEEP_BACK_FILLING,
        "agents that pick, and rules with their view, on whole logs",
        "not measured",
        "experiments/backfilling",
        "backfilling",
        {},
    ),
    _of_rlschert("rlschert-main", "Tables 6 to 8 and 11: schedulers and ways to kill", "main"),
    _of_rlschert("rlschert-table9", "Table 9, share of predictable jobs", "predictable"),
    _of_rlschert("rlschert-figure10", "Figure 10, load", "load"),
    _of_rlschert("rlschert-figure11", "Figure 11, size of the cluster", "resources"),
    _of_benchmark(
        "rlschert-table3",
        OF_RLSCHERT,
        "Table 3: what an iteration of its networks on images takes",
        "2 minutes",
        "studies.predicting.vasp",
        "table_3",
    ),
    _of_benchmark(
        "rlschert-figure8",
        OF_RLSCHERT,
        "Figure 8, convergence on completion time",
        "4 minutes",
        "studies.predicting.vasp",
        "completion",
    ),
    _of_benchmark(
        "nsa-table3",
        OF_ANNEALING,
        "Table III and Figure 4: annealing with trained networks",
        "not measured",
        "papers.neural_annealing.study",
        "--checkpoints",
        CHECKPOINTS,
        goes_on="from the last checkpoint",
    ),
    _of_benchmark(
        "nsa-table4",
        OF_ANNEALING,
        "Table IV, the integer program",
        "10 minutes",
        "papers.neural_annealing.integer_program",
    ),
    _of_benchmark(
        "nsa-figure5",
        OF_ANNEALING,
        "Figure 5, networks and numbers of steps",
        "30 minutes",
        "papers.neural_annealing.annealing_steps",
        "--checkpoints",
        CHECKPOINTS,
        goes_on="from the last checkpoint",
    ),
    _of_benchmark(
        "nsa-figure6",
        OF_ANNEALING,
        "Figure 6, wait and cost by the length of the period",
        "1 minute",
        "papers.neural_annealing.periods",
    ),
    PaperTable(
        "ddppo",
        OF_DDPPO,
        "Tables 3 and 4: policies of large logs, judged on this one",
        "hours, of which the most for `falcon`",
        (
            PaperStep(
                "experiments/ddppo_transfer",
                "SELECT count(*) FROM experiments.comparisons WHERE source = $source AND experiment LIKE 'ddppo%'",
            ),
        ),
        "SELECT DISTINCT goal, policy, trained_on, seeds, cost FROM experiments.comparisons WHERE source = $source "
        "AND experiment LIKE 'ddppo%' ORDER BY goal, cost, policy",
        goes_on="from the last checkpoint of `tracehouse run falcon --job ddppo`, or of another large log, which comes first",
    ),
)
PAPER_TABLES = {table.name: table for table in _LISTED}
