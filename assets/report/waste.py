"""Who waited, and who wasted, by account and user: a part of what happened."""

from __future__ import annotations

from typing import Any

from assets.operations.waits_and_waste import UNUSED, WaitsAndWaste, part_of_whole
from assets.report.logged import LoggedSystem
from assets.report.page import Block, Heading, Table, unique_labels
from assets.report.words import HOUR_S, amount, duration_text, named, sentence_list, share

MOST_GROUPS = 8
"""Users and accounts with a row of their own."""
UNUSED_WORDS = {
    "unused_core_hours": "of the core-hours that were requested, {share} were after the end of the job",
    "idle_core_hours": "of the core-hours whose CPU time the log has, {share} did not use the CPU",
    "unused_memory_gib_hours": "of the memory that was requested, {share} was not used",
}
UNUSED_COLUMNS = {
    "unused_core_hours": "unused time, core-hours",
    "idle_core_hours": "idle core-hours",
    "unused_memory_gib_hours": "unused memory, GiB hours",
}


def waste_blocks(logged: LoggedSystem) -> list[Block]:
    """Two tables for accounts, and two for users, where the log tells several of them."""
    groups = logged.groups
    tables = [
        table
        for kind in ("account", "user")
        if groups.are_named(kind) and groups.groups(kind).height > 1
        for table in (_waited(kind, groups), _wasted(kind, groups))
        if table is not None
    ]
    return [Heading("Who waited, and who wasted"), *_words(groups), *tables] if tables else []


def _words(groups: WaitsAndWaste) -> list[Block]:
    whole = groups.whole
    parts = {name: part_of_whole(whole[name], whole[of]) for name, of in UNUSED.items()}
    words = [UNUSED_WORDS[name].format(share=share(part)) for name, part in parts.items() if part is not None]
    lost = part_of_whole(whole["lost_core_hours"], whole["core_hours"])
    sentences = []
    if lost is not None:
        sentences.append(
            f"{share(lost)} of the core-hours went to jobs that did not complete, or to attempts that ended in a requeue."
        )
    if words:
        text = sentence_list(words)
        sentences.append(f"{text[0].upper()}{text[1:]}.")
    return [" ".join(sentences)] if sentences else []


def _waited(kind: str, groups: WaitsAndWaste) -> Table | None:
    whole = groups.whole
    if not whole["waited_h"]:
        return None
    rows = [
        [
            named(row["value"]),
            f"{row['known_waits']:,}",
            *(_duration(row[name]) for name in ("mean_wait_h", "p95_wait_h", "max_wait_h")),
            share(row["waited_h"] / whole["waited_h"]),
        ]
        for row in groups.groups(kind, "waited_h").head(MOST_GROUPS).to_dicts()
    ]
    columns = (kind, "jobs", "mean wait", "95th percentile", "longest wait", "of all waiting")
    return Table(f"Waits by {kind}, most waiting first{_more(kind, groups)}", columns, unique_labels(rows))


def _wasted(kind: str, groups: WaitsAndWaste) -> Table | None:
    lost, unused = bool(groups.losses()), groups.unused()
    if not lost and not unused:
        return None
    order = "lost_core_hours" if lost else next(iter(unused))
    rows = [
        [
            named(row["value"]),
            amount(row["core_hours"]),
            *([_part(row, "lost_core_hours", "core_hours")] if lost else []),
            *(_part(row, name, of) for name, of in unused.items()),
        ]
        for row in groups.groups(kind, order).head(MOST_GROUPS).to_dicts()
    ]
    columns = (kind, "core-hours", *(["lost"] if lost else []), *(UNUSED_COLUMNS[name] for name in unused))
    what = "Core-hours lost, and what was not used," if lost else "What was requested and not used,"
    return Table(f"{what} by {kind}, most first{_more(kind, groups)}", columns, unique_labels(rows))


def _part(row: dict[str, Any], name: str, of: str) -> str:
    """How much, and its share of what the group had."""
    part = part_of_whole(row[name], row[of])
    return "not in the log" if part is None else f"{amount(row[name])} ({share(part)})"


def _more(kind: str, groups: WaitsAndWaste) -> str:
    count = groups.groups(kind).height
    return f" ({MOST_GROUPS} of {count:,})" if count > MOST_GROUPS else ""


def _duration(hours: float | None) -> str:
    return "not in the log" if hours is None else duration_text(hours * HOUR_S)
