"""Files of PBS's own scheduler beside `qmgr`: its settings, its hours and its tree of shares.

Hours that are not like others: PBS's `holidays` (prime time) and `dedicated_time`.

PBS's `sched_config`: `name: value prime|non_prime|all`, the file of the scheduler's own settings. Torque's may have blanks for the colon.

The tree of shares, PBS's `resource_group`: `name number parent shares`, one line a group or user.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from traces.cluster.accounts import ROOT_ACCOUNT, Account, AccountUser
from traces.cluster.description import AdvanceReservation, Gate, Setting
from traces.cluster.notes import MODELLED, NO_EFFECT, ConfigurationError, Entry, Notes, TextFile, integer_of
from traces.pbs.configuration.files import setting_of
from traces.pbs.configuration.keys import SCHED_CONFIG_KEYS

_DAYS = {"weekday": (0, 1, 2, 3, 4), "saturday": (5,), "sunday": (6,)} | {
    day: (k,) for k, day in enumerate(("monday", "tuesday", "wednesday", "thursday", "friday"))
}
_NAMES = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_DAY = 1440
_REMEDY = "Write lines such as `weekday 0600 1730`, `saturday none all`"
_STAMPS = re.compile(r"(\d\d/\d\d/\d{4} \d\d:\d\d)\s+(\d\d/\d\d/\d{4} \d\d:\d\d)")

Span = tuple[tuple[int, ...], int, int]
"""Days, and minutes of a day from and to."""


def read_prime_time(file: TextFile, notes: Notes) -> tuple[tuple[Span, ...], tuple[str, ...]]:
    """The spans of prime time in a week, and the ISO dates that have none. Raises ConfigurationError for a line of another form."""
    spans: dict[tuple[int, ...], Span | None] = {}
    dates: list[str] = []
    year = 0
    for number, line in file.lines("*"):
        words = line.split()
        entry = Entry(file.name, number, words[0], " ".join(words[1:]))
        day = words[0].lower()
        if day == "year":
            year = _year(entry)
            notes.add(entry, NO_EFFECT)
        elif day in _DAYS and len(words) == 3:
            spans[_DAYS[day]] = _span(_DAYS[day], words[1], words[2], entry)
            notes.modelled(entry, f"gates.{day}")
        elif re.fullmatch(r"[0-9]{1,3}", day) and len(words) > 2:
            dates += _date(year, int(day), entry, notes)
        else:
            expected = f"a day, and when prime time and non-prime time begin, found {line.strip()[:60]!r}"
            raise ConfigurationError(file.name, number, expected, _REMEDY)
    return tuple(span for span in spans.values() if span), tuple(dates)


def prime_time_settings(spans: tuple[Span, ...], dates: tuple[str, ...], time_zone: str) -> dict[str, Setting]:
    """Prime time as settings of the scheduler: `prime_time = "MO,TU 0600-1730; SA 0000-2400"`, dates without any, and their time zone."""
    hours = [
        f"{','.join(_NAMES[day] for day in days)} {begin // 60:02}{begin % 60:02}-{end // 60:02}{end % 60:02}"
        for days, begin, end in spans
    ]
    settings: dict[str, Setting] = {"prime_time": "; ".join(hours), "prime_time_zone": time_zone}
    return settings | ({"holidays": ", ".join(dates)} if dates else {})


def _year(entry: Entry) -> int:
    if not re.fullmatch(r"[0-9]{4}", entry.value):
        raise ConfigurationError(entry.file, entry.line, f"a year such as 2026, found {entry.value[:60]!r}", _REMEDY)
    return int(entry.value)


def _date(year: int, day: int, entry: Entry, notes: Notes) -> list[str]:
    """The date of a day of the year. Without a line of the year nobody knows which it is."""
    if not year:
        notes.unmodelled(entry, "this date would have no prime time, but no line `YEAR 2026` says of which year it is")
        return []
    holiday = date(year, 1, 1) + timedelta(days=day - 1)
    if holiday.year != year:
        raise ConfigurationError(entry.file, entry.line, f"a day of the year from 1 to 366, found {day}", _REMEDY)
    notes.modelled(entry, "scheduler.holidays")
    return [holiday.isoformat()]


def gates_of_prime_time(
    spans: tuple[Span, ...], values: Mapping[str, Setting], queues: Iterable[str], time_zone: str
) -> tuple[Gate, ...]:
    """Queues whose name begins with primetime_prefix are closed outside prime time, those with nonprimetime_prefix during it."""
    outside = _outside(spans)
    gates = []
    for queue in queues:
        for key, usual, closed in (("primetime_prefix", "p_", outside), ("nonprimetime_prefix", "np_", spans)):
            prefix = str(values.get(key, usual))
            if prefix and queue.startswith(prefix):
                gates += [Gate(days, begin, end, partition=queue, timezone=time_zone) for days, begin, end in closed]
    return tuple(gates)


def read_dedicated_time(
    file: TextFile, queues: tuple[str, ...], time_zone: str, notes: Notes
) -> tuple[AdvanceReservation, ...]:
    """Spans in which only the queues for dedicated time run. Raises ConfigurationError for a line of another form."""
    reservations: list[AdvanceReservation] = []
    for number, line in file.lines():
        stamps = _STAMPS.fullmatch(line.strip())
        seconds = [_second(text, time_zone) for text in stamps.groups()] if stamps else []
        if len(seconds) != 2 or None in seconds or seconds[0] >= seconds[1]:  # type: ignore[operator]
            expected = f"`MM/DD/YYYY HH:MM MM/DD/YYYY HH:MM`, from and to, found {line.strip()[:60]!r}"
            raise ConfigurationError(file.name, number, expected, "Write a comment with # at its beginning")
        name = f"dedicated-{len(reservations) + 1}"
        begin_s, end_s = (second or 0 for second in seconds)
        reservations.append(AdvanceReservation(name, begin_s, end_s, flags=("dedicated",), partitions=queues))
        notes.modelled(Entry(file.name, number, "dedicated_time", line.strip()), f"reservations.{name}")
    return tuple(reservations)


def _span(days: tuple[int, ...], prime: str, non_prime: str, entry: Entry) -> Span | None:
    """Prime time of these days, None for none."""
    words = (prime.lower(), non_prime.lower())
    if words in (("none", "all"), ("none", "none")):
        return None
    if words in (("all", "none"), ("all", "all")):
        return days, 0, _DAY
    minutes = []
    for word in words:
        clock = re.fullmatch(r"([01]?[0-9]|2[0-4])([0-5][0-9])", word)
        if clock is None:
            raise ConfigurationError(
                entry.file, entry.line, f"hours such as 0600, `all` or `none`, found {word!r}", _REMEDY
            )
        minutes.append(int(clock.group(1)) * 60 + int(clock.group(2)))
    return days, minutes[0], minutes[1]


def _outside(spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """What is left of a week."""
    inside = [[False] * _DAY for _ in range(7)]
    for days, begin, end in spans:
        for day in days:
            for minute in range(begin, end if end > begin else end + _DAY):
                inside[(day + minute // _DAY) % 7][minute % _DAY] = True
    left: dict[tuple[int, int], list[int]] = {}
    for day, minutes in enumerate(inside):
        edges = [k for k in range(_DAY) if not minutes[k] and (k == 0 or minutes[k - 1])]
        for begin in edges:
            end = next((k for k in range(begin, _DAY) if minutes[k]), _DAY)
            left.setdefault((begin, end), []).append(day)
    return tuple((tuple(days), begin, end) for (begin, end), days in left.items())


def _second(text: str, time_zone: str) -> int | None:
    try:
        return int(datetime.strptime(text, "%m/%d/%Y %H:%M").replace(tzinfo=ZoneInfo(time_zone)).timestamp())
    except ValueError:
        return None


# --- sched config


NON_PRIME = "non_prime"
_TIMES = ("prime", NON_PRIME, "all", "none")
NOT_IN_LOGS = ("cput", "pcput", "job_priority", "sort_priority", "preempt_priority")
"""What job_sort_key may sort by that no log has of its jobs."""
_SCHEDULED = "resources"
"""Which resources PBS looks at. A replay looks at all, and the reader names those that are not among them."""
_LISTED = ("job_sort_key", "node_sort_key")
"""Keys that may come several times, the first line first."""
_LINE = re.compile(r"([\w.-]+)(?:\s*:\s*|\s+)(\"[^\"]*\"|[^\s\"]*(?:\s*,\s*[^\s\"]+)*)\s*(\S+)?\s*")


def read_sched_config(file: TextFile, notes: Notes) -> dict[str, Setting]:
    """Settings by name. A value for non-prime time that differs stands under `name.non_prime`. Several sort keys are joined by a comma.

    Raises ConfigurationError for a line of another form, and for a value that decides and cannot be read.
    """
    values: dict[str, Setting] = {}
    for number, line in file.lines():
        parts = _LINE.fullmatch(line.strip())
        if parts is None or (parts.group(3) or "all").lower() not in _TIMES:
            expected = f"`name: value` and one of {', '.join(_TIMES)}, found {line.strip()[:60]!r}"
            raise ConfigurationError(file.name, number, expected, "Write a comment with # at its beginning")
        name, time = parts.group(1), (parts.group(3) or "all").lower()
        entry = Entry(file.name, number, name, parts.group(2).strip('"').strip())
        row = SCHED_CONFIG_KEYS.get(name)
        if name == _SCHEDULED and row is not None:
            values[name] = setting_of(entry, row.form)
        if row is None or row.kind != MODELLED or time == "none":
            notes.by_table(SCHED_CONFIG_KEYS, entry)
            continue
        setting = setting_of(entry, row.form)
        for key in (name, f"{name}.{NON_PRIME}"):
            if (key == name and time != NON_PRIME) or (key != name and time != "prime"):
                values[key] = f"{values[key]}, {setting}" if name in _LISTED and key in values else setting
        if name == "job_sort_key" and entry.value.split() and entry.value.split()[0].lower() in NOT_IN_LOGS:
            notes.unmodelled(entry, "jobs would come by it, and a log does not have it")
        else:
            notes.modelled(entry, f"scheduler.{name}")
    return _without_doubles(values)


def _without_doubles(values: dict[str, Setting]) -> dict[str, Setting]:
    """A value for non-prime time stays only where it differs, or is the only one."""
    return {
        key: value
        for key, value in values.items()
        if not (key.endswith(f".{NON_PRIME}") and values.get(key[: -len(NON_PRIME) - 1]) == value)
    }


# --- shares


def read_shares(file: TextFile, notes: Notes) -> tuple[tuple[Account, ...], tuple[AccountUser, ...]]:
    """Groups and users of the tree. What has nothing below it is a user, or whatever else `fairshare_entity` names.

    Raises ConfigurationError for a line of another form, a name that comes twice and a parent that no line before has.
    """
    entries: dict[str, Entry] = {}
    tree: dict[str, tuple[str, int]] = {}
    for number, line in file.lines():
        words = line.split()
        if len(words) != 4:
            expected = f"`name number parent shares`, found {line.strip()[:60]!r}"
            raise ConfigurationError(
                file.name, number, expected, "Write one group or user a line, such as `u1 11 physics 10`"
            )
        name, _, parent, shares = words
        entry = Entry(file.name, number, name, shares)
        if name in tree or name == ROOT_ACCOUNT:
            raise ConfigurationError(
                file.name, number, f"each name once, found {name} again", "Leave one of the lines out"
            )
        if parent != ROOT_ACCOUNT and parent not in tree:
            expected = f"a parent that is {ROOT_ACCOUNT} or stands above, found {parent!r}"
            raise ConfigurationError(file.name, number, expected, f"Write a line for {parent} before it")
        tree[name] = (parent, integer_of(entry))
        entries[name] = entry
    groups = {parent for parent, _ in tree.values()}
    accounts, members = [], []
    for name, (parent, amount) in tree.items():
        if name in groups:
            accounts.append(Account(name, parent, amount))
            notes.modelled(entries[name], f"accounts.{name}.shares")
        else:
            members.append(AccountUser(name, parent, amount, is_default=True))
            notes.modelled(entries[name], f"members.{name}.shares")
    return tuple(accounts), tuple(members)
