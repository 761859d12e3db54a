"""Evolution of programs (studies/searching/programs.py) under a limit on what anybody pays, on several logs at once.

Children of the best programs are tried on few logs first, and the best third of them on more (successive halving). CMA-ES tunes the
constants of the best program now and then. Generations take turns with the limits, and all share one archive, which holds the frontier of
gain against guards. Whatever was replayed is kept in a file, so that the same search goes on where it stopped.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from pydantic import BaseModel, Field

from models.scheduling.search.priority_key import tuned_constants
from simulator.formula.text import FormulaError
from studies.searching.learning_logs import LearningLog, ProgramOutcome
from studies.searching.programs import (
    ATTRIBUTES,
    STATIC,
    Program,
    crossed,
    mutated,
    nodes_of,
    random_program,
    shorter_terms,
)

LIMIT_PENALTY = 5.0
"""What exceeding a limit by its e-fold adds to the value of a program."""
LIMIT_MARGIN = 0.8
"""Share of the logarithm of a limit that a search uses, since later jobs differ."""
CLASS_LIMIT = 5
"""The mean wait of the worst of a dozen classes may grow by so many times as much as a guard."""
COST_OF_A_NODE = 0.0005
"""So that of two equal programs the shorter one is better."""
LEAST_PART = 0.004
"""A part of a program that gains less than this is left out of the formula that is published."""
FAILED_OUTCOME = ProgramOutcome(*(1e3,) * len(ProgramOutcome._fields))
ONE_GOES_ON_OF = 3
"""One child of so many goes on to more logs."""
TOURNAMENT = 3


class SearchOptions(BaseModel):
    """How long programs are searched."""

    generations: int = Field(default=60, ge=1, description="Generations, which take turns with the limits")
    children: int = Field(default=60, ge=6, description="Programs tried in a generation")
    parents: int = Field(default=30, ge=2, description="The best programs, from which children descend")
    tune_every: int = Field(
        default=3, ge=1, description="Generations of a limit from one tuning of constants to the next"
    )
    tuning: int = Field(default=60, ge=0, description="Programs that CMA-ES tries in one tuning")
    attributes: tuple[str, ...] = Field(default=STATIC, description=f"What programs read, of {', '.join(ATTRIBUTES)}")


@dataclass
class Kept:
    """Outcomes of programs by the text of the formula and the log, and the file that keeps them. replays: made in this run.

    logs: names, jobs and processors, which the file names first. Raises ValueError for a file of other logs.
    """

    logs: Sequence[LearningLog]
    file: Path | None = None
    replays: int = 0
    seconds: float = 0.0
    outcomes: dict[tuple[str, str], ProgramOutcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        heading = json.dumps([[log.name, len(log.jobs), int(log.jobs.submit.sum()), log.procs] for log in self.logs])
        if self.file is None:
            return
        if not self.file.exists():
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.write_text(heading + "\n")
        text = self.file.read_text()
        if not text.endswith("\n"):  # whatever ended the search cut the last line short
            text = text[: text.rfind("\n") + 1]
            self.file.write_text(text)
        first, *lines = text.splitlines()
        if first != heading:
            raise ValueError(
                f"{self.file}: line 1: this search was of other logs: name another file, or delete this one"
            )
        for number, line in enumerate(lines, start=2):
            try:
                formula, log, ratios = json.loads(line)
                self.outcomes[formula, log] = ProgramOutcome(*ratios)
            except (ValueError, TypeError) as error:
                where = f"{self.file}: line {number}"
                raise ValueError(f"{where}: expected formula, log and ratios; delete the line") from error

    def outcome(self, program: Program, log: LearningLog) -> ProgramOutcome:
        """What the program does on the log, replayed once."""
        key = (program.formula, log.name)
        if key not in self.outcomes:
            begin = time.process_time()
            try:
                outcome = log.outcome(program.policy)
            except FormulaError:
                outcome = FAILED_OUTCOME
            self.seconds += time.process_time() - begin
            self.replays += 1
            self.outcomes[key] = outcome
            if self.file is not None:
                with self.file.open("a") as lines:
                    lines.write(json.dumps([*key, [*outcome]]) + "\n")
        return self.outcomes[key]


@dataclass(frozen=True)
class Search:
    """rungs: logs on which a program is tried, the few that are fast first. Each has its copies by the name before the comma.

    limits: the guards that programs may reach, by the name of a point of the frontier. strict: names of the logs on which what is published
    keeps its limit, by default all but copies.
    """

    rungs: Sequence[Sequence[LearningLog]]
    limits: dict[str, float]
    options: SearchOptions
    kept: Kept
    strict: Sequence[str] = ()
    _values: dict[tuple[str, float, int], float] = field(default_factory=dict)

    def run(
        self, seed: int, starts: Sequence[Program] = (), on_generation: Callable[[str], None] = lambda _: None
    ) -> dict[str, list[Program]]:
        """By limit all programs that were replayed on all logs, the best first. Same arguments, same programs."""
        names = list(self.limits)
        archive: dict[str, Program] = {}
        for generation in range(self.options.generations):
            name = names[generation % len(names)]
            rng = np.random.default_rng((seed, generation))
            ranked = self.ranked(archive.values(), self.limits[name])
            children = list(self._children(ranked, rng))
            if ranked and generation // len(names) % self.options.tune_every == self.options.tune_every - 1:
                children += self._tuned(ranked[0], self.limits[name], seed + generation)
            survivors = self._survivors(children, self.limits[name])
            for program in [*survivors, *(starts if generation < len(names) else ())]:
                archive[program.formula] = program
            best = self.ranked(archive.values(), self.limits[name])[0]
            value = self.value(best, self.limits[name], len(self.rungs))
            on_generation(
                f"{generation + 1} of {self.options.generations}, {name}: {value:.3f} {best.formula} "
                f"({self.kept.replays:,} replays, {self.kept.seconds:,.0f} CPU-seconds)"
            )
        return {name: self.ranked(archive.values(), limit) for name, limit in self.limits.items()}

    def chosen(self, ranked: Sequence[Program], limit: float) -> Program:
        """The best program, made short, that keeps the limit on the strict logs, or the best of all where none does."""
        for program in ranked:
            short = self.shortened(program, limit)
            if self.keeps(short, limit):
                return short
        return self.shortened(ranked[0], limit)

    def keeps(self, program: Program, limit: float) -> bool:
        """Whether bounded slowdown and wait fall and no guard is above the limit on any of the strict logs."""
        logs = [log for rung in self.rungs for log in rung if "," not in log.name]
        outcomes = [self.kept.outcome(program, log) for log in logs if not self.strict or log.name in self.strict]
        guards = [max(each.p99, each.longest, each.work, each.wide, each.users) for each in outcomes]
        return max(guards) <= limit and all(max(each.slowdown, each.wait) < 1 for each in outcomes)

    def shortened(self, program: Program, limit: float) -> Program:
        """The program without the parts that are worth less than LEAST_PART together with their length."""
        while True:
            value = self.value(program, limit, len(self.rungs))
            shorter = [replace(program, term=term) for term in shorter_terms(program.term)]
            best = min(shorter, key=lambda each: self.value(each, limit, len(self.rungs)), default=program)
            if best is program or self.value(best, limit, len(self.rungs)) > value + LEAST_PART:
                return program
            program = best

    def ranked(self, programs: Iterable[Program], limit: float) -> list[Program]:
        """The programs, the best under the limit first."""
        return sorted(programs, key=lambda program: (self.value(program, limit, len(self.rungs)), program.formula))

    def value(self, program: Program, limit: float, rungs: int) -> float:
        """What a search makes small: `value_of_logs` and the length."""
        key = (program.formula, limit, rungs)
        if key not in self._values:
            by_log: dict[str, list[ProgramOutcome]] = {}
            for log in (log for rung in self.rungs[:rungs] for log in rung):
                by_log.setdefault(log.name.partition(",")[0], []).append(self.kept.outcome(program, log))
            length = COST_OF_A_NODE * sum(1 for _ in nodes_of(program.term))
            self._values[key] = value_of_logs(by_log.values(), limit) + length
        return self._values[key]

    def _children(self, ranked: list[Program], rng: np.random.Generator) -> Iterator[Program]:
        parents = ranked[: self.options.parents]
        for child in range(self.options.children):
            if not parents or child % 10 == 9:
                yield random_program(rng, self.options.attributes)
                continue
            first, second = (parents[int(rng.integers(len(parents), size=TOURNAMENT).min())] for _ in range(2))
            program = crossed(first, second, rng) if rng.random() < 0.3 else first
            yield mutated(program, rng, self.options.attributes)

    def _survivors(self, children: Sequence[Program], limit: float) -> list[Program]:
        """Those that are replayed on all logs."""
        left = list({child.formula: child for child in children}.values())
        for rung in range(1, len(self.rungs)):
            left.sort(key=lambda program: self.value(program, limit, rung))
            left = left[: max(len(left) // ONE_GOES_ON_OF, 3)]
        return left

    def _tuned(self, program: Program, limit: float, seed: int) -> list[Program]:
        """What CMA-ES makes of a program's constants, on all but the last rung."""
        rungs = max(len(self.rungs) - 1, 1)
        tried: list[Program] = []

        def value(constants: np.ndarray) -> float:
            tried.append(program.with_constants(constants))
            return self.value(tried[-1], limit, rungs)

        tuned_constants(value, program.constants, 0.1, np.ones(len(program.constants)), seed, self.options.tuning)
        return tried


