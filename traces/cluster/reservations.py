"""Times that are not like others: advance reservations, and gates that close by hour and day."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AdvanceReservation:
    """Nodes or CPUs set aside from begin_s to end_s (UTC seconds). announced_s: when the scheduler learned of it, None for always.

    nodes: names, where () with cpus 0 means all nodes. cpus: where it counts CPUs, not nodes. users, accounts, groups: who may use it.
    partitions, qos: whose jobs may use it (Maui's CLASSLIST and QOSLIST).
    flags: as the scheduler spells them, in lower case ("maint", "ignore_jobs", "flex", "daily"). repeats: an RFC 5545 rule or "daily",
    "weekly", "weekday", "weekend", "" for once. timezone: in which it repeats at the same hour (an IANA name). queue: the queue that PBS
    makes for it. origin: as of a limit.
    """

    name: str
    begin_s: int
    end_s: int
    announced_s: int | None = None
    nodes: tuple[str, ...] = ()
    cpus: int = 0
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    repeats: str = ""
    queue: str = ""
    partitions: tuple[str, ...] = ()
    qos: tuple[str, ...] = ()
    timezone: str = "UTC"
    origin: str = ""

    def __post_init__(self) -> None:
        if self.end_s <= self.begin_s:
            raise ValueError(f"reservation {self.name} ends before it begins: {self.begin_s} to {self.end_s}")


@dataclass(frozen=True)
class Gate:
    """No job beyond these amounts starts in these hours, such as "no job over four hours from 8 to 16 h on working days".

    days: 0 is Monday. begin_minute, end_minute: of the day, local time of `timezone` (an IANA name). An end not after the begin is on the
    next day. over_time_s, over_cpus: a job is stopped that asks for more than all that are not None. With none of them every job is.
    partition: the only one it holds for, "" for all. origin: as of a limit.
    """

    days: tuple[int, ...]
    begin_minute: int
    end_minute: int
    over_time_s: int | None = None
    over_cpus: int | None = None
    partition: str = ""
    timezone: str = "UTC"
    origin: str = ""

    def __post_init__(self) -> None:
        if not self.days or not set(self.days) <= set(range(7)):
            raise ValueError(f"a gate needs days from 0 (Monday) to 6, got {self.days}")
        if not (0 <= self.begin_minute < 1440 and 0 <= self.end_minute <= 1440):
            raise ValueError(f"a gate's minutes are from 0 to 1440, got {self.begin_minute} to {self.end_minute}")
