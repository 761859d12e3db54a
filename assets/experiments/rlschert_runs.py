"""The experiments of RLSchert's paper, as rows: training, trying, comparing."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from models.rlschert.cluster import Outcome, Setting, run_heuristic_on, some
from models.rlschert.options import PAPER, RLSchertOptions
from models.rlschert.workload import PAPER_ERRORS, Errors, Workload, draw_sequences
from models.scheduling.arena import Windows
from models.scheduling.comparison import paired_difference
from simulator.published.rlschert import LONGEST, WIDEST, Sequences
from simulator.published.rlschert_view import HEURISTICS
from warehouse import Warehouse

if TYPE_CHECKING:
    from assets.experiments.rlschert import RLSchertConfig
    from models.rlschert.training import IterationReport, Policy

Key = tuple[str, str]
TRAINED: dict[Key, dict[str, Any]] = {
    ("DeepRM", "none"): {"with_remaining": False},
    ("RLSchert", "none"): {},
    ("RLSchert", "rule"): {"kill_by_rule": True},
    ("RLSchert", "learned"): {},
}
"""Schedulers that learn, with how they kill, and their cluster. RLSchert without killing is the teacher of the last."""
NETWORKS_TRIED = [("image_mlp", "pg"), ("image_cnn", "ppo"), ("image_mlp", "ppo")]
"""Table 3: network and algorithm."""
LADDER = [("RLSchert", "learned"), ("RLSchert", "rule"), ("RLSchert", "none"), ("DeepRM", "none")]
POOL_SEED, VALIDATION_SEED, TEST_SEED, SWEEP_SEED = 1, 2, 3, 4
VALIDATION_SEQUENCES, SHOWN_SEQUENCES = 32, 4
UNIT_S, UNIT_CORES = 300, 10


def errors_of(warehouse: Warehouse, source: str, which: str) -> Errors:
    """The paper's errors, or those that were measured on a folder of VASP runs. Raises ValueError when there are none."""
    if which == "paper":
        return PAPER_ERRORS
    with warehouse.read() as connection:
        rows = connection.sql(
            "SELECT predictor, ionic, progress, mape / 100 AS error FROM predictions.remaining_time_scores "
            "WHERE source = $source AND ionic <> 'all'",
            params={"source": source},
        ).pl()

    def mean(predictor: str, ionic: str, condition: pl.Expr) -> float:
        found = rows.filter((pl.col("predictor") == predictor) & (pl.col("ionic") == ionic) & condition)["error"].mean()
        if found is None:
            raise ValueError(
                f"no errors of {predictor} on runs of {ionic} ionic steps of {source!r}: materialize "
                "predictions/remaining_time_evaluation with the predictors inputs_only and progress first, or use errors: paper"
            )
        return min(float(found), 2.9)

    kinds = ("single", "multiple")
    single, multiple = (
        [
            mean("inputs_only", kind, pl.col("progress") == 0),
            mean("progress", kind, pl.col("progress") > 0),
            mean("progress", kind, pl.col("progress") == 1),
        ]
        for kind in kinds
    )
    return Errors(
        before=(single[0], multiple[0]),
        running=(single[1], multiple[1]),
        at_end=(min(single[1], single[2]), min(multiple[1], multiple[2])),
    )


def observed_jobs(warehouse: Warehouse, source: str) -> tuple[tuple[int, int, bool], ...]:
    """(length, procs, whether a single ionic step) of the finished runs of a folder, in units of 5 minutes and 10 cores, cut at
    the longest and the widest. Raises ValueError when there are none."""
    with warehouse.read() as connection:
        rows = connection.sql(
            "SELECT elapsed_s, cores, coalesce(nsw, 0) <= 1 AS single FROM raw.vasp_runs "
            "WHERE source = $source AND elapsed_s > 0 AND cores > 0 ORDER BY folder, outcar, launch",
            params={"source": source},
        ).fetchall()
    if not rows:
        raise ValueError(f"no finished run of {source!r} to draw jobs from: use jobs_like: paper")
    return tuple(
        (min(max(round(seconds / UNIT_S), 1), LONGEST), min(max(round(cores / UNIT_CORES), 1), WIDEST), single)
        for seconds, cores, single in rows
    )


