"""Words that choose a rule are known to the engine, and checked in one way."""

from __future__ import annotations

import pytest

from simulator.engine.replay import rules_of
from simulator.jobs.words import (
    BACKFILLING,
    CORRECTIONS,
    POLICY_WORDS,
    RULE_SETS,
    one_of,
    partitions_text,
    unknown_word,
)
from simulator.policies.registry import POLICY_NAMES


def test_the_engine_takes_every_word() -> None:
    rules = {(rule, word): rules_of(rule, word, 8) for rule in BACKFILLING for word in CORRECTIONS}
    assert len({rules["easy", word].correction for word in CORRECTIONS}) == len(CORRECTIONS)


def test_the_policies_are_those_of_the_registry() -> None:
    assert POLICY_WORDS == POLICY_NAMES


def test_a_word_that_is_none_is_named_with_those_that_are() -> None:
    assert one_of("rules", "standard", RULE_SETS) == "standard"
    with pytest.raises(
        ValueError, match="unknown rules 'pbs'; expected one of standard, rlscheduler, rlscheduler-corrected"
    ):
        one_of("rules", "pbs", RULE_SETS)


def test_the_nearest_word_is_asked_for() -> None:
    """In any case, and whatever options follow it."""
    words = ("SJF", "tetris-star")
    assert (
        unknown_word("policy", "sjff", words)
        == "unknown policy 'sjff'; did you mean 'SJF'? Expected one of SJF, tetris-star"
    )
    assert "did you mean 'tetris-star'?" in unknown_word("policy", "tetris_star:seed=1", words)
    assert (
        unknown_word("policy", "LIFO", words, " or more")
        == "unknown policy 'LIFO'; expected one of SJF, tetris-star or more"
    )


def test_partitions_in_words() -> None:
    assert partitions_text({"gpu": 2, "debug": 1}) == "gpu=2, debug=1"
    assert partitions_text({}) == ""
