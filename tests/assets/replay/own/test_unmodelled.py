"""Rules of a cluster that no replay under its own scheduler has."""

from __future__ import annotations

from dataclasses import replace

from assets.replay.own.unmodelled import unmodelled_rules
from tests.simulator.busy import SITE
from traces.cluster.description import SchedulerSettings


def test_the_scheduler_says_which_rules_are_in_the_replay() -> None:
    cluster = replace(SITE, scheduler=SchedulerSettings("pbs", "23.06", {"round_robin": True}))
    assert "round_robin=True: queues would take turns" in unmodelled_rules(cluster)
    assert unmodelled_rules(replace(SITE, licences={"matlab": 2})) == [
        "licences matlab: jobs would wait for them, but the log does not say which"
    ]