class Bench:
    """Trains once (`train`), then tries everywhere. `tables` gives the rows. policies: by experiment, then by name, kind of
    killing and seed."""

    def __init__(
        self,
        config: RLSchertConfig,
        errors: Errors,
        log: Callable[[str], None],
        observed: tuple[tuple[int, int, bool], ...] = (),
    ) -> None:
        self.config, self._log = config, log
        if config.training.goal != "slowdown":
            raise ValueError(
                "training.goal: policies are trained for slowdown, and for completion with completion_seeds"
            )
        if config.training.network != "facts" and any(size != config.procs for size in config.cluster_sizes):
            raise ValueError(
                "cluster_sizes: a network over state images fits one cluster size only; give [] or [procs]"
            )
        if any(size < WIDEST for size in config.cluster_sizes):
            raise ValueError(f"cluster_sizes: jobs have up to {WIDEST} processors, got {config.cluster_sizes}")
        self.workload = Workload(jobs=config.jobs, job_rate=config.job_rate, errors=errors, observed=observed)
        for rate in config.job_rates:  # whatever makes no sense is told before hours of training
            replace(self.workload, job_rate=rate)
        for share in config.predictable_shares:
            replace(self.workload, predictable_share=share)
        self.pool = draw_sequences(self.workload, config.training.pool, POOL_SEED)
        self.validation = draw_sequences(self.workload, VALIDATION_SEQUENCES, VALIDATION_SEED)
        self.test = draw_sequences(self.workload, config.test_sequences, TEST_SEED)
        self._tasks = self._planned()
        self.policies: dict[str, dict[tuple[str, str, int], Policy]] = {}
        self._rows: list[dict[str, Any]] = []
        self._found: list[dict[str, Any]] = []
        self._curves: list[dict[str, Any]] = []
        self._jobs: list[pl.DataFrame] = []
        self._holes: list[pl.DataFrame] = []

    @property
    def iterations(self) -> int:
        """Of training, in all."""
        return sum(task.options.iterations * len(task.settings) for task in self._tasks)

    def train(self, on_progress: Callable[[int], None]) -> None:
        """Everything that learns, side by side on all cores. on_progress: is told every two seconds how many iterations are
        done."""
        context = multiprocessing.get_context("spawn")
        # a fresh process each: torch and compiled loops do not survive a fork of a process with threads
        workers, done = min(len(os.sched_getaffinity(0)), len(self._tasks)), context.Value("q", 0)
        with ProcessPoolExecutor(workers, context, _share, (done,)) as pool:
            futures = [pool.submit(train_ladder, task) for task in self._tasks]
            for task, future in zip(self._tasks, futures, strict=True):
                while wait([future], timeout=2).not_done:
                    on_progress(done.value)
                for key, (policy, curve) in future.result().items():
                    self.policies.setdefault(task.experiment, {})[*key, task.seed] = policy
                    self._keep_curve(task.experiment, *key, task.seed, curve)
                    costs = [report.validation for report in curve if report.validation is not None]
                    found = f"validation {costs[0]:.2f} to {min(costs):.2f}"
                    self._log(f"{task.experiment}, {key[0]}, kill {key[1]}, seed {task.seed}: {found}")
        on_progress(done.value)

    def main(self) -> None:
        """Tables 6 and 7, Figures 7, 9, 12 and 13, and Table 8 for those trained for slowdown."""
        seen = some(self.pool, np.arange(min(self.config.test_sequences, len(self.pool.arrive))))
        self._try_all("main", self.config.job_rate, seen, self.config.procs, "training")
        outcomes = self._try_all("main", self.config.job_rate, self.test, self.config.procs)
        for (name, kill, seed), outcome in outcomes.items():
            if seed == self.config.seeds[0] or name in HEURISTICS:
                self._jobs.append(_jobs_of(outcome, name, kill))
                self._holes.append(_holes_of(outcome, name, kill, self.config.procs))

    def sweeps(self) -> None:
        """Figures 10 and 11, Tables 9 and 11; the policies of `main`, not trained again."""
        count = self.config.test_sequences
        for rate in self.config.job_rates:
            sequences = draw_sequences(replace(self.workload, job_rate=rate), count, SWEEP_SEED)
            self._try_all("load", rate, sequences, self.config.procs)
        for procs in self.config.cluster_sizes:
            self._try_all("resources", procs, self.test, procs)
        for share in self.config.predictable_shares:
            sequences = draw_sequences(replace(self.workload, predictable_share=share), count, TEST_SEED)
            self._try_all("predictable", share, sequences, self.config.procs)
        mixed = replace(self.workload, predictable_share=0.5, other_error=self.config.other_error)
        self._try_all("mixed", 0.5, draw_sequences(mixed, count, TEST_SEED), self.config.procs)

    def completion(self) -> None:
        """Table 8 and Figure 8: trained for completion time."""
        self._try_all("completion", self.config.job_rate, self.test, self.config.procs, trained="completion")

    def networks(self) -> None:
        """Table 3: RLSchert without killing, by network and algorithm."""
        for key, policy in self.policies["networks"].items():
            outcome = policy.run(self.test, self._setting(("RLSchert", "none"), self.config.procs))
            self._keep("networks", self.config.job_rate, "test", key, outcome)

    def tables(self) -> list[pl.DataFrame]:
        """Rows of experiments.rlschert, rlschert_comparisons, rlschert_curves, rlschert_jobs and rlschert_holes."""
        floats = {"slowdown": pl.Float64, "completion": pl.Float64, "setting": pl.Float64}
        intervals = {"difference_low": pl.Float64, "difference_high": pl.Float64, "setting": pl.Float64}
        return [
            pl.DataFrame(self._rows, schema_overrides=floats, infer_schema_length=None),
            pl.DataFrame(self._found, schema_overrides=intervals, infer_schema_length=None),
            pl.DataFrame(self._curves, schema_overrides={"validation": pl.Float64}, infer_schema_length=None),
            pl.concat(self._jobs),
            pl.concat(self._holes),
        ]

    def _planned(self) -> list[Task]:
        """Every scheduler with every seed, and, where asked for, those of Table 8 (for completion time) and the networks of
        Table 3 (on state images, with Table 4's settings)."""

        config, seeds = self.config, self.config.seeds
        options = RLSchertOptions(**config.training.model_dump())
        tasks = [self._task("main", dict(TRAINED), options, seed) for seed in seeds]
        options = options.model_copy(update={"goal": "completion"})
        tasks += [self._task("completion", dict(TRAINED), options, seed) for seed in seeds[: config.completion_seeds]]
        for network, algorithm in NETWORKS_TRIED if config.network_iterations else ():
            told = {"network": network, "algorithm": algorithm, "iterations": config.network_iterations}
            options = PAPER.model_copy(update=told | {"max_actions": config.training.max_actions})
            tasks += [self._task("networks", {(f"{algorithm}_{network}", "none"): {}}, options, seed) for seed in seeds]
        return tasks

    def _task(self, experiment: str, told: dict[Key, dict[str, Any]], options: RLSchertOptions, seed: int) -> Task:
        settings = {
            key: Setting(procs=self.config.procs, goal=options.goal, true_lengths=options.true_lengths, **rules)
            for key, rules in told.items()
        }
        return Task(experiment, self.pool, self.validation, settings, options, seed)

    def _setting(self, key: Key, procs: int) -> Setting:
        return Setting(procs=procs, **TRAINED[key])

    def _try_all(
        self,
        experiment: str,
        setting: float,
        sequences: Sequences,
        procs: int,
        part: str = "test",
        trained: str = "main",
    ) -> dict[tuple[str, str, int], Outcome]:
        """Every heuristic, without and with killing by rule, and every trained policy, on these sequences."""
        outcomes: dict[tuple[str, str, int], Outcome] = {}
        for name in HEURISTICS:
            for kill in ("none", "rule"):
                told = Setting(procs=procs, with_remaining=False, kill_by_rule=kill == "rule")
                outcomes[name, kill, 1] = run_heuristic_on(sequences, told, name)
        for (name, kill, seed), policy in self.policies[trained].items():
            told = self._setting((name, kill), procs)
            outcomes[name, kill, seed] = policy.run(sequences, told, self.config.training.max_actions)
        for key, outcome in outcomes.items():
            self._keep(experiment, setting, part, key, outcome)
        if part == "test":
            self._compare(experiment, setting, outcomes)
        return outcomes

    def _keep(self, experiment: str, setting: float, part: str, key: tuple[str, str, int], outcome: Outcome) -> None:
        slowdown, completion = outcome.slowdowns(), outcome.completions()
        for k in range(len(slowdown)):
            self._rows.append(
                {"experiment": experiment, "setting": float(setting), "part": part, "policy": key[0], "kill": key[1]}
                | {
                    "seed": key[2],
                    "sequence": k,
                    "holes": float(outcome.holes[k]),
                    "kills": int(outcome.kills[k].sum()),
                }
                | {
                    name: None if np.isnan(values[k]) else float(values[k])
                    for name, values in (("slowdown", slowdown), ("completion", completion))
                }
            )

    def _compare(self, experiment: str, setting: float, outcomes: dict[tuple[str, str, int], Outcome]) -> None:
        """Each step of the ladder against the next, its last against the best heuristic (with the rule or without), and all
        against SAF."""
        from models.rlschert.training import cost_of

        goal = "completion" if experiment == "completion" else "slowdown"
        costs: dict[Key, list[np.ndarray]] = {}
        for (name, kill, _), outcome in outcomes.items():
            costs.setdefault((name, kill), []).append(cost_of(outcome, goal))
        means = {key: float(np.mean(values)) for key, values in costs.items()}
        best = min((key for key in means if key[0] in HEURISTICS), key=means.__getitem__)
        ladder = [key for key in LADDER if key in costs]
        pairs = list(zip(ladder, [*ladder[1:], best], strict=True)) + [(key, ("SAF", "none")) for key in ladder]
        sequences = len(next(iter(outcomes.values())).slowdowns())
        windows = Windows(np.arange(sequences), 1)
        for one, other in dict.fromkeys(pairs):
            apart = paired_difference(np.stack(costs[one]), np.stack(costs[other]), windows, 1)
            self._found.append(
                {"experiment": experiment, "setting": float(setting), "policy": _named(one), "rival": _named(other)}
                | {"cost": means[one], "difference": apart.mean}
                | {"difference_low": apart.low, "difference_high": apart.high}
            )

    def _keep_curve(self, experiment: str, policy: str, kill: str, seed: int, curve: list[IterationReport]) -> None:
        told = {"experiment": experiment, "policy": policy, "kill": kill, "seed": seed}
        names = ("iteration", "sampled", "validation", "decisions", "entropy", "teacher_weight")
        for report in curve:
            row = asdict(report)
            row["validation"] = (
                row["validation"] if row["validation"] is not None and np.isfinite(row["validation"]) else None
            )
            self._curves.append(told | {name: row[name] for name in names})


