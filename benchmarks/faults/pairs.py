"""Two commands at once on the same source, every pair of them: each ends with its result or a plain error, and the home is whole."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from pathlib import Path
from random import Random

import duckdb

from benchmarks.faults.kills import call_surely, database_of, put_back
from benchmarks.faults.results import Result, Tables, read_tables
from benchmarks.faults.workers import Ended, Worker
from tests.tiny import busy_log

JOBS = 400
LONGEST_S = 300.0
"""Whoever has not ended by then hangs. Commands give up waiting for each other much later (TRACEHOUSE_TIMEOUT_S)."""
ROUNDS = 3
"""Of every pair. In the first both begin together, then the second command begins while the first works."""
WHAT_IF = """
[scenarios."more processors"]
procs = "+10%"
"""
COMMANDS = {
    "ingest": ("ingest", "{logs}/mine.swf", "--name", "mine"),
    "remove": ("remove", "mine", "--yes"),
    "run": ("run", "mine", "--select", "+marts/operations"),
    "backup": ("backup", "{out}/new.tar.zst", "--replace"),
    "restore": ("restore", "{logs}/old.tar.zst", "--replace"),
    "publish": ("publish", "{out}/published.duckdb"),
    "export": ("export", "mine", "{out}/jobs.parquet"),
    "sql": ("sql", "FROM core.jobs", "-o", "{out}/jobs.csv"),
    "report": ("report", "mine"),
    "what-if": ("what-if", "{logs}/questions.toml", "--source", "mine"),
    "train": ("train", "mine", "--epochs", "1", "--window-jobs", "16", "-o", "{out}/policy.json"),
}
REMOVING = {"remove", "restore"}
"""Beside these, the others may end because the source is gone, or busy."""


@dataclass
class Pairs:
    """A home with the sources `mine` and `other`, and what is in it before each pair. ended: of each command, how often well and how often
    with a plain error."""

    folder: Path
    result: Result
    plant: str = ""
    ended: dict[str, list[int]] = field(default_factory=lambda: {name: [0, 0] for name in COMMANDS})

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def prepare(self, worker: Worker) -> Tables:
        """Makes the home, and returns the tables of the source that no command names."""
        logs = self.folder / "logs"
        logs.mkdir()
        for name, seed in (("mine", 1), ("other", 2)):
            (logs / f"{name}.swf").write_text(busy_log(JOBS, seed=seed))
            call_surely(worker, "ingest", logs / f"{name}.swf")
        (logs / "questions.toml").write_text(WHAT_IF)
        (self.folder / "out").mkdir()
        for command in ("run", "train"):  # the first compiles for a minute
            call_surely(worker, *self.arguments(command))
        call_surely(worker, "backup", logs / "old.tar.zst")
        put_back(self.home, self.folder / "base")
        return read_tables(database_of(self.home), source="other")

    def arguments(self, command: str) -> list[str]:
        """Of a command, with the paths of this campaign."""
        return [text.format(logs=self.folder / "logs", out=self.folder / "out") for text in COMMANDS[command]]

    def try_pair(self, workers: list[Worker], pair: tuple[str, str], delay: float, others: Tables) -> None:
        """Both commands at once, the second after a delay in seconds."""
        put_back(self.folder / "base", self.home)
        (self.folder / "out").mkdir(exist_ok=True)
        for worker, command, wait in zip(workers, pair, (0.0, delay), strict=True):
            time.sleep(wait)
            worker.start("benchmarks.faults.workers:command", *self.arguments(command))
        what = f"{pair[0]} beside {pair[1]}, {delay:.1f} s later"
        for command, rival, ended in zip(pair, pair[::-1], [w.end(LONGEST_S) for w in workers], strict=True):
            self._look_at_end(what, command, rival, ended)
        self._look_at_home(what, others)
        again = workers[0].command(*self.arguments("ingest"))
        if again.code or self._stored() != JOBS:
            self.result.findings.append(f"{what}: the next ingest does not mend it: {again.printed[-300:]}")

    def _look_at_end(self, what: str, command: str, rival: str, ended: Ended) -> None:
        self.result.look_at(f"{what}: {command}", ended.printed)
        self.ended[command][bool(ended.code)] += 1
        if ended.was_killed:
            self.result.findings.append(f"{what}: {command} hangs: {ended.printed[-300:]}")
        elif ended.code and "Error: " not in ended.printed:
            self.result.findings.append(f"{what}: {command} ended with {ended.code}: {ended.printed[-300:]}")
        elif ended.code and not REMOVING & {command, rival}:
            self.result.findings.append(
                f"{what}: {command} failed, and nobody removed the source: {ended.printed[-300:]}"
            )

    def _look_at_home(self, what: str, others: Tables) -> None:
        """The source is there as a whole or not at all, and the other one is as it was."""
        local = self.home / "sources.local.toml"
        catalogue = local.read_text() if local.exists() else ""
        is_declared, stored, database = "[sources.mine]" in catalogue, self._stored(), database_of(self.home)
        if stored != JOBS * is_declared:
            words = "declared" if is_declared else "not declared"
            self.result.findings.append(f"{what}: left {stored} jobs of a source that is {words}")
            self.result.difference.lost += JOBS - stored if is_declared else 0
            self.result.difference.wrong += 0 if is_declared else stored
        self.result.compare(f"{what}, the other source", read_tables(database, source="other"), others)
        left = [path.name for folder in (self.home, self.folder / "out") for path in folder.rglob("*.part")]
        if left:
            self.result.findings.append(f"{what}: left {', '.join(left)}")

    def _stored(self) -> int:
        """Jobs of the source. Where not every record is a job, -1."""
        with duckdb.connect(str(database_of(self.home)), read_only=True) as connection:
            rows = connection.execute(
                "SELECT (SELECT count(*) FROM core.jobs WHERE source = 'mine'), "
                "(SELECT count(*) FROM raw.swf_jobs WHERE source = 'mine')"
            ).fetchall()
        jobs, records = map(int, rows[0])
        return jobs if jobs == records else -1


def pair_part(
    result: Result, folder: Path, seed: int, rounds: int = ROUNDS, plant: str = "", commands: tuple[str, ...] = ()
) -> None:
    """Every pair of the commands (default: all), so many times."""
    pairs, random = Pairs(folder, result, plant), Random(f"pairs {seed}")
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(pairs.home, plant, number)) for number in range(2)]
        others = pairs.prepare(workers[0])
        seconds = {name: call_surely(workers[0], *pairs.arguments(name)) for name in ("run", "ingest")}
        for pair in combinations_with_replacement(commands or tuple(COMMANDS), 2):
            for number in range(rounds):
                delay = random.uniform(0.0, seconds["run" if pair[0] == "run" else "ingest"]) if number else 0.0
                pairs.try_pair(workers, pair, delay, others)
    for name, (well, plainly) in pairs.ended.items():
        if well or plainly:
            result.add(name, well + plainly, well, plainly)
            result.require(well > 0, f"{name} never ended well")


def pairs(folder: Path, seed: int, quick: bool) -> Result:
    """The part of the campaign."""
    result = Result("pairs")
    result.head("command", "tried beside another", "ended well", "with a plain error")
    pair_part(result, folder, seed, 1 if quick else ROUNDS)
    return result
