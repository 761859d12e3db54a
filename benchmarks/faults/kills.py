"""SIGKILL at random moments: the same command is run again, and the tables are those of a run that nobody has disturbed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import duckdb

import assets.ingest.rows
import sql
from assets.ingest.rows import OF_A_FILE
from benchmarks.faults.results import Result, Tables, read_tables
from benchmarks.faults.workers import COMMAND, Worker, command
from benchmarks.pbs_logs import write_days
from tests.kills import Outcome, files_of, kill_backups, kill_restores
from tests.tiny import CATALOGUE, SOURCE, busy_log
from tests.warehouse.released import make_warehouse, versions

MOMENTS = {"ingest": 28, "training": 12, "replay --save": 16, "migration": 16, "backup": 14, "restore": 14}
"""How often each is killed in the full campaign: 100 times."""
MOST_TRIES = 4
"""For each kill that is asked for: a command may be over before it is killed, or not yet have written."""
CONFIG = """
ops:
  predictions__runtime_evaluation: {config: {predictors: [requested, similar_jobs], days: 60}}
  predictions__runtime_model: {config: {}}
  predictions__wait_times: {config: {jobs: 20}}
  policies__trajectory_filter: {config: {window_jobs: 64, sampled_windows: 50}}
  policies__priority_key: {config: {search: {random_keys: 5, steps: 2}}}
  policies__scheduling_policy:
    config:
      seeds: [1]
      ppo: {epochs: 2, filtered_epochs: 1, trajectories: 4}
      key: {random_keys: 5, steps: 0}
"""


@dataclass
class Killed:
    """Kills of one command. again: of a command that went on after a kill. writing: after which files of the data folder were not
    those from before. too_late: tries that were over before the kill."""

    kills: int = 0
    again: int = 0
    writing: int = 0
    too_late: int = 0


def database_of(home: Path) -> Path:
    """The warehouse of a home."""
    return home / "warehouse" / "data" / "tracehouse.duckdb"


def empty_folder(folder: Path) -> None:
    """Removes what is in it; the folder itself stays, since a worker may have it as its home."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def put_back(base: Path, home: Path) -> None:
    """Makes a home what it was."""
    empty_folder(home)
    shutil.copytree(base, home, dirs_exist_ok=True)


def call_surely(worker: Worker, *arguments: object) -> float:
    """Runs a command that must succeed; returns its seconds."""
    ended = worker.command(*arguments)
    if ended.code:
        raise RuntimeError(f"tracehouse {' '.join(map(str, arguments))}: {ended.printed}")
    return ended.seconds