@dataclass(frozen=True)
class Task:
    """What one process trains, one after the other: schedulers and their clusters, with one seed."""

    experiment: str
    pool: Sequences
    validation: Sequences
    settings: dict[Key, Setting]
    options: RLSchertOptions
    seed: int


_done: Any = None
"""In a process that trains: how many iterations all of them have done."""


def _share(done: Any) -> None:
    global _done
    _done = done


def _count(_: IterationReport) -> None:
    with _done.get_lock():
        _done.value += 1


def train_ladder(task: Task) -> dict[Key, tuple[Policy, list[IterationReport]]]:
    """All of its schedulers; the one that learns to kill has that of RLSchert without killing as teacher."""
    from models.rlschert.training import train

    found: dict[Key, tuple[Policy, list[IterationReport]]] = {}
    for key, setting in task.settings.items():
        kills = key[1] == "learned"
        teacher = found["RLSchert", "none"][0] if kills else None
        found[key] = train(
            task.pool,
            task.validation,
            setting,
            task.options,
            task.seed,
            kills=kills,
            teacher=teacher,
            on_iteration=_count,
        )
    return found


def _named(key: Key) -> str:
    return key[0] if key[1] == "none" else f"{key[0]}, {key[1]} killing"


def _jobs_of(outcome: Outcome, policy: str, kill: str) -> pl.DataFrame:
    shown = slice(0, SHOWN_SEQUENCES)
    jobs, count = outcome.sequences, outcome.finish[shown].shape
    return pl.DataFrame(
        {
            "policy": [policy] * (count[0] * count[1]), "kill": [kill] * (count[0] * count[1]),
            "sequence": np.repeat(np.arange(count[0]), count[1]), "job": np.tile(np.arange(count[1]), count[0]),
            "arrive": jobs.arrive[shown].ravel(), "length": jobs.length[shown].ravel(), "procs": jobs.procs[shown].ravel(),
            "first_prediction": jobs.first[shown].ravel(), "finish": outcome.finish[shown].ravel(),
            "wait": outcome.waits()[shown].ravel(), "kills": outcome.kills[shown].ravel(),
            "killed_after": outcome.killed_after[shown].ravel(),
        }
    )  # fmt: skip


def _holes_of(outcome: Outcome, policy: str, kill: str, procs: int) -> pl.DataFrame:
    last = outcome.finish.max(axis=1)
    units = np.arange(int(min(last.max(), outcome.busy.shape[1])))
    free = np.where(units[None] < last[:, None], procs - outcome.busy[:, : len(units)], 0)
    return pl.DataFrame({"unit": units, "holes": free.cumsum(axis=1).mean(axis=0)}).select(
        pl.lit(policy).alias("policy"), pl.lit(kill).alias("kill"), "unit", "holes"
    )
