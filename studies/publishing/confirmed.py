"""How many trained policies were confirmed on whole logs, by the tables in docs/results.json: `python -m studies confirmed`.

A training that is not confirmed keeps its rule, so its row equals that of the rule. The last columns are the rule to adopt instead: the
key that was searched on the other logs (`guarded_keys`), as ratios against FCFS with EASY in the typical block.
"""

from __future__ import annotations

import re

from papers.markdown import markdown
from studies.publishing.results import PublishedTable, stored

LOGS = ("KTH-SP2", "CTC-SP2", "SDSC-SP2", "HPC2N", "Lublin-1", "Lublin-2")
KINDS = {
    "order the queue": ("held_out", ""),
    "keep the head": ("backfilling", "window=64-63"),
    "may delay the head": ("backfilling", "must=1"),
    "see 10 first, 10 last": ("backfilling", "window=10-10"),
    "see 20 first": ("backfilling", "window=20-0"),
    "inspect": ("inspector", ""),
}
"""What a policy does -> its table, and what the names of these policies hold."""
SEARCHED = "guarded_keys, chosen on the other logs, with caps"
METHODS = re.compile(r"(?:ppo|evolution|imitation), ")
SEED = re.compile(r", seed ([\d and]+)$")
SEEDS = 3
"""Of a row that names none: experiments/held_out puts seeds with the same schedule into one row."""


def main() -> None:
    """Prints the table."""
    tables = stored()
    print(confirmed_table(tables))


def confirmed_table(tables: dict[str, PublishedTable]) -> str:
    """A row for each log and one for all."""
    counts = {
        log: [counted_trainings(tables[f"{table}, {log.lower()}"], part) for table, part in KINDS.values()]
        for log in LOGS
    }
    keys = {row[0]: row for row in cells_of(tables[SEARCHED])}
    lines = [[log, *map(_in_words, of), *keys[log][-2:]] for log, of in counts.items()]
    of_all = [[sum(numbers) for numbers in zip(*of, strict=True)] for of in zip(*counts.values(), strict=True)]
    lines.append(["all", *map(_in_words, of_all), "", ""])
    titles = [*KINDS, "searched key: bounded slowdown", "mean wait"]
    return markdown(["log", *titles], lines)


def counted_trainings(table: PublishedTable, part: str) -> tuple[int, int]:
    """How many trainings have another row than their rule, and how many there are. part: of the names that count, all if empty."""
    rows = {row[0].replace("`", ""): tuple(row[1:]) for row in cells_of(table)}
    confirmed = trainings = 0
    for name, figures in rows.items():
        if METHODS.match(name) and part in name:
            rule = SEED.sub("", METHODS.sub("", name))
            start = rows[rule] if rule in rows else rows[f"SAF, {rule}"]
            seeds = len(SEED.search(name)[1].split(" and ")) if SEED.search(name) else SEEDS  # type: ignore[index]
            trainings += seeds
            confirmed += seeds * (figures != start)
    return confirmed, trainings


def cells_of(table: PublishedTable) -> list[list[str]]:
    """The cells of its rows, without the heading."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.lines[2:]]


def _in_words(counts: tuple[int, int] | list[int]) -> str:
    return f"{counts[0]}/{counts[1]}"


if __name__ == "__main__":
    main()
