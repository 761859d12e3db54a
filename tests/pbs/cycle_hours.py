"""Hours in the oracle of PBS's cycle: may a job of a queue start in a second, and when does it have to be over?"""

from __future__ import annotations

from functools import cache

from tests.pbs.cycle_types import CycleSite

NEVER_S = 1 << 50
"""Later than anything."""


def latest_end_s(queue: str, second: int, site: CycleSite) -> int | None:
    """When a job that starts in a second has to be over by its walltime, None where none of the queue starts then."""
    hours, of_queue = site.hours, next(each.hours for each in site.queues if each.name == queue)
    is_prime = hours.is_prime(second)
    keeps_prime = bool(hours.stays and hours.prime and not (hours.exempts and of_queue in ("", "ded")))
    if second >= hours.ends_s and (hours.dedicated or keeps_prime or of_queue in ("p_", "np_")):
        return None
    if of_queue in ("p_", "np_") and is_prime != (of_queue == "p_"):
        return None
    if hours.dedicated and hours.is_dedicated(second) != (of_queue == "ded"):
        return None
    ends = [NEVER_S]
    if hours.dedicated:
        ends += [each for span in hours.dedicated for each in span if each > second][:1]
    if keeps_prime:
        minutes = _until_change(hours.prime, second % 86_400 // 60)
        ends.append((second // 60 + minutes) * 60 + hours.spill_s[0 if is_prime else 1])
    return min(ends)


@cache
def _until_change(prime: tuple[tuple[int, int], ...], minute: int) -> int:
    """Minutes from a minute of the day to the one in which prime time begins or ends. It is neither never nor always prime time."""
    in_prime = [any(begin <= each % 1440 < end for begin, end in prime) for each in range(minute, minute + 1441)]
    return in_prime.index(not in_prime[0])


def all_openings(site: CycleSite, begin_s: int, end_s: int) -> dict[str, list[int]]:
    """Of each queue, the seconds between two from which on its jobs may start, or may run until another second than before."""
    changes = site.hours.changes(begin_s, end_s)
    return {
        queue.name: [
            second
            for second in changes
            if (latest_s := latest_end_s(queue.name, second, site)) is not None
            and latest_s != latest_end_s(queue.name, second - 1, site)
        ]
        for queue in site.queues
    }
