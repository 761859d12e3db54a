"""Uses of live predictions that other logs choose under guards, beside their rivals: `python -m studies uses`.

The jobs from 10 to 50 % of the other three logs choose, by whole replays: first what dominates FCFS with EASY on all three, then the
least value that the search for a log by itself makes small. The second half of the log judges, inside one replay of the whole log.
"""

from __future__ import annotations

import tracehouse
from assets.common.trace import JOB_COLUMNS, Trace
from assets.policies.verdicts import LIVE_SHIFTS
from models.judging.judge import Judgement, corrected_for_many
from papers.archive import ARCHIVE_LOGS, SHARED
from papers.markdown import markdown
from studies.judging.verdicts import heading, line
from studies.predicting import search
from studies.predicting.search import ChoosingPart, Configuration, HeldOutPart, SearchLog, TriedUse

FAMILIES = {
    "FCFS order, predictions": search.backfilling_configurations,
    "any order, predictions": search.ordering_configurations,
}
"""What is chosen from: live predictions that only backfill, and those that order the queue, too."""


def main() -> None:
    logs = {name: search_log(file, procs) for name, (file, procs) in ARCHIVE_LOGS.items()}
    tried = {name: {family: tried_on(log, make()) for family, make in FAMILIES.items()} for name, log in logs.items()}
    lines = []
    for name, log in logs.items():
        chosen = {family: chosen_elsewhere(name, family, tried) for family in FAMILIES}
        print(f"\n{name}\n\n{heading()}")
        for label, judgement in judged(log, chosen).items():
            print(line(label, judgement), flush=True)
        print()
        for family, configuration in chosen.items():
            uses = {other: of_log[family] for other, of_log in tried.items() if other != name}
            count = sum(
                use.configuration == configuration and use.dominates for of_log in uses.values() for use in of_log
            )
            print(f"{family}: {configuration}, which dominates on the choosing jobs of {count} of {len(uses)} logs")
        lines.append([name, *(f"`{configuration}`" for configuration in chosen.values())])
    print(f"\nchosen for each log by the others\n\n{markdown(['log', *FAMILIES], lines)}")


def search_log(file: str, procs: int) -> SearchLog:
    """A log as uses of predictions are tried on it."""
    trace: Trace = tracehouse.load_log(SHARED / file, procs=procs).trace()
    submit, runtime, width, requested = (trace.rows[name].to_numpy() for name in JOB_COLUMNS)
    return SearchLog(submit, runtime, width, requested, trace.rows, trace.cluster_procs)


def tried_on(log: SearchLog, configurations: list[Configuration]) -> list[TriedUse]:
    """All of them on the first half of a log."""
    choosing = ChoosingPart.of(log.part(slice(0, len(log.submit) // 2)))
    return [choosing.tried(each) for each in configurations]


def chosen_elsewhere(name: str, family: str, tried: dict[str, dict[str, list[TriedUse]]]) -> Configuration:
    """What the other logs choose together. tried: by log and family, in one order."""
    others = [of_log[family] for other, of_log in tried.items() if other != name]
    together = list(zip(*others, strict=True))
    best = min(together, key=lambda uses: (not all(use.dominates for use in uses), sum(use.value for use in uses)))
    return best[0].configuration


def judged(log: SearchLog, chosen: dict[str, Configuration]) -> dict[str, Judgement]:
    """The choices and their rivals on the second half of a log, corrected for how many they are."""
    part = HeldOutPart(log, len(log.submit) // 2, LIVE_SHIFTS)
    rivals = {label: rival for label, rival in search.PREDICTION_RIVALS.items() if label != "EASY"}
    judgements = [part.judged(each)[1] for each in (rivals | chosen).values()]
    cloud = search.cloud_beside_easy(log, len(log.submit) // 2)
    return dict(zip(rivals | chosen, corrected_for_many(judgements, cloud), strict=True))
