"""Changes that an operator might try."""

from dataclasses import replace

from models.judging.machine import SizeOverTime
from studies.planted.changes import MORE, ORDER, RAISED, ClusterChange, changes_of
from studies.planted.clusters import PBS, SLURM, PlantedCluster
from studies.planted.planting import HOURS, LIMIT, NONE, SHARES
from tests.studies.planted.examples import FOUR_RUNNING, PROCS, small_planted
from traces.cluster.reservations import Gate


def test_more_nodes_are_whole_nodes_and_keep_what_queues_own_and_how_sizes_change() -> None:
    more = ClusterChange(MORE)
    assert more.on(PlantedCluster(PROCS)).procs == 80 and more.on(PlantedCluster(160)).procs == 192
    parted = more.on(PlantedCluster(PROCS, partitions=(("long", 48), ("short", 16))))
    assert parted.procs == sum(procs for _, procs in parted.partitions) == 96
    grown = more.on(PlantedCluster(PROCS, sizes=SizeOverTime((32, PROCS), (9,))))
    assert grown.sizes == SizeOverTime((48, 80), (9,)) and grown.procs == 80


def test_limits_are_raised_by_half_and_hours_are_lifted() -> None:
    cluster = PlantedCluster(PROCS, limits=(FOUR_RUNNING,), gates=(Gate((0,), 0, 60),))
    assert ClusterChange(RAISED, LIMIT).on(cluster).limits[0].bound == 6
    lifted = ClusterChange(RAISED, HOURS).on(cluster)
    assert not lifted.gates and lifted.limits == cluster.limits


def test_each_engine_has_the_changes_that_it_knows() -> None:
    planted = small_planted()
    names = {
        engine: len(list(changes_of(replace(planted, cluster=replace(planted.cluster, engine=engine)))))
        for engine in ("orders", SLURM, PBS)
    }
    assert names == {"orders": 4, SLURM: 3, PBS: 2}
    assert [each.name for each in changes_of(replace(planted, kind=NONE))][:2] == [MORE, ORDER]
    assert ClusterChange(ORDER, "fairshare:half_life_days=28") in changes_of(replace(planted, kind=SHARES))
