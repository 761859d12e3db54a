"""The score of identified rules."""

from dataclasses import replace

import pytest

from models.judging.machine import SizeOverTime
from studies.planted.clusters import PlantedCluster
from studies.planted.planting import CLASSES, HOURS, LIMIT, NONE, RESERVED, SHARES, SIZES
from studies.planted.recovery import recovery_of, signatures
from tests.studies.planted.examples import FOUR_RUNNING, PROCS, small_planted
from traces.cluster.accounts import Limit
from traces.cluster.reservations import AdvanceReservation, Gate

PLAIN = PlantedCluster(PROCS)
THREE_DAYS = replace(PLAIN, policy="fairshare:half_life_days=3")
GATE = Gate((0, 1, 2, 3, 4), 480, 1080, 3600)
WEEKLY = AdvanceReservation("m", 100_000, 140_000, repeats="weekly")
NEXT_WEEK = replace(WEEKLY, begin_s=100_000 + 7 * 86_400, end_s=141_000 + 7 * 86_400)
SECOND = replace(WEEKLY, end_s=100_001)
OF_ALICE = replace(FOUR_RUNNING, who="u001", bound=2)
LONG = Limit("partition", "long", "running", "all", "cpu", 48)


def limited(*limits: Limit) -> PlantedCluster:
    return PlantedCluster(PROCS, limits=limits)


def grown(procs: int, end_s: int) -> PlantedCluster:
    return replace(PLAIN, sizes=SizeOverTime((procs, PROCS), (end_s,)))


@pytest.mark.parametrize(
    ("kind", "hidden", "identified", "score"),
    [
        (LIMIT, limited(FOUR_RUNNING), limited(FOUR_RUNNING), (True, True, 0)),
        (LIMIT, limited(FOUR_RUNNING), limited(replace(FOUR_RUNNING, bound=6)), (True, False, 0)),
        (LIMIT, limited(FOUR_RUNNING), limited(replace(FOUR_RUNNING, each="account")), (False, False, 1)),
        (LIMIT, limited(FOUR_RUNNING, OF_ALICE), limited(FOUR_RUNNING), (True, False, 0)),
        (LIMIT, limited(FOUR_RUNNING, OF_ALICE), limited(FOUR_RUNNING, OF_ALICE), (True, True, 0)),
        (LIMIT, limited(LONG), limited(replace(LONG, owner_name="short")), (True, False, 0)),
        (LIMIT, limited(FOUR_RUNNING), PLAIN, (False, False, 0)),
        (NONE, PLAIN, PLAIN, (True, True, 0)),
        (NONE, PLAIN, limited(FOUR_RUNNING), (False, False, 1)),
        (NONE, PLAIN, replace(PLAIN, policy="fairshare"), (True, True, 0)),
        (NONE, THREE_DAYS, replace(THREE_DAYS, gates=(GATE,)), (False, False, 1)),
        (HOURS, replace(PLAIN, gates=(GATE,)), replace(PLAIN, gates=(replace(GATE, begin_minute=500),)), (True, True, 0)),
        (HOURS, replace(PLAIN, gates=(GATE,)), replace(PLAIN, gates=(replace(GATE, end_minute=900),)), (True, False, 0)),
        (HOURS, replace(PLAIN, gates=(GATE,)), replace(PLAIN, gates=(replace(GATE, over_time_s=60_000),)), (True, False, 0)),
        (SHARES, THREE_DAYS, replace(PLAIN, policy="multifactor:half_life_days=3"), (True, True, 0)),
        (SHARES, THREE_DAYS, replace(PLAIN, policy="fairshare:half_life_days=7"), (True, False, 0)),
        (RESERVED, replace(PLAIN, reservations=(WEEKLY,)), replace(PLAIN, gates=(Gate((1,), 227, 890),)), (True, False, 0)),
        (RESERVED, replace(PLAIN, reservations=(WEEKLY,)), replace(PLAIN, reservations=(NEXT_WEEK,)), (True, True, 0)),
        (RESERVED, replace(PLAIN, reservations=(WEEKLY,)), replace(PLAIN, reservations=(SECOND,)), (True, False, 0)),
        (RESERVED, replace(PLAIN, reservations=(WEEKLY,)), replace(PLAIN, gates=(GATE,)), (False, False, 1)),
        (CLASSES, replace(PLAIN, partitions=(("long", 48), ("short", 16))), limited(LONG), (True, True, 0)),
        (SIZES, grown(32, 900_000), grown(30, 901_000), (True, True, 0)),
        (SIZES, grown(32, 900_000), grown(30, 500_000), (True, False, 0)),
    ],
)  # fmt: skip
def test_scores(kind: str, hidden: PlantedCluster, identified: PlantedCluster, score: tuple[bool, bool, int]) -> None:
    planted = replace(small_planted(), kind=kind, cluster=hidden)
    result = recovery_of(planted, identified)
    assert (result.kind, result.value, len(result.surplus)) == score


def test_groups_are_accounts_here() -> None:
    by_group = limited(replace(FOUR_RUNNING, each="group"))
    assert signatures(by_group) == signatures(limited(replace(FOUR_RUNNING, each="account")))
