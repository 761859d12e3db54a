"""Settings of PBS."""

from __future__ import annotations

import pytest

from simulator.pbs.settings import (
    REQUEUED,
    SUSPENDED,
    cycle_settings,
    formula_text,
    queue_depths,
    sort_formula,
    unmodelled_formula,
)
from tests.simulator.pbs_site import pbs_site


def test_defaults_are_those_of_pbs() -> None:
    settings = cycle_settings(pbs_site(by_queue=True, strict_ordering=False).scheduler)
    assert settings.strict == 0 and settings.by_queue == 1 and settings.depth == 1 and settings.iteration == 600
    assert settings.preempt_way == SUSPENDED and settings.decay_time == 86400 and settings.express_priority == 150


def test_settings_are_read_as_the_files_write_them() -> None:
    site = pbs_site(fairshare_decay_time="00:01:00", preempt_order="R", fair_share="True", backfill_depth=3)
    settings = cycle_settings(site.scheduler)
    assert (
        settings.decay_time == 60
        and settings.preempt_way == REQUEUED
        and settings.fair_share == 1
        and settings.depth == 3
    )
    assert queue_depths(site) == (-1, -1, -1)


@pytest.mark.parametrize(
    ("text", "is_modelled"),
    [
        ("eligible_time - min(walltime*sqrt(ncpus), 720)", True),
        ("queue_priority + 2*job_priority", True),
        ("fairshare_perc", False),
    ],
)
def test_formulas_are_replayed_or_named(text: str, is_modelled: bool) -> None:
    scheduler = pbs_site(job_sort_formula=f'"{text}"').scheduler
    assert formula_text(scheduler) == text
    assert (unmodelled_formula(scheduler) == "") == is_modelled
    if is_modelled:
        assert sort_formula(scheduler) is not None