def write_log(folder: Path, seed: int, days: int, jobs: int, share: float = 1.0) -> None:
    """A PBS log of daily files; share: only the first of them, and half of the next."""
    write_days(folder, jobs, -(-jobs // days), "QSE", seed)
    files = sorted(folder.iterdir())
    whole = int(len(files) * share)
    for number, path in enumerate(files[whole:]):
        if number:
            path.unlink()
        else:
            content = path.read_bytes()
            path.write_bytes(content[: len(content) // 2])


def partly_there(database: Path) -> list[str]:
    """Files of all sources that are in a warehouse in part, by its own check, and rows of no file; a kill may not leave any.

    The warehouse is not opened by its door, which would upgrade it. Its tables may be of any release.
    """
    if not database.exists():
        return []
    check, wrong = "checks.counts_add_up", []
    try:
        with duckdb.connect(str(database), read_only=True) as connection:
            if connection.execute("SELECT 1 FROM duckdb_tables() WHERE schema_name = 'raw'").fetchone() is None:
                return []
            for (source,) in connection.execute("SELECT DISTINCT source FROM raw.log_files ORDER BY ALL").fetchall():
                rows = connection.execute(sql.load(check), {"source": source}).fetchall()
                wrong += [f"{check}, {source}, {', '.join(map(str, row))}" for row in rows]
            for table in OF_A_FILE:
                rows = connection.execute(
                    f"SELECT source, file FROM {table} EXCEPT SELECT source, file FROM raw.log_files ORDER BY ALL"
                ).fetchall()
                wrong += [f"{table} has rows of {source}, {file}, which is not in the ledger" for source, file in rows]
    except duckdb.Error as error:
        wrong.append(f"the file cannot be read: {error}")
    return wrong


def command_in_small_commits(*arguments: str) -> None:
    """A `tracehouse` command that writes every file in a transaction of its own, so that more moments lie between two."""
    assets.ingest.rows.COMMIT_BYTES = 1  # type: ignore[misc]
    command(*arguments)


class Victim:
    """One command, its home as it is before, and the tables that it leaves when nobody disturbs it.

    disturbed: the function that does it where it is killed. at_once: whether all that it writes appears at once, so that a kill
    leaves the tables as they were or as they become.
    """

    def __init__(
        self,
        name: str,
        worker: Worker,
        base: Path,
        arguments: list[object],
        disturbed: str = COMMAND,
        at_once: bool = False,
    ) -> None:
        self.name, self.worker, self.base, self.arguments = name, worker, base, [*map(str, arguments)]
        self.disturbed, self.at_once = disturbed, at_once
        self.before = read_tables(database_of(base))
        put_back(base, worker.home)
        call_surely(worker, *arguments)
        self.undisturbed = self.tables()
        put_back(base, worker.home)
        self.seconds = worker.call(disturbed, *self.arguments).seconds

    def tables(self) -> Tables:
        return read_tables(database_of(self.worker.home))

    def kill(self, count: int, random: Random, result: Result, until_found: bool = False) -> Killed:
        """Kills it so many times, and goes on until one kill came while it wrote. Now and then it is killed several times in a row;
        every time it is run to its end afterwards.

        until_found: no longer than until something is found.
        """
        killed = Killed()
        tries = 0
        while (killed.kills < count or not killed.writing) and tries < MOST_TRIES * count:
            if until_found and result.findings:
                return killed
            tries += 1
            put_back(self.base, self.worker.home)
            was_killed = False
            for _ in range(min(random.choice((1, 1, 1, 2, 3)), max(count - killed.kills, 1))):
                before = files_of(database_of(self.worker.home).parent)
                ended = self.worker.call(self.disturbed, *self.arguments, kill_after=random.uniform(0, self.seconds))
                killed.kills += ended.was_killed
                killed.too_late += not ended.was_killed
                if not (was_killed or ended.was_killed):
                    self.seconds = min(self.seconds, ended.seconds)  # it was measured while the machine was busy
                killed.again += was_killed and ended.was_killed
                killed.writing += ended.was_killed and files_of(database_of(self.worker.home).parent) != before
                was_killed = ended.was_killed
                self._look(f"{self.name}, kill {killed.kills}", ended.printed, result)
            self._finish(killed, result)
        result.require(killed.kills >= count, f"{self.name}: only {killed.kills} of {count} kills")
        result.require(killed.writing > 0, f"{self.name}: no kill came while it wrote")
        return killed

    def _look(self, what: str, printed: str, result: Result) -> None:
        """Right after a kill, before anything else opens the warehouse."""
        result.look_at(what, printed)
        wrong = [f"left in part: {line}" for line in partly_there(database_of(self.worker.home))[:3]]
        if self.at_once and not wrong and self.tables() not in (self.before, self.undisturbed):
            wrong = ["left the tables neither as they were nor as they become"]
        result.difference.wrong += len(wrong)
        result.findings += [f"{what}: {line}" for line in wrong]

    def _finish(self, killed: Killed, result: Result) -> None:
        ended = self.worker.command(*self.arguments)
        what = f"{self.name} after kill {killed.kills}"
        result.look_at(what, ended.printed)
        if ended.code:
            result.findings.append(f"{what}: exit code {ended.code}: {ended.printed.strip()[-300:]}")
        result.compare(what, self.tables(), self.undisturbed)


def ingest_victim(worker: Worker, folder: Path, seed: int, jobs: int = 6000) -> Victim:
    """The second half of a log comes."""
    log, base = folder / "log", folder / "base-ingest"
    write_log(log, seed, 20, jobs, 0.5)
    arguments: list[object] = [
        "ingest",
        log,
        "--name",
        "mine",
        "--format",
        "pbs",
        "--procs",
        1024,
        "--time-zone",
        "UTC",
    ]
    call_surely(worker, *arguments)
    shutil.copytree(worker.home, base)
    write_log(log, seed, 20, jobs)
    return Victim("ingest", worker, base, arguments, "benchmarks.faults.kills:command_in_small_commits")


def replay_victim(worker: Worker, folder: Path, seed: int, jobs: int = 3000) -> Victim:
    """A replay of a log that queues, saved by name."""
    empty_folder(worker.home)
    (folder / "busy.swf").write_text(busy_log(jobs, seed=seed))
    call_surely(worker, "ingest", folder / "busy.swf", "--name", "mine")
    shutil.copytree(worker.home, folder / "base-replay")
    arguments = ["replay", "mine", "--policy", "SJF", "--save", "trial"]
    return Victim("replay --save", worker, folder / "base-replay", list(arguments), at_once=True)


def training_victim(worker: Worker, folder: Path) -> Victim:
    """Run-time model and policy of the tiny source, with their registries."""
    empty_folder(worker.home)
    (worker.home / "sources.local.toml").write_text(CATALOGUE)
    (worker.home / "config.yaml").write_text(CONFIG)
    call_surely(worker, "run", SOURCE, "--job", "ingest")
    shutil.copytree(worker.home, folder / "base-training")
    arguments = ["run", SOURCE, "--job", "train", "--config", worker.home / "config.yaml"]
    return Victim("training", worker, folder / "base-training", list(arguments))


def migration_victim(worker: Worker, folder: Path) -> Victim:
    """A warehouse of the first release is opened, which upgrades it."""
    base = folder / "base-migration"
    database_of(base).parent.mkdir(parents=True)
    make_warehouse(versions()[0], database_of(base))
    return Victim("migration", worker, base, ["sql", "SELECT count(*) FROM core.jobs"], at_once=True)


VICTIMS: dict[str, Callable[[Worker, Path, int], Victim]] = {
    "ingest": lambda worker, folder, seed: ingest_victim(worker, folder, seed),
    "training": lambda worker, folder, seed: training_victim(worker, folder),
    "replay --save": lambda worker, folder, seed: replay_victim(worker, folder, seed),
    "migration": lambda worker, folder, seed: migration_victim(worker, folder),
}


def kill_archives(kind: str, folder: str, count: int, seed: int) -> None:
    """In a worker's child, since it forks: kills backups or restores, and prints the outcome as JSON."""
    kill = {"backup": kill_backups, "restore": kill_restores}[kind]
    total, tries = Outcome(), 0
    while total.kills < count and tries < 10 and not total.broken:
        tries += 1
        outcome = kill(Path(folder) / f"{tries}", count - total.kills, seed + tries)
        total.kills += outcome.kills
        total.writing += outcome.writing
        total.too_late += outcome.too_late
        total.broken += outcome.broken
        total.seconds = outcome.seconds
    print(json.dumps([total.kills, total.writing, total.too_late, total.broken, total.seconds]))


def kill_part(
    kind: str, count: int, folder: Path, seed: int, result: Result, plant: str = "", until_found: bool = False
) -> None:
    """Kills one kind of work, and adds a row to the table."""
    random = Random(f"{kind} {seed}")
    before = len(result.findings)
    with Worker(folder / "home", plant) as worker:
        if kind in VICTIMS:
            victim = VICTIMS[kind](worker, folder, seed)
            killed, seconds = victim.kill(count, random, result, until_found), f"{victim.seconds:.1f}"
        else:
            ended = worker.call("benchmarks.faults.kills:kill_archives", kind, str(folder / "archives"), count, seed)
            lines = ended.printed.strip().splitlines()
            if ended.code:
                result.findings.append(f"{kind}: {lines[-1][:300] if lines else 'ended'}")
                result.difference.wrong += 1
                return
            done, writing, too_late, broken, took_s = json.loads(lines[-1])
            killed, seconds = Killed(done, 0, writing, too_late), f"{took_s:.1f}"
            result.require(done >= count or broken, f"{kind}: only {done} of {count} kills")
            result.require(writing > 0, f"{kind}: no kill came while it wrote")
            result.difference.wrong += len(broken)
            result.findings += [f"{kind}: {line[:300]}" for line in broken]
    counts = (killed.kills, killed.again, killed.writing, killed.too_late)
    result.add(kind, *counts, seconds, len(result.findings) - before)


def kills(folder: Path, seed: int, quick: bool) -> Result:
    """The part of the campaign."""
    result = Result("kills")
    columns = ("kills", "of them again", "had written", "over before", "seconds undisturbed", "findings")
    result.head("killed", *columns)
    for kind, count in MOMENTS.items():
        kill_part(kind, max(count // 10, 1) if quick else count, folder / kind.split()[0], seed, result)
    return result
