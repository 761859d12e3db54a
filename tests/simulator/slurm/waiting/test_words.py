"""Every cause has its words."""

from simulator.slurm.waiting.kept import CLOSED_HOURS, NUM_KEPT
from simulator.slurm.waiting.words import CAUSE_WORDS, CAUSES


def test_every_cause_has_a_name_words_and_reasons_of_squeue() -> None:
    assert set(range(NUM_KEPT)) == set(CAUSES)
    assert len(CAUSE_WORDS) == len(set(CAUSE_WORDS.values())) == NUM_KEPT
    assert [code for code, cause in CAUSES.items() if not cause.reasons] == [CLOSED_HOURS]
