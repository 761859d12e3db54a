"""Policies searched over programs on the first halves of three logs: `python -m studies search_policies --kept FILE`.

Prints for every point of the frontier the program that is chosen, the best others, and what they do on the halves that chose them. No
job of a second half is read by the search. FILE keeps every replay, so that a search that was stopped goes on, and a finished one is
repeated in seconds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from papers.markdown import markdown
from studies.judging.searched_logs import LEARNED_FROM, learning_rungs
from studies.searching.evolution import Kept, Search, SearchOptions
from studies.searching.learning_logs import ProgramOutcome
from studies.searching.programs import POWER, STATIC, Program

LIMITS = {"cautious": 1.05, "balanced": 1.10, "fast": 1.25}
STARTS = (
    Program(("*", (POWER, ("request",), 0.98), (POWER, ("scaled_width",), -0.27)), 37_400.0, 43_200.0),
    Program(("*", ("request",), (POWER, ("scaled_width",), 0.5)), 14_400.0, 43_200.0),
    Program(("/", ("request",), (POWER, ("width",), 0.33)), 14_400.0, 172_800.0),
)
"""The formula with which the search began, one like the bounded key, and one that prefers wide jobs as WFP3 does."""
SHOWN = 2


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies search_policies")
    parser.add_argument("--kept", type=Path, help="file that keeps every replay of the search")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--generations", type=int, default=SearchOptions().generations)
    parser.add_argument("--attributes", default=",".join(STATIC), help="what programs read")
    options = parser.parse_args()
    rungs = learning_rungs()
    logs = [log for rung in rungs for log in rung]
    kept = Kept(logs, options.kept)
    asked = SearchOptions(generations=options.generations, attributes=tuple(options.attributes.split(",")))
    search = Search(rungs, LIMITS, asked, kept, LEARNED_FROM)
    best = search.run(options.seed, STARTS, lambda line: print(line, flush=True))
    for name, programs in best.items():
        chosen = search.chosen(programs, LIMITS[name])
        print(f"\n{name}\n\n{learned_table(search, [chosen, *programs[:SHOWN]], LIMITS[name])}")
    print(f"\n{kept.replays:,} replays, {kept.seconds:,.0f} CPU-seconds")


def learned_table(search: Search, programs: list[Program], limit: float) -> str:
    """What programs do on the logs that chose them, one line for each program and log, without the copies."""
    lines = []
    for program in programs:
        value = search.value(program, limit, len(search.rungs))
        for log in (log for rung in search.rungs[:2] for log in rung):
            ratios = search.kept.outcome(program, log)
            lines.append([f"`{program.formula}`", f"{value:.3f}", log.name, *(f"{ratio:.2f}" for ratio in ratios)])
    return markdown(["program", "value", "log", *ProgramOutcome._fields], lines)
