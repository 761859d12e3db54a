"""Keys that are searched under guards on one part of a log, judged on the later part: `python -m studies guarded_keys`.

For each of six logs, `policies/priority_key`'s search chooses a key by jobs 10 to 50 %. The second half of the jobs judges it beside
FCFS with EASY. Then every log is judged by the key of which the other logs together say that it is best (leave one log out).
Ranges, margins and caps are those of models/scheduling/search/priority_key.py; the searches have the default number of keys and seed 1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from models.judging.judge import Judgement, beside_cloud, corrected_for_many, judge
from models.judging.panel import Replayed
from models.judging.verdict import DOMINATES
from models.scheduling.arena import Arena
from models.scheduling.goals import parse_goal
from models.scheduling.options import KeySearchOptions
from models.scheduling.search.priority_key import (
    KeySearch,
    PriorityKey,
    guarded_values,
    key_at,
    search_guarded_key,
    searched_jobs,
)
from papers.archive import LOGS, SHARED, jobs_of_file
from studies.judging.verdicts import COLUMNS, ratio_and_spread, shown

KeyValue = Callable[[PriorityKey], float]

CHOSEN = 8
"""Of each log's search the best so many different keys are candidates for the logs that are left out."""


def main() -> None:
    arenas = {
        name: Arena(jobs_of_file(SHARED / file), procs, parse_goal("bsld"), threads=1)
        for name, (file, procs) in LOGS.items()
    }
    for title, options in (("with caps", KeySearchOptions()), ("without caps", KeySearchOptions(caps=False))):
        print(f"\nchosen on each log, {title}\n\n{heading()}")
        candidates: dict[str, list[PriorityKey]] = {}
        for name, arena in arenas.items():
            middle = len(arena.jobs) // 2
            search = search_guarded_key(arena, searched_jobs(middle), options, 1)
            candidates[name] = best_keys(search, CHOSEN)
        print_judged({name: (best[0], judged(arenas[name], best[0])) for name, best in candidates.items()})
        print(f"\nchosen on the other logs, {title}\n\n{heading()}")
        values = {name: value_of_keys(arena) for name, arena in arenas.items()}
        keys = {name: chosen_elsewhere(name, values, candidates) for name in arenas}
        print_judged({name: (key, judged(arenas[name], key)) for name, key in keys.items()})


def best_keys(search: KeySearch, count: int) -> list[PriorityKey]:
    """The keys of the least values, the best first."""
    return [key_at(search.tried[k, :-1]) for k in np.argsort(search.tried[:, -1], kind="stable")[:count]]


def print_judged(rows: dict[str, tuple[PriorityKey, Judgement]]) -> None:
    """The lines of one table, corrected for how many they are."""
    corrected = corrected_for_many([judgement for _, judgement in rows.values()])
    for (name, (key, _)), judgement in zip(rows.items(), corrected, strict=True):
        print(line(name, key, judgement), flush=True)


def chosen_elsewhere(name: str, values: dict[str, KeyValue], candidates: dict[str, list[PriorityKey]]) -> PriorityKey:
    """The candidate of the other logs whose value is least on them together. values: by log, what its search makes small."""
    others = [other for other in values if other != name]
    keys = [key for other in others for key in candidates[other]]
    return min(keys, key=lambda key: sum(values[other](key) for other in others))


def value_of_keys(arena: Arena) -> KeyValue:
    """What the search makes small, on the jobs that it saw; every key is replayed once."""
    return cache(guarded_values(arena, searched_jobs(len(arena.jobs) // 2)))


def judged(arena: Arena, key: PriorityKey) -> Judgement:
    """The key beside FCFS with EASY over the second half of the jobs."""
    return _beside_fcfs(arena, arena.replayed(key.policy, _second_half(arena)))


def _second_half(arena: Arena) -> range:
    return range(len(arena.jobs) // 2, len(arena.jobs))


def _beside_fcfs(arena: Arena, ours: Replayed) -> Judgement:
    """Also beside random orders."""
    incumbent = arena.replayed("FCFS", _second_half(arena))
    judgement = judge([ours], [incumbent])
    return beside_cloud(judgement, arena.chance_cloud(incumbent)) if judgement.verdict.word == DOMINATES else judgement


def heading() -> str:
    """The first two lines of a table."""
    titles = ["log", "key", *COLUMNS.values(), "verdict", "typical block: bounded slowdown", "and mean wait"]
    return f"| {' | '.join(titles)} |\n{'| --- ' * len(titles)}|"


def line(name: str, key: PriorityKey, judgement: Judgement) -> str:
    """One line of a table."""
    verdict = judgement.verdict
    cells = [
        name,
        f"`{key.formula}`",
        *(ratio_and_spread(verdict.ratios, column) for column in COLUMNS),
        str(verdict),
    ]
    return f"| {' | '.join([*cells, shown(judgement.bounded_slowdown), shown(judgement.wait)])} |"
