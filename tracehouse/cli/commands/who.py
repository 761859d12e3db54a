"""`tracehouse who`: who waited, and who wasted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from assets.common.progress import say_if_slow
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import json_option, print_json
from tracehouse.cli.parameters.sources import source_argument
from tracehouse.text.answers import nodes_values, waste_values, who_values
from tracehouse.text.habits_text import habits_text, habits_values
from tracehouse.text.tables import TableColumn, fitted_table, folded, terminal_width

if TYPE_CHECKING:
    import polars as pl

    from assets.replaying.own.over_asking import OverAsking
    from assets.usage.node_use import NodeUse
    from assets.usage.waits_and_waste import WaitsAndWaste

GROUPINGS = ("user", "account", "queue", "gpu")
COLUMNS_OF_WAITERS = (
    TableColumn("jobs"),
    TableColumn("mean wait, h"),
    TableColumn("median, h", last=2),
    TableColumn("95th percentile, h", last=1),
    TableColumn("longest, h", last=3),
    TableColumn("of all waiting"),
)
COLUMNS_OF_STATES = (
    TableColumn("resource", right=False),
    TableColumn("state", right=False),
    TableColumn("mean"),
    TableColumn("of all"),
)
COLUMNS_OF_HOLDERS = (
    TableColumn("jobs"),
    TableColumn("node-hours", last=1),
    TableColumn("core-hours"),
    TableColumn("GPU-hours"),
    TableColumn("lost GPU-hours", last=2),
    TableColumn("memory, GiB hours"),
)
TITLES_OF_UNUSED = {
    "unused_core_hours": ("unused time, core-hours", "of the core-hours requested"),
    "idle_core_hours": ("idle, core-hours", "of the core-hours held"),
    "unused_memory_gib_hours": ("unused memory, GiB hours", "of the memory requested"),
}

TITLES_OF_WASTE = {
    "time_core_hours": "time, core-hours",
    "time_gpu_hours": "time, GPU-hours",
    "idle_core_hours": "idle cores, core-hours",
    "memory_gib_hours": "memory, GiB hours",
}
TITLES_OF_MISSING = {"time": "requested time", "cpu": "CPU time", "memory": "used and requested memory"}
COLUMNS_OF_REQUESTS = (
    TableColumn("jobs", last=1),
    TableColumn("as asked, h"),
    TableColumn("20 % better, h"),
    TableColumn("right, h"),
)
COLUMNS_OF_COSTS = (TableColumn("hours"), TableColumn("least of the replays"), TableColumn("most"))


@click.command()
@source_argument()
@click.option(
    "--by",
    type=click.Choice(GROUPINGS),
    multiple=True,
    help="Group by this, may be repeated.  [default: user, account]",
)
@click.option("--period", help="Only jobs submitted then: last-month, 2026-03, last-30-days, 2026-03-01..2026-03-15.")
@click.option(
    "--top", type=click.IntRange(min=1), default=5, show_default=True, help="Groups of a kind that are shown."
)
@click.option("--csv", "as_csv", is_flag=True, help="Write all figures of all groups as CSV.")
@click.option(
    "--nodes", "of_nodes", is_flag=True, help="Who held nodes, GPUs and memory, and what stood idle or stranded."
)
@click.option(
    "--waste", "of_waste", is_flag=True, help="What was asked for and not used, and what that costs the others."
)
@click.option(
    "--habits",
    "of_habits",
    is_flag=True,
    help="Who submits jobs after own ones have ended, how soon and at which hours, and who cancels jobs that wait.",
)
@json_option
@plain_errors
def who(
    source: str,
    by: tuple[str, ...],
    period: str | None,
    top: int,
    as_csv: bool,
    of_nodes: bool,
    of_waste: bool,
    of_habits: bool,
    as_json: bool,
) -> None:
    """Who waited, and who wasted: by user, account or queue, or by the GPUs that jobs had.

    Each kind of group has three tables. The first has the waits of the log, the second the core-hours lost by jobs that did not
    complete. The third has what was requested and not used. That is time after a job's end, processors held without using their CPU,
    and memory above what was used. Unused time is not lost, because other jobs could run then, but it makes waits harder to plan.

    \b
    Examples:
      tracehouse who birch
      tracehouse who birch --by account --period last-month
      tracehouse who birch --csv > who.csv
      tracehouse who mycluster --nodes
      tracehouse who mycluster --waste --by account
      tracehouse who birch --habits
    """
    from assets.common.storage import open_warehouse
    from assets.usage.waits_and_waste import waits_and_waste
    from traces.catalogue.catalogue import load_catalogue

    source = load_catalogue().source(source).name
    asked = {"--nodes": of_nodes, "--waste": of_waste, "--habits": of_habits}
    printed = {"--nodes": _print_of_nodes, "--waste": _print_waste, "--habits": _print_habits}
    for option in (option for option, is_asked in asked.items() if is_asked):
        _refuse_beside(option, by, period is not None or as_csv or sum(asked.values()) > 1)
        printed[option](source, by, top, as_json)
        return
    result = waits_and_waste(open_warehouse(), source, period)
    if as_json:
        print_json(who_values(source, result, by or GROUPINGS))
        return
    if as_csv:
        kinds = ("all", *(by or GROUPINGS))
        click.echo(result.rows.filter(result.rows["kind"].is_in(kinds)).write_csv(), nl=False)
        return
    click.echo(who_text(source, result, by, top, terminal_width()))


def _refuse_beside(option: str, by: tuple[str, ...], has_others: bool) -> None:
    """Ends the command where an option of the whole log has others beside it, or groups that it does not know."""
    if has_others:
        raise click.UsageError(
            f"{option} is of the whole log, and prints tables or JSON: leave --period, --csv and others out"
        )
    if option == "--habits" and set(by) - {"user"}:
        raise click.UsageError("--habits is by user: accounts and queues submit no jobs")
    if option == "--waste" and "queue" in by:
        raise click.UsageError("--waste is by user and account: nobody owns a queue")
    if "gpu" in by:
        raise click.UsageError(f"{option} is by user{' and account' if option == '--waste' else ', account and queue'}")


def _print_of_nodes(source: str, by: tuple[str, ...], top: int, as_json: bool) -> None:
    from assets.common.storage import open_warehouse
    from assets.usage.cluster_check import described_cluster
    from assets.usage.node_use import node_use

    warehouse = open_warehouse()
    use = node_use(warehouse, source, described_cluster(warehouse, source))
    if as_json:
        print_json(nodes_values(source, use, by or GROUPINGS[:2]))
    else:
        click.echo(_nodes_text(source, use, by, top))


def _print_waste(source: str, by: tuple[str, ...], top: int, as_json: bool) -> None:
    from assets.common.storage import open_warehouse
    from assets.replaying.own.over_asking import over_asking

    kinds = by or GROUPINGS[:2]
    with say_if_slow("replaying with better requests"):
        result = over_asking(open_warehouse(), source, top, kinds)
    if as_json:
        print_json(waste_values(source, result, kinds))
    else:
        click.echo(waste_text(source, result, kinds, top))


def _print_habits(source: str, by: tuple[str, ...], top: int, as_json: bool) -> None:
    from assets.common.storage import open_warehouse
    from assets.usage.habits import habits

    result = habits(open_warehouse(), source)
    if as_json:
        print_json(habits_values(source, result))
    else:
        click.echo(habits_text(source, result, top, terminal_width()))


def _nodes_text(source: str, use: NodeUse | None, kinds: tuple[str, ...], top: int) -> str:
    if use is None:
        return f"{source}: the log does not say which nodes its jobs held"
    width, lines = terminal_width(), []
    if use.states.is_empty():
        lines.append("the source names no cluster, so nobody knows which nodes stood idle: tracehouse cluster import")
    else:
        cells = [
            [row["resource"], row["state"], _number(row["mean"], 1), f"{100 * row['share']:.1f} %"]
            for row in use.states.iter_rows(named=True)
        ]
        lines += [f"cores and GPUs on average, over {use.moments:,} moments of the log"]
        lines += fitted_table(COLUMNS_OF_STATES, cells, width)
        if use.strange_nodes:
            lines.append(f"{use.strange_nodes:,} nodes of the log are not in the cluster's description, and left out")
    names = ("node_hours", "core_hours", "gpu_hours", "lost_gpu_hours", "memory_gib_hours")
    kinds, unnamed = _named_kinds(kinds or GROUPINGS[:2], use.holders)
    lines += unnamed
    for kind in kinds:
        holders = use.holders[kind]
        cells = [
            [row["value"], f"{row['jobs']:,}", *(_number(row[name]) for name in names)]
            for row in holders.head(top).iter_rows(named=True)
        ]
        lines += ["", f"held by {kind}, most first"]
        lines += fitted_table((TableColumn(kind, right=False), *COLUMNS_OF_HOLDERS), cells, width)
        if holders.height > top:
            lines.append(f"and {holders.height - top:,} more (--top)")
    return "\n".join(line.rstrip() for line in lines)


def waste_text(source: str, result: OverAsking, kinds: tuple[str, ...], top: int) -> str:
    """What was asked for and not used, and what that costs the others, as it is printed."""
    from assets.common.storage import open_warehouse
    from assets.replaying.own.over_asking import WASTED
    from assets.usage.waits_and_waste import memory_words

    width, whole = terminal_width(), result.unused["all"].row(0, named=True)
    lines = [f"{source}: {whole['jobs']:,} jobs ran"]
    for name in ("time", "cpu", "memory"):
        if missing := whole[f"jobs_without_{name}"]:
            jobs, their = ("job counts", "its") if missing == 1 else ("jobs count", "their")
            lines.append(
                f"{missing:,} {jobs} as unknown, since the log does not have {their} {TITLES_OF_MISSING[name]}"
            )
    kinds, unnamed = _named_kinds(kinds, result.unused)
    lines += unnamed
    shown = [name for name in WASTED if whole[name] is not None]
    if "memory_gib_hours" in shown and (words := memory_words(open_warehouse(), source)):
        lines.append(folded(words, width))
    columns = [
        TableColumn(title, last=2 * k + 1 - j)
        for k, name in enumerate(shown)
        for j, title in enumerate((TITLES_OF_WASTE[name], "of it"))
    ]
    for kind in kinds:
        rows = result.unused[kind]
        cells = [
            [
                row["value"],
                *(cell for name in shown for cell in (_number(row[name]), _share(row[name], row[f"of_{name}"]))),
            ]
            for row in rows.head(top).iter_rows(named=True)
        ]
        lines += ["", f"asked for and not used by {kind}, most time first"]
        lines += fitted_table((TableColumn(kind, right=False), *columns), cells, width)
        if rows.height > top:
            lines.append(f"and {rows.height - top:,} more (--top)")
    if not result.waits:
        return "\n".join(
            line.rstrip() for line in [*lines, "", "no replay: the log has no requested times above run times"]
        )
    lines += _better_requests_lines(result, kinds, top, width)
    return "\n".join(line.rstrip() for line in lines)


def _better_requests_lines(result: OverAsking, kinds: tuple[str, ...], top: int, width: int | None) -> list[str]:
    """What better requests would change in replays."""
    lines = ["", folded(f"mean waits in {_counted(result.copies, 'replay')} each under {result.basis}", width)]
    for kind in ("all", *kinds):
        waits = [
            [row["value"], f"{row['jobs']:,}", *(_number(row[name], 2) for name in ("asked", "better", "right"))]
            for row in result.waits[kind].head(top).iter_rows(named=True)
        ]
        lines += ["", *fitted_table((TableColumn(kind, right=False), *COLUMNS_OF_REQUESTS), waits, width)]
        if kind == "all":
            lines.append(saved_text(*result.saved))
    for kind in kinds if result.culprits.height else ():
        of_kind = result.culprits.filter(result.culprits["kind"] == kind)
        costs = [
            [row["value"], *(_number(row[name]) for name in ("others_hours", "low", "high"))]
            for row in of_kind.iter_rows(named=True)
        ]
        if costs:
            lines += ["", f"hours that all others would wait less if the requests of one {kind} were right"]
            lines += fitted_table((TableColumn(kind, right=False), *COLUMNS_OF_COSTS), costs, width)
    return lines


def who_text(source: str, result: WaitsAndWaste, kinds: tuple[str, ...], top: int, width: int | None) -> str:
    """What is printed. kinds: of groups, empty for users and accounts, where the log tells them apart. width: of the terminal in
    characters, None for a file."""
    lines = [folded(line, width, 8) for line in _facts(source, result)]
    for kind in kinds or GROUPINGS[:2]:
        if not result.are_named(kind):
            lines += ["", f"the log has no {kind}s"]
        elif kinds or result.groups(kind).height > 1:
            for title, order, columns, cells in _tables(kind, result):
                rows = result.groups(kind, order)
                shown = [[row["value"], *cells(row)] for row in rows.head(top).to_dicts()]
                lines += ["", title, *fitted_table((TableColumn(kind, right=False), *columns), shown, width)]
                if rows.height > top:
                    lines.append(f"and {rows.height - top:,} more (--top)")
    return "\n".join(line.rstrip() for line in lines)


def _facts(source: str, result: WaitsAndWaste) -> list[str]:
    from assets.usage.waits_and_waste import hours_text, left_text, part_of_whole

    whole = result.whole
    facts = [f"{source}: {whole['jobs']:,} jobs used {whole['core_hours']:,.0f} core-hours"]
    if result.words:
        facts.append(f"jobs    {result.words}")
    if whole["known_waits"]:
        facts.append(
            f"waits   {hours_text(whole['mean_wait_h'])} on average, {hours_text(whole['median_wait_h'])} in the median, "
            f"{hours_text(whole['p95_wait_h'])} at the 95th percentile"
        )
    else:
        facts.append("waits   the log does not say when its jobs started")
    if whole["left_jobs"]:
        after_h = whole["left_hours"] / whole["left_jobs"]
        facts.append(f"left    {left_text(whole['left_jobs'], hours_text(after_h))}")
    if whole["lost_core_hours"] is None:
        facts.append("lost    the log does not say how its jobs ended")
    else:
        parts = [f"{word} {_share(whole[name], whole['core_hours'])}" for name, word in result.losses().items()]
        listed = f": {', '.join(parts)}" if parts else ""
        facts.append(f"lost    {_share(whole['lost_core_hours'], whole['core_hours'])} of the core-hours{listed}")
    words = [
        f"{_share(whole[part], whole[of])} {TITLES_OF_UNUSED[part][1]}"
        for part, of in result.unused().items()
        if part_of_whole(whole[part], whole[of]) is not None
    ]
    facts.append(f"unused  {', '.join(words) if words else 'the log does not say what was requested or used'}")
    if result.memory and "unused_memory_gib_hours" in result.unused():
        facts.append(f"memory  {result.memory}")
    return facts


def _tables(kind: str, result: WaitsAndWaste) -> list[tuple[str, str, tuple[TableColumn, ...], Any]]:
    """Of each table: title, what rows are sorted by, columns, and the cells of a row."""
    whole, losses, unused = result.whole, result.losses(), result.unused()
    tables: list[tuple[str, str, tuple[TableColumn, ...], Any]] = []
    if whole["known_waits"]:
        numbers = ("mean_wait_h", "median_wait_h", "p95_wait_h", "max_wait_h")

        def waits(row: dict[str, Any]) -> list[str]:
            cells = [_number(row[name], 1) for name in numbers]
            return [f"{row['known_waits']:,}", *cells, _share(row["waited_h"], whole["waited_h"])]

        tables.append((f"waits by {kind}, most waiting first", "waited_h", COLUMNS_OF_WAITERS, waits))
    if losses:
        columns = [TableColumn("core-hours"), TableColumn("lost"), TableColumn("of their own")]
        columns += [TableColumn(word, last=k) for k, word in enumerate(losses.values(), 1)]

        def lost(row: dict[str, Any]) -> list[str]:
            own = [_number(row["core_hours"]), _number(row["lost_core_hours"])]
            return [*own, _share(row["lost_core_hours"], row["core_hours"]), *(_number(row[name]) for name in losses)]

        tables.append((f"core-hours lost by {kind}, most first", "lost_core_hours", tuple(columns), lost))
    if unused:
        columns = [
            TableColumn(title, last=3 * k + 2 - j)
            for k, part in enumerate(unused)
            for j, title in enumerate(TITLES_OF_UNUSED[part])
        ]

        def not_used(row: dict[str, Any]) -> list[str]:
            return [cell for part, of in unused.items() for cell in (_number(row[part]), _share(row[part], row[of]))]

        tables.append((f"requested and not used by {kind}, most first", next(iter(unused)), tuple(columns), not_used))
    return tables


def saved_text(least_h: float, most_h: float) -> str:
    """What right requests do to the mean wait, over the copies of a replay. least_h, most_h: hours by which it is shorter, or below 0."""
    if least_h <= 0 <= most_h:
        change = f"{-most_h:+.2f} to {-least_h:+.2f} h"
        return f"right requests change the mean wait by {change}: the copies of the replay differ in the direction"
    verb, amounts = ("shorten", (least_h, most_h)) if most_h > 0 else ("lengthen", (-most_h, -least_h))
    return f"right requests {verb} the mean wait by {{:.2f}} to {{:.2f}} h".format(*amounts)


def _number(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{round(value, digits) + 0.0:,.{digits}f}"  # never -0


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def _named_kinds(kinds: tuple[str, ...], rows: dict[str, pl.DataFrame]) -> tuple[tuple[str, ...], list[str]]:
    """The kinds of groups that the log names, and a line for each other one. rows: of each kind, with their names in `value`."""
    named = tuple(kind for kind in kinds if rows[kind]["value"].to_list() != ["unknown"])
    return named, [f"the log has no {kind}s" for kind in kinds if kind not in named]


def _share(part: float | None, whole: float | None) -> str:
    from assets.usage.waits_and_waste import part_of_whole

    share = part_of_whole(part, whole)
    return "-" if share is None else f"{share:.1%}".replace("%", " %")
