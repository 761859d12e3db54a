"""What `tracehouse who --habits` prints: users who submit jobs after own ones have ended, their sessions, the hours of
submissions, and users who cancel jobs that still wait."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tracehouse.text.answers import grouped
from tracehouse.text.tables import TableColumn, duration, fitted_table, folded

if TYPE_CHECKING:
    import polars as pl

    from assets.usage.habits import Habits

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
BLOCK_HOURS = 3
COLUMNS_OF_USERS = (
    TableColumn("user", right=False),
    TableColumn("jobs"),
    TableColumn("core-hours", last=1),
    TableColumn("that follow"),
    TableColumn("median think time"),
    TableColumn("sessions", last=2),
    TableColumn("jobs in each", last=3),
)
COLUMNS_OF_GIVING_UP = (TableColumn("gave up", last=4), TableColumn("median wait then", last=5))
"""Where any job was cancelled while it waited."""
COLUMN_OF_LINES = TableColumn("follow within", right=False, last=6)
"""Where jobs of any user follow each other within an account or an executable."""


def habits_text(source: str, habits: Habits, top: int, width: int | None) -> str:
    """The answer in words and tables. top: users that are shown. width: of the terminal in characters, None for a file."""
    if not habits.jobs:
        return f"{source}: the log names no users, so it does not say which jobs follow others"
    users = habits.by_user.height
    lines = [f"{source}: {_counted(habits.jobs, 'job')} of {_counted(users, 'user')}"]
    if habits.unnamed:
        have = "has no user, and is" if habits.unnamed == 1 else "have no user, and are"
        lines.append(f"unnamed   {habits.unnamed:,} more {have} left out")
    if habits.lines["user"] == users == 1:
        lines.append(
            "one user  a log that names one user may have the jobs of several in it: then few of these follow each other"
        )
    lines += [*_facts(habits), *_user_lines(habits.by_user, top, width)]
    lines = [folded(line, width, 10) if " " * 2 in line and line[0] != " " else line for line in lines]
    if habits.by_hour is None or habits.by_day is None:
        return "\n".join([*lines, "", "no hours and days: the log has no dates"])
    blocks = habits.by_hour.group_by(habits.by_hour["hour"] // BLOCK_HOURS, maintain_order=True).sum()
    hours = [f"{BLOCK_HOURS * k:02}:00 to {BLOCK_HOURS * (k + 1):02}:00" for k in range(blocks.height)]
    for kind, names, rows in (("hour", hours, blocks), ("day", list(DAYS), habits.by_day)):
        lines += ["", f"submissions by {kind} ({habits.time_zone})", *_share_lines(kind, names, rows, width)]
    return "\n".join(lines)


def _facts(habits: Habits) -> list[str]:
    from assets.usage.habits import SOON_S

    shares = ", ".join(
        f"{_percent(share)} within {seconds // 60} min" for share, seconds in zip(habits.soon, SOON_S, strict=True)
    )
    follow = "no job follows the end of an own job: what comes soon after one comes as often at other times"
    following = habits.following - habits.by_name
    if following and habits.longest_think_s is not None:
        come, they = ("comes", "follows") if following == 1 else ("come", "follow")
        most = duration(habits.longest_think_s)
        follow = f"{_counted(following, 'job')} {come} at most {most} after the end of an own job and {they} it"
    facts = [
        f"follow    {follow}",
        *_line_facts(habits.lines),
        f"soon      of all jobs {shares} of an own end",
    ]
    if habits.depending:
        name = "names" if habits.depending == 1 else "name"
        more = f", and {habits.by_name:,} came after these and follow them" if habits.by_name else ""
        facts.append(f"depend    {_counted(habits.depending, 'job')} {name} others that must leave first{more}")
    if habits.think_s:
        low, lower, median, upper, high = map(duration, habits.think_s)
        facts.append(f"think     {median} in the median, half of them {lower} to {upper}, four of five {low} to {high}")
    facts.append(
        f"sessions  {habits.sessions:,}, of {habits.jobs / habits.sessions:.1f} jobs in "
        f"{habits.batches / habits.sessions:.1f} batches on average"
    )
    if habits.gave_up:
        lower, median, upper = map(duration, habits.gave_up_s)
        were = "was cancelled while it" if habits.gave_up == 1 else "were cancelled while they"
        facts.append(
            f"gave up   {_counted(habits.gave_up, 'job')} ({_percent(habits.gave_up / habits.jobs)}) {were} waited: "
            f"after {median} in the median, half of them after {lower} to {upper}"
        )
    if habits.night_share is not None:
        follow = f", {_percent(habits.night_share_following)} of those that follow" if habits.following else ""
        facts.append(f"night     {_percent(habits.night_share)} of the jobs came from 22:00 to 06:00{follow}")
    return facts


def _line_facts(lines: dict[str, int]) -> list[str]:
    """For how many users only jobs of one account, or of one executable, follow each other, where there are any."""
    parts = [(count, kind) for kind, count in lines.items() if kind != "user" and count]
    said = ", ".join(f"of {_counted(count, 'user')} within one {kind}" for count, kind in parts)
    return [f"lines     jobs {said} follow each other, since more do so than by user"] if parts else []


def _user_lines(users: pl.DataFrame, top: int, width: int | None) -> list[str]:
    has_given_up, has_parts = users["gave_up"].sum() > 0, (users["line"] != "user").any()
    cells = [
        [
            row["user"],
            f"{row['jobs']:,}",
            f"{row['core_hours']:,.0f}",
            _percent(row["share"]),
            "-" if row["median_think_s"] is None else duration(row["median_think_s"]),
            f"{row['sessions']:,}",
            f"{row['jobs'] / row['sessions']:.1f}",
            *(_giving_up_cells(row) if has_given_up else ()),
            *((row["line"],) if has_parts else ()),
        ]
        for row in users.head(top).iter_rows(named=True)
    ]
    columns = (*COLUMNS_OF_USERS, *(COLUMNS_OF_GIVING_UP if has_given_up else ()), *((COLUMN_OF_LINES,) * has_parts))
    more = [f"and {users.height - top:,} more (--top)"] if users.height > top else []
    return ["", "by user, most core-hours first", *fitted_table(columns, cells, width), *more]


def _giving_up_cells(row: dict[str, Any]) -> tuple[str, str]:
    wait = row["median_gave_up_s"]
    return _percent(row["gave_up"] / row["jobs"]), "-" if wait is None else duration(wait)


def _share_lines(kind: str, names: list[str], rows: pl.DataFrame, width: int | None) -> list[str]:
    titles = (TableColumn("jobs"), TableColumn("of all"), TableColumn("that follow"))
    columns = (TableColumn(kind, right=False), *titles, TableColumn("of all that follow", last=1))
    cells = [
        [name, f"{row['jobs']:,}", _percent(row["share"]), f"{row['following']:,}", _percent(row["following_share"])]
        for name, row in zip(names, rows.iter_rows(named=True), strict=True)
    ]
    return fitted_table(columns, cells, width)


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'s' if count != 1 else ''}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def habits_values(source: str, habits: Habits) -> dict[str, Any]:
    """The same as plain values. Think times and waits are seconds, by quantile such as p50, and shares are of 1."""
    from assets.usage.habits import GIVING_UP_QUANTILES, SOON_S, THINK_QUANTILES

    left_out = ("think_s", "soon", "gave_up_s", "by_user", "by_hour", "by_day")
    plain = {name: value for name, value in asdict(habits).items() if name not in left_out}
    shares = {f"share_within_{seconds}_s": share for seconds, share in zip(SOON_S, habits.soon, strict=False)}
    return {
        "source": source,
        **plain,
        **shares,
        "think_s": {f"p{100 * part:.0f}": value for part, value in zip(THINK_QUANTILES, habits.think_s, strict=False)},
        "gave_up_s": {
            f"p{100 * part:.0f}": value for part, value in zip(GIVING_UP_QUANTILES, habits.gave_up_s, strict=False)
        },
        "by": grouped({"user": habits.by_user.rename({"user": "value"}).to_dicts()}),
        "by_hour": None if habits.by_hour is None else habits.by_hour.to_dicts(),
        "by_day": None if habits.by_day is None else habits.by_day.to_dicts(),
    }
