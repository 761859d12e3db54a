"""Rules that real logs show, and what they explain: `python -m studies identified`.

The product alone looks for the rules of each log, in its first half. No number is set by hand. The second half is compared with replays
without and with these rules. Where bounds change, those of a month come from the months before; a second replay also has the months after.
The letters of the second half are those of the product, by figure and part. UB's micro cluster is a real run of Slurm whose rules are
declared, and which our Slurm replays.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assets.replaying.limits.identified import logged_jobs, rules_of_trace
from models.identification.identify import Identification
from models.identification.logged_jobs import StartedJobs
from models.judging.fidelity import GRADES, WAIT_FIGURES, Agreement, agreement_of
from models.runtime.scores import USER_CLASSES, user_classes
from papers.markdown import markdown
from simulator.cluster.requests import Request
from simulator.metrics.metrics import SIZE_CLASSES, size_classes
from simulator.slurm.replaying import Phases
from studies.judging.limited import RULED_LOGS, SHARED, RuledLog, trace_of
from studies.slurm.micro_cluster import micro_groups, micro_requests, replay_micro

SEARCHED_LOGS = (*RULED_LOGS, RuledLog("CTC-SP2", "swf/CTC-SP2-1996-3.1-cln.swf.gz", 338, ""))
LETTERS_HEADING = ("log", "part", "jobs", "rank", "mean / log", *WAIT_FIGURES)
RULES_HEADING = ("log", "replay", "rank", "mean / log", "p95 / log", "grade")


def rows_of_rules(name: str, identification: Identification) -> Iterator[list[str]]:
    """The rows of a log: its replays."""
    yield [name, "no rules", *_agreement_cells(identification.before)]
    if identification.rules:
        yield [name, "rules", *_agreement_cells(identification.after)]
    if identification.beside is not None:
        yield [name, "rules, also from the months after", *_agreement_cells(identification.beside)]


def letter_rows(name: str, log: StartedJobs, waits: NDArray[np.int64], procs: int) -> Iterator[list[str]]:
    """A row for each part of the second half in which enough jobs waited: its letters by figure. waits: of a replay, int64 (jobs,)."""
    later = np.arange(len(waits)) >= len(waits) // 2
    parts = [("all", later)]
    sizes = size_classes(log.jobs.procs, procs)
    parts += [(f"size {name}", later & (sizes == k)) for k, name in enumerate(SIZE_CLASSES)]
    if "user" in log.holders:
        classes = user_classes(log.holders["user"].number)
        parts += [(f"users with {name}", later & (classes == k)) for k, name in enumerate(USER_CLASSES)]
    if "queue" in log.holders:
        queues = log.holders["queue"]
        parts += [(f"queue {name}", later & (queues.number == k)) for k, name in enumerate(queues.names)]
    yield from rows_of_parts(name, parts, log.wait, waits, log.jobs.runtime)


def rows_of_parts(
    name: str,
    parts: list[tuple[str, NDArray[np.bool_]]],
    logged: NDArray[np.int64],
    replayed: NDArray[np.int64],
    runtime: NDArray[np.int64],
) -> Iterator[list[str]]:
    """Letters of parts of a log, each with the jobs that are in it."""
    for part, inside in parts:
        agreement = agreement_of(logged[inside], replayed[inside], runtime[inside]) if inside.any() else None
        if agreement is None or agreement.grades is None:
            continue
        rank = agreement.rank_correlation
        figures = [f"{agreement.jobs:,}", "" if rank is None else f"{rank:.2f}", f"{agreement.wait_ratio:.2f}"]
        yield [name, part, *figures, *(agreement.grades[figure] for figure in WAIT_FIGURES)]


def micro_rows(folder: Path) -> Iterator[list[str]]:
    """The same of all jobs of UB's micro cluster, by user and by kind of node."""
    replayed, logged = replay_micro(folder, Phases.drawn(0))
    ran = [end - start for _, (start, end) in sorted(zip(*micro_requests(folder), strict=True), key=_submission)]
    parts = [("all", np.ones(len(logged), dtype=np.bool_))]
    for of, names in micro_groups(folder).items():
        parts += [(f"{of} {name}", np.array(names) == name) for name in sorted(set(names))]
    yield from rows_of_parts("UB micro", parts, logged, replayed, np.array(ran, dtype=np.int64))


def _submission(pair: tuple[Request, tuple[int, int]]) -> int:
    return pair[0].submit_s


def best_rows(rows: list[list[str]]) -> Iterator[list[str]]:
    """A row for each log: the best letter of all its parts by figure, and the parts with an A or a B."""
    for name in dict.fromkeys(row[0] for row in rows):
        best, having = [], []
        for place, figure in enumerate(WAIT_FIGURES, len(LETTERS_HEADING) - len(WAIT_FIGURES)):
            own = {row[1]: row[place] for row in rows if row[0] == name}
            best.append(min(own.values(), key=GRADES.index))
            good = [part for part, letter in own.items() if letter in GRADES[:2]]
            having += [f"{figure}: {', '.join(good)}"] if good else []
        yield [name, *best, "; ".join(having)]


def _agreement_cells(agreement: Agreement) -> list[str]:
    rank = agreement.rank_correlation
    return [
        "" if rank is None else f"{rank:.2f}",
        f"{agreement.replayed_wait_s / agreement.logged_wait_s:.2f}",
        f"{agreement.replayed_p95_wait_s / agreement.logged_p95_wait_s:.2f}",
        agreement.grade or "none",
    ]


def main() -> None:
    """Prints the tables."""
    lines, sentences, costs, letters = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for log in SEARCHED_LOGS:
            trace = trace_of(log, Path(folder))
            begin = time.process_time()
            identification = rules_of_trace(trace, None, None, 400)
            spent = time.process_time() - begin
            lines += rows_of_rules(log.name, identification)
            shown, procs = logged_jobs(trace), identification.procs
            waits = identification.cluster.waits(shown)
            assert waits is not None  # identify_rules has replayed it
            letters += letter_rows(log.name, shown, waits, procs)
            sentences += [[log.name, rule.sentence] for rule in identification.rules] or [[log.name, "nothing"]]
            rejected = len(identification.rejected)
            jobs = f"{trace.rows.height:,}"
            costs.append([log.name, jobs, str(identification.replays), str(rejected), f"{spent:.0f}"])
    print(markdown(["log", "rule"], sentences))
    print("\nexplained\n")
    print(markdown(list(RULES_HEADING), lines))
    micro = SHARED.parent / "clusters" / "ub-micro"
    letters += micro_rows(micro) if micro.exists() else ()
    print("\nbest letters\n")
    print(markdown(["log", *WAIT_FIGURES, "parts with A or B"], best_rows(letters)))
    print("\nletters\n")
    print(markdown(list(LETTERS_HEADING), letters))
    print("\ncost\n")
    print(markdown(["log", "jobs", "replays", "rejected candidates", "CPU seconds"], costs))


if __name__ == "__main__":
    main()
