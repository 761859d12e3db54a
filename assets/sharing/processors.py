"""Numbers of processors for jobs of which only their count is known, so that Gantt charts can be drawn."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Sequence

ENDLESS = 1 << 62
"""There is always another processor: a log may have more in use than the cluster has."""


class _Idle:
    """Idle processors, as sorted intervals [first, behind the last)."""

    def __init__(self) -> None:
        self.begins, self.ends = [0], [ENDLESS]

    def take(self, count: int) -> list[tuple[int, int]]:
        """The lowest ones, as intervals."""
        taken: list[tuple[int, int]] = []
        used = 0
        while count > 0:
            begin, end = self.begins[used], self.ends[used]
            upto = min(end, begin + count)
            taken.append((begin, upto))
            count -= upto - begin
            if upto < end:
                self.begins[used] = upto
            else:
                used += 1
        del self.begins[:used], self.ends[:used]
        return taken

    def give_back(self, intervals: list[tuple[int, int]]) -> None:
        for begin, end in intervals:
            place = bisect_left(self.begins, begin)
            if self.begins[place] == end:  # there is one behind it: the last never ends
                self.begins[place] = begin
            else:
                self.begins.insert(place, begin)
                self.ends.insert(place, end)
            if place and self.ends[place - 1] == begin:
                self.ends[place - 1] = self.ends[place]
                del self.begins[place], self.ends[place]


def first_idle_processors(start_s: Sequence[int], end_s: Sequence[int], procs: Sequence[int]) -> list[str]:
    """Which processors each job could have had, such as `0-3 7`, in the order of the jobs: the lowest idle ones when it starts.

    No two jobs that run at one time have the same. They are made up: the real ones may have been others. Numbers count from 0, and go
    beyond the cluster only where more were in use than it has. start_s, end_s: seconds. procs: 1 or more.
    """
    idle = _Idle()
    names = [""] * len(procs)
    running: list[tuple[int, int, list[tuple[int, int]]]] = []
    for job in sorted(range(len(procs)), key=lambda job: (start_s[job], end_s[job], job)):
        while running and running[0][0] <= start_s[job]:
            idle.give_back(heapq.heappop(running)[2])
        taken = idle.take(procs[job])
        heapq.heappush(running, (end_s[job], job, taken))
        names[job] = " ".join(f"{begin}-{end - 1}" if end - begin > 1 else str(begin) for begin, end in taken)
    return names
