"""The rules' figures under Deep Back-Filling's protocol, on Lublin-1."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from papers.deep_back_filling.protocol import (
    RIVALS,
    WINDOW_SIZES,
    protocol_starts,
    try_rival,
    window_rival,
    window_splits,
)
from simulator.jobs.jobs import Jobs, jobs_from_log
from tests.shared import shared_file
from traces.swf.reader import read_swf

PUBLISHED = {
    "FCFS+EASY": (21_940, 23_569, 32.1, 0.863, 0.78),
    "EASY-SJBF": (15_536, 17_640, 23.9, 0.838, 0.75),
    "conservative": (24_359, 26_188, 35.5, 0.868, 0.79),
    "LCFS+EASY": (4_822, 10_507, 14.3, 0.772, 0.50),
    "fewest cores": (5_161, 10_138, 13.6, 0.748, 0.39),
    "SJF+EASY": (6_653, 10_606, 14.4, 0.743, 0.73),
    "SAF+EASY": (4_490, 8_369, 11.3, 0.733, 0.56),
    "SJF first fit": (4_591, 8_039, 10.9, 0.774, 0.57),
    "SAF, none": (4_048, 10_305, 13.8, 0.640, 0.44),
}
"""Wait of placed and arrived jobs, queue, use, share of wide jobs placed: computed by another simulator."""
PLACED_WAIT_20 = {"head only": 7_092, "one tail slot": 4_849, "half": 4_594, "all tail": 4_592}
"""Of the shortest job that fits, from a window of 20."""


@lru_cache
def lublin() -> Jobs:
    log = read_swf(shared_file("traces", "swf", "lublin_256.swf.gz")).records
    columns = ("submit_s", "runtime_s", "allocated_procs", "requested_walltime_s")
    return jobs_from_log(*(log[column].fill_null(-1).to_numpy() for column in columns))


@pytest.mark.parametrize("name", RIVALS)
def test_rules_have_their_figures(name: str) -> None:
    means = try_rival(RIVALS[name], lublin(), 256, protocol_starts(len(lublin()))).means()
    columns = (means.wait_placed, means.wait_arrived, means.queue, means.use, means.wide_placed)
    for value, expected, digits in zip(columns, PUBLISHED[name], (0, 0, 1, 3, 2), strict=True):
        assert float(value) == pytest.approx(expected, rel=0.01, abs=0.51 * 10**-digits)
    assert float(means.wait_p99) < float(means.wait_longest)


def test_the_window_of_20_has_its_figures() -> None:
    first = protocol_starts(len(lublin()))
    queue = {}
    for name, (front, back) in window_splits(20).items():
        means = try_rival(window_rival("shortest", front, back), lublin(), 256, first).means()
        assert float(means.wait_placed) == pytest.approx(PLACED_WAIT_20[name], rel=0.01)
        queue[name] = float(means.queue)
    assert queue["head only"] == pytest.approx(15.1, rel=0.01) and queue["half"] == pytest.approx(11.0, rel=0.01)


def test_splits_have_all_their_slots() -> None:
    for slots in WINDOW_SIZES:
        assert all(front + back == slots for front, back in window_splits(slots).values())
    assert window_splits(20)["half"] == (10, 10)


def test_a_rule_sees_its_window_only() -> None:
    """Four processors: behind two wide jobs that wait, a job that fits is seen only with a slot at the end."""
    submit, procs = np.array([0, 1, 2, 3, 4]), np.array([3, 4, 4, 1, 1])
    jobs = Jobs(submit, *[np.full(5, 100)] * 1, procs, *[np.full(5, 100)] * 2)
    blind, split = (
        try_rival(window_rival("shortest", *window), jobs, 4, np.array([0]), placed=3, later=5, window=2)
        for window in ((2, 0), (1, 1))
    )
    assert float(split.wait_placed[0]) < float(blind.wait_placed[0])
    assert float(split.invisible[0]) < float(blind.invisible[0])
