"""Every cause has its words."""

from simulator.slurm.waiting.kept import NUM_KEPT
from simulator.slurm.waiting.words import KEPT_NAMES, KEPT_WORDS, SLURM_REASONS


def test_every_cause_has_a_name_words_and_reasons_of_squeue() -> None:
    assert set(range(NUM_KEPT)) == set(KEPT_WORDS) == set(KEPT_NAMES) == set(SLURM_REASONS)
    assert list(KEPT_WORDS) == list(KEPT_NAMES) and len(set(KEPT_NAMES.values())) == NUM_KEPT
