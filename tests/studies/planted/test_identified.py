"""What the product makes of a planted log, in the form of planted rules, and under changes."""

from __future__ import annotations

import numpy as np

from models.identification.replaying import RuledCluster
from models.identification.rules import BACKFILL, HOURS, ORDER, RUNNING_JOBS, SIZE, Bound, IdentifiedRule
from studies.planted.changes import BACKFILLING, MORE, RAISED, ClusterChange
from studies.planted.changes import ORDER as ANOTHER_ORDER
from studies.planted.identified import changed_cluster, cluster_of, identified, log_of
from studies.planted.planting import HOURS as PLANTED_HOURS
from studies.planted.planting import LIMIT
from studies.planted.recovery import recovery_of
from tests.studies.planted.examples import PROCS, small_planted
from traces.cluster.reservations import Gate

FOUR = IdentifiedRule(RUNNING_JOBS, "user", 4)
OWN = IdentifiedRule(RUNNING_JOBS, "queue", bounds=(Bound("long", 0, 2), Bound("short", 0, None)))
CLOSED = IdentifiedRule(HOURS, "all", gate=Gate((0,), 480, 1080))
GROWN = IdentifiedRule(SIZE, "all", bounds=(Bound("", 0, 32), Bound("", 900, PROCS)))
SAF = IdentifiedRule(ORDER, "all", word="SAF")


def test_the_limit_of_a_small_log_is_found_and_its_replays_are_those_of_the_hidden_cluster() -> None:
    planted = small_planted()
    identification, predictor = identified(planted)
    cluster = cluster_of(identification, planted.workload)
    score = recovery_of(planted, cluster)
    assert score.kind and score.value and not score.surplus
    waits = predictor(None)
    assert waits is not None and np.array_equal(waits, planted.start - planted.workload.jobs.submit)
    raised = predictor(ClusterChange(RAISED, LIMIT))
    assert raised is not None and raised.mean() < waits.mean()


def test_changes_are_made_on_what_was_identified() -> None:
    cluster = RuledCluster(PROCS, (FOUR, OWN, CLOSED, GROWN, SAF))
    more = changed_cluster(cluster, ClusterChange(MORE))
    assert more.procs == 80 and [bound.value for bound in more.rules[3].bounds] == [48, 80]
    relaxed = changed_cluster(cluster, ClusterChange(RAISED, LIMIT)).rules
    assert relaxed[0].value == 6 and [bound.value for bound in relaxed[1].bounds] == [3, None] and CLOSED in relaxed
    assert CLOSED not in changed_cluster(cluster, ClusterChange(RAISED, PLANTED_HOURS)).rules
    ordered = changed_cluster(cluster, ClusterChange(ANOTHER_ORDER, "FCFS"))
    assert ordered.order == "FCFS" and SAF not in ordered.rules
    assert (
        IdentifiedRule(BACKFILL, "all", word="any") in changed_cluster(cluster, ClusterChange(BACKFILLING, "any")).rules
    )
    assert changed_cluster(cluster, ClusterChange(MORE)).waits(log_of(small_planted())) is not None
