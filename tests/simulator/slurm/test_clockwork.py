"""The state of a replay."""

from __future__ import annotations

from simulator.slurm.clockwork import STOPS, STOPS_TO_ORDER


def test_a_clock_has_a_place_for_everything() -> None:
    """The last place is that of who stops the loop, which `new_replay` makes room for."""
    assert STOPS == 17 and STOPS_TO_ORDER == 1