def value_of_logs(by_log: Iterable[Sequence[ProgramOutcome]], limit: float) -> float:
    """The mean over the logs, and with equal weight the worst log, of `log_value`. by_log: of each log and its copies."""
    values = [log_value(outcomes, limit) for outcomes in by_log]
    return (float(np.mean(values)) + max(values)) / 2


def log_value(outcomes: Sequence[ProgramOutcome], limit: float) -> float:
    """Of one log and its copies: the mean of the logarithms of bounded slowdown and wait, plus LIMIT_PENALTY for what others pay.

    They pay for gains above 1, for guards beyond the limit with its LIMIT_MARGIN, and for a worst class beyond CLASS_LIMIT. All are
    geometric means over the copies, since a single longest wait is an accident of one month.
    """
    ratios = ProgramOutcome(*np.log(np.maximum(np.array(outcomes), 1e-6)).mean(axis=0).tolist())
    gains, most = (ratios.slowdown, ratios.wait), LIMIT_MARGIN * math.log(limit)
    guards = (ratios.p99, ratios.longest, ratios.work, ratios.wide, ratios.users)
    paid = [*gains, *(guard - most for guard in guards), ratios.worst_class - math.log1p(CLASS_LIMIT * (limit - 1))]
    return sum(gains) / 2 + LIMIT_PENALTY * sum(max(each, 0.0) for each in paid)
