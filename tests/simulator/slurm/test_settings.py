"""Settings of Slurm as numbers."""

from __future__ import annotations

import pytest

from simulator.slurm.settings import slurm_settings
from traces.cluster.description import SchedulerSettings


def test_defaults_and_values_from_parameters() -> None:
    defaults = slurm_settings(SchedulerSettings("slurm"))
    assert (defaults.interval, defaults.window, defaults.job_tests, defaults.table_rows) == (30, 86_400, 500, 500)
    values = {"schedulerparameters": "bf_interval=300,assoc_limit_stop", "schedulertype": "sched/builtin"}
    own = slurm_settings(SchedulerSettings("slurm", "", values | {"prioritytype": "priority/multifactor"}))
    assert (own.interval, own.stops_at_limit, own.backfills, own.basic) == (300, 1, 0, 0)


def test_defaults_by_version() -> None:
    old, new = (slurm_settings(SchedulerSettings("slurm", version)) for version in ("23.02.7", "23.11"))
    assert (old.basic, old.whole_nodes) == (1, 1) and (new.basic, new.whole_nodes) == (0, 0)


def test_a_value_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="bf_window=long: expected a number"):
        slurm_settings(SchedulerSettings("slurm", "", {"bf_window": "long"}))
