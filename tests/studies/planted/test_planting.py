"""Rules that matter, planted into generated clusters."""

import numpy as np
import pytest

from studies.planted.clusters import rule_words, starts_on
from studies.planted.planting import CLUSTERS, KINDS, LEAST_CHANGED, NONE, PlantedLog, planted_log


def test_there_are_as_many_as_the_issue_asks_for_and_each_kind_has_its_share() -> None:
    assert CLUSTERS == 200 and sum(count for kind, *_, count in KINDS if kind == NONE) == 40


@pytest.mark.parametrize("number", [3, 45, 120, 150, 170, 182, 190, 198])
def test_a_planted_rule_matters_in_both_halves_and_the_log_is_that_of_its_seed(number: int) -> None:
    planted = planted_log(number)
    assert isinstance(planted, PlantedLog) and planted.number == number
    start = starts_on(planted.cluster, planted.workload, is_true=True)
    assert (start == planted.start).all() and (start >= planted.workload.jobs.submit).all()
    if planted.kind == NONE:
        assert not list(rule_words(planted.cluster)) and planted.cluster == planted.bare
        return
    moved = np.abs(start - starts_on(planted.bare, planted.workload, is_true=True)) > 60
    half = planted.workload.later_half
    assert min(moved[half].mean(), moved[~half].mean()) >= LEAST_CHANGED and moved[half].mean() == planted.changed


def test_a_smaller_series_has_the_same_kinds() -> None:
    few = [planted_log(number, series=3, of=5) for number in (0, 4)]
    assert few[0].kind == NONE and few[1].kind != NONE
    with pytest.raises(ValueError, match="fewer planted clusters"):
        planted_log(5, of=5)
