"""Letters of figures."""

import numpy as np
import pytest

from models.judging.grades import (
    GRADES,
    LETTER_RULES,
    WAIT_FIGURES,
    WITHIN,
    figure_of,
    letter_of,
    promise_of,
    times_off,
)


def test_each_letter_asks_for_less_and_promises_less_than_the_one_before() -> None:
    assert tuple(WITHIN) == GRADES and tuple(LETTER_RULES) == WAIT_FIGURES and WITHIN["D"] is None
    assert list(WITHIN.values())[:3] == sorted(filter(None, WITHIN.values()))
    for rules in LETTER_RULES.values():
        for name, order in (("off", 1), ("distance", 1), ("rank", -1)):
            values = [order * getattr(rules[letter], name) for letter in GRADES[:3]]
            assert values == sorted(values), name


@pytest.mark.parametrize("figure", WAIT_FIGURES)
@pytest.mark.parametrize("letter", GRADES[:3])
def test_a_letter_is_given_up_to_its_thresholds_and_no_further(figure: str, letter: str) -> None:
    rule = LETTER_RULES[figure][letter]
    replayed = 3540 * rule.off + 59 * (rule.off - 1)
    best = letter_of(figure, (3540, replayed), rule.rank, rule.distance)
    assert best <= letter and letter_of(figure, (3540, 3540), 1.0, 0.0) == "A"
    for worse in ((replayed + 90, rule.rank), (replayed, rule.rank - 0.01)):
        asked = letter_of(figure, (3540, worse[0]), worse[1], rule.distance)
        assert asked > letter or LETTER_RULES[figure][asked] == rule


def test_figures_and_how_far_off_they_are() -> None:
    waits = np.arange(101) * 60
    assert [figure_of(figure, waits) for figure in WAIT_FIGURES] == [3000, 3000, 5700]
    assert times_off(60, 180) == times_off(180, 60) == 2.0


def test_promises_in_words() -> None:
    in_words = "predicted changes of the 95th percentile of wait are within 30 % of the true ones in 9 of 10 cases"
    assert promise_of("B", "p95") == in_words
    assert "within a factor of 2 " in promise_of("C", "mean") and "no promise" in promise_of("D", "mean")
