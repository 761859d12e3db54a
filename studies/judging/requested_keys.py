"""What the bounded key is worth where a scheduler has requested times only: `python -m studies requested_keys`.

`submit + min(factor*request*sqrt(procs), 12 h)` with four factors, on four logs, beside FCFS with EASY. Jobs from 10 to 50 % of a log
are the earlier ones, and the second half are the later ones. Each log's factor is chosen by the earlier jobs of the other three, as
`policies/priority_key` chooses keys. So no later job, and no job of the log itself, chooses what it judges.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from models.judging.judge import Judgement, beside_cloud, corrected_for_many, judge
from models.judging.verdict import DOMINATES, ratios_of
from models.scheduling.arena import Arena
from models.scheduling.goals import parse_goal
from models.scheduling.search.priority_key import guarded_value, searched_jobs
from papers.archive import ARCHIVE_LOGS, SHARED, jobs_of_file
from simulator.jobs.jobs import Jobs
from studies.judging.verdicts import COLUMNS, ratio_and_spread, shown

FACTORS = (10.0, 5.0, 2.0, 1.0)
"""10 is the factor of the bounded key with live estimates."""
CAP_S = 12 * 3600


def main() -> None:
    arenas = {
        name: Arena(jobs_of_file(SHARED / file), procs, parse_goal("bsld"), threads=1)
        for name, (file, procs) in ARCHIVE_LOGS.items()
    }
    values = {name: values_of_factors(arena) for name, arena in arenas.items()}
    for title, part in (("jobs from 10 to 50 %", earlier_jobs), ("the second half", later_jobs)):
        print(f"\n{title}\n\n{heading()}")
        rows = [(name, factor) for name in arenas for factor in FACTORS]
        judgements = corrected_for_many([judged(arenas[name], factor, part(arenas[name])) for name, factor in rows])
        for row, judgement in zip(rows, judgements, strict=True):
            print(line(*row, judgement), flush=True)
    titles = ["log", "factor that the other logs' earlier jobs choose", "request over run time, median"]
    titles += [f"jobs at the cap, factor {factor:g}" for factor in FACTORS]
    print(f"\nchosen by the other logs\n\n| {' | '.join(titles)} |\n{'| --- ' * len(titles)}|")
    for name, arena in arenas.items():
        asked = float(np.median(arena.jobs.estimate / arena.jobs.runtime))
        shares = (f"{capped_share(arena.jobs, factor):.0%}" for factor in FACTORS)
        print(f"| {name} | {factor_of_others(name, values):g} | {asked:.1f} | {' | '.join(shares)} |")
    print(f"| all four together | {factor_of_others('', values):g} | | {' | ' * (len(FACTORS) - 1)}|")


def earlier_jobs(arena: Arena) -> range:
    """Those that choose: from 10 to 50 %."""
    return searched_jobs(len(arena.jobs) // 2)


def later_jobs(arena: Arena) -> range:
    """Those that judge: the second half."""
    return range(len(arena.jobs) // 2, len(arena.jobs))


def judged(arena: Arena, factor: float, scored: range) -> Judgement:
    """The key beside FCFS with EASY, and beside random orders, over the scored jobs."""
    incumbent = arena.replayed("FCFS", scored)
    judgement = judge([arena.replayed(policy_of(factor), scored)], [incumbent])
    return beside_cloud(judgement, arena.chance_cloud(incumbent)) if judgement.verdict.word == DOMINATES else judgement


def policy_of(factor: float) -> str:
    """As `tracehouse replay --policy` takes it."""
    return f"bounded-key:factor={factor:g}"


def values_of_factors(arena: Arena) -> dict[float, float]:
    """What the search under guards makes small, on the earlier jobs."""
    scored = earlier_jobs(arena)
    fcfs = arena.replayed("FCFS", scored).panel()
    return {
        factor: guarded_value(ratios_of(arena.replayed(policy_of(factor), scored).panel(), fcfs)) for factor in FACTORS
    }


def factor_of_others(name: str, values: Mapping[str, Mapping[float, float]]) -> float:
    """The factor whose value is least on all logs but this one together."""
    sums = {factor: sum(of_log[factor] for log, of_log in values.items() if log != name) for factor in FACTORS}
    return min(FACTORS, key=lambda factor: sums[factor])


def capped_share(jobs: Jobs, factor: float) -> float:
    """The share of jobs that ask for so much that they have their place 12 hours after their submission."""
    return float((factor * jobs.estimate * np.sqrt(jobs.procs) >= CAP_S).mean())


def heading() -> str:
    """The first two lines of a table."""
    titles = ["log", "factor", *COLUMNS.values(), "verdict", "typical block: bounded slowdown", "and mean wait"]
    return f"| {' | '.join(titles)} |\n{'| --- ' * len(titles)}|"


def line(name: str, factor: float, judgement: Judgement) -> str:
    """One line of a table."""
    verdict = judgement.verdict
    cells = [name, f"{factor:g}", *(ratio_and_spread(verdict.ratios, column) for column in COLUMNS), str(verdict)]
    return f"| {' | '.join([*cells, shown(judgement.bounded_slowdown), shown(judgement.wait)])} |"
