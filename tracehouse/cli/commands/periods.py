"""`tracehouse periods`: two periods of a source side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import json_option, print_json
from tracehouse.cli.parameters.sources import source_argument
from tracehouse.text.answers import periods_values
from tracehouse.text.tables import TableColumn, fitted_table, folded, terminal_width

if TYPE_CHECKING:
    from assets.usage.two_periods import TwoPeriods

WHOLE = {
    "jobs": ("jobs", "{:,.0f}"),
    "mean_wait_h": ("mean wait, h", "{:,.1f}"),
    "median_wait_h": ("median wait, h", "{:,.1f}"),
    "p95_wait_h": ("p95 wait, h", "{:,.1f}"),
    "started_in_1h": ("started within 1 h", "{:.0%}"),
    "started_in_24h": ("started within 24 h", "{:.0%}"),
    "offered_load": ("work submitted, of the cluster", "{:.0%}"),
    "failed_share": ("jobs that failed or were cut short", "{:.0%}"),
    "left_jobs": ("jobs that left the queue before a start", "{:,.0f}"),
    "left_after_h": ("these after, h on average", "{:,.1f}"),
}
"""Columns of TwoPeriods.whole: what they are called, and how they are written."""
GROUP_COLUMNS = (
    TableColumn("", right=False),
    TableColumn("jobs before"),
    TableColumn("jobs", last=2),
    TableColumn("mean wait before, h", last=1),
    TableColumn("mean wait, h"),
    TableColumn("adds to the mean, h"),
)
GROUP_KINDS = ("queue", "account", "user", "size")


@click.command()
@source_argument()
@click.argument("period", default="last-month")
@click.argument("earlier", required=False)
@click.option("--by", type=click.Choice(GROUP_KINDS), multiple=True, help="Only these groups.  [default: all four]")
@click.option(
    "--top", type=click.IntRange(min=1), default=5, show_default=True, help="Groups of a kind that are shown."
)
@click.option("--csv", "as_csv", is_flag=True, help="Write all groups as CSV.")
@json_option
@plain_errors
def periods(
    source: str, period: str, earlier: str | None, by: tuple[str, ...], top: int, as_csv: bool, as_json: bool
) -> None:
    """What got worse, for whom, and since when: PERIOD beside an EARLIER one.

    A period is last-month (the last complete one), a month such as 2026-03, the last days such as last-30-days, or days such as
    2026-03-01..2026-03-15. EARLIER is the month before by default, or as many days before. Waits are those of the log.
    """
    from assets.common.storage import open_warehouse
    from assets.usage.two_periods import compare_periods
    from traces.catalogue.catalogue import load_catalogue

    load_catalogue().source(source)
    result = compare_periods(open_warehouse(), source, period, earlier)
    if as_csv:
        click.echo(result.groups.write_csv(), nl=False)
        return
    if as_json:
        print_json(periods_values(source, result, by or GROUP_KINDS))
        return
    click.echo(periods_text(source, result, by or GROUP_KINDS, top, terminal_width()))


def periods_text(source: str, result: TwoPeriods, kinds: tuple[str, ...], top: int, width: int | None) -> str:
    """What is printed. width: of the terminal in characters, None for a file."""
    if result.earlier is None:
        return _text_of_one(source, result, width)
    before, after = result.whole.to_dicts()
    change = after["mean_wait_h"] - before["mean_wait_h"]
    grew = "longer" if change > 0 else "shorter" if change < 0 else "different"
    now_h, before_h = after["mean_wait_h"], before["mean_wait_h"]
    lines = [
        f"{source}: the mean wait is {now_h:,.1f} h, {abs(change):,.1f} h {grew} than before ({before_h:,.1f} h)",
        f"now     {result.later.words}",
        f"before  {result.earlier.words}",
    ]
    if result.since is not None:
        lines.append(
            f"waits differ most from {result.since} on: {result.before_h:,.1f} h on average before, {result.after_h:,.1f} h from then"
        )
    lines = [folded(line, width, 8) for line in lines]
    columns = (TableColumn("", right=False), TableColumn("before"), TableColumn("now"))
    lines += ["", *fitted_table(columns, _whole_cells([before, after]), width)]
    for kind in kinds:
        groups = result.groups.filter(kind=kind)
        if groups.height < 2:  # the log does not tell them apart
            continue
        lines += [
            "",
            f"by {kind}: what adds most to the change of {change:+,.1f} h",
            *_groups(groups.head(top).to_dicts(), width),
        ]
        if groups.height > top:
            lines.append(f"and {groups.height - top} more (--top)")
    return "\n".join(line.rstrip() for line in lines)


def _text_of_one(source: str, result: TwoPeriods, width: int | None) -> str:
    """What is printed where the log has nothing before the period."""
    (only,) = result.whole.to_dicts()
    lines = [
        f"{source}: the mean wait is {only['mean_wait_h']:,.1f} h",
        f"now     {result.later.words}",
        "before  the log has no job before it, so that there is nothing to compare with",
    ]
    table = fitted_table((TableColumn("", right=False), TableColumn("now")), _whole_cells([only]), width)
    return "\n".join(line.rstrip() for line in [*(folded(line, width, 8) for line in lines), "", *table])


def _whole_cells(periods: list[dict[str, Any]]) -> list[list[str]]:
    """A row for each figure of WHOLE that a period has, without those that the log does not say. periods: rows of TwoPeriods.whole."""
    return [
        [title, *(_cell(form, row[name]) for row in periods)]
        for name, (title, form) in WHOLE.items()
        if (
            any(row["left_jobs"] for row in periods)
            if name.startswith("left_")
            else any(row[name] is not None for row in periods)
        )
    ]


def _groups(rows: list[dict[str, Any]], width: int | None) -> list[str]:
    cells = [
        [
            row["value"],
            f"{row['jobs_before']:,}",
            f"{row['jobs']:,}",
            _cell("{:,.1f}", row["mean_wait_h_before"]),
            _cell("{:,.1f}", row["mean_wait_h"]),
            f"{row['contribution_h']:+,.2f}",
        ]
        for row in rows
    ]
    return fitted_table(GROUP_COLUMNS, cells, width)


def _cell(form: str, value: float | None) -> str:
    return "-" if value is None else form.format(value)
