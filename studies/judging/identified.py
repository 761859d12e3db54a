"""Rules that real logs show, and what they explain: `python -m studies identified`.

The product alone looks for the rules of each log, in its first half. No number is set by hand. The second half is compared with replays
without and with these rules. Where bounds change, those of a month come from the months before; a second replay also has the months after.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from assets.replay.limits.identified import rules_of_trace
from models.identification.identify import Identification
from models.judging.fidelity import Agreement
from papers.markdown import markdown
from studies.judging.limited import RULED_LOGS, RuledLog, trace_of

HOUR_S = 3600
LOGS = (*RULED_LOGS, RuledLog("CTC-SP2", "swf/CTC-SP2-1996-3.1-cln.swf.gz", 338, ""))
HEADING = ("log", "replay", "rank", "mean wait, h", "mean / log", "p95, h", "p95 / log", "grade")


def rows_of_rules(name: str, identification: Identification) -> Iterator[list[str]]:
    """The rows of a log: what users waited, and the replays."""
    logged = identification.before
    yield [name, "*the log*", "", _hours(logged.logged_wait_s), "", _hours(logged.logged_p95_wait_s), "", ""]
    yield [name, "no rules", *_agreement_cells(identification.before)]
    if identification.rules:
        yield [name, "rules", *_agreement_cells(identification.after)]
    if identification.beside is not None:
        yield [name, "rules, also from the months after", *_agreement_cells(identification.beside)]


def _agreement_cells(agreement: Agreement) -> list[str]:
    rank = agreement.rank_correlation
    return [
        "" if rank is None else f"{rank:.2f}",
        _hours(agreement.replayed_wait_s),
        f"{agreement.replayed_wait_s / agreement.logged_wait_s:.2f}",
        _hours(agreement.replayed_p95_wait_s),
        f"{agreement.replayed_p95_wait_s / agreement.logged_p95_wait_s:.2f}",
        agreement.grade or "none",
    ]


def _hours(seconds: float) -> str:
    return f"{seconds / HOUR_S:.1f}"


def main() -> None:
    """Prints the tables."""
    lines, sentences, costs = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for log in LOGS:
            trace = trace_of(log, Path(folder))
            begin = time.process_time()
            identification = rules_of_trace(trace, None, None, 400)
            spent = time.process_time() - begin
            lines += rows_of_rules(log.name, identification)
            sentences += [[log.name, rule.sentence] for rule in identification.rules] or [[log.name, "nothing"]]
            rejected = len(identification.rejected)
            jobs = f"{trace.rows.height:,}"
            costs.append([log.name, jobs, str(identification.replays), str(rejected), f"{spent:.0f}"])
    print(markdown(["log", "rule"], sentences))
    print("\nexplained\n")
    print(markdown(list(HEADING), lines))
    print("\ncost\n")
    print(markdown(["log", "jobs", "replays", "rejected candidates", "CPU seconds"], costs))


if __name__ == "__main__":
    main()
