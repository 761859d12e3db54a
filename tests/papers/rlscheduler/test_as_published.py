"""The kept policies of RLScheduler's own training."""

from __future__ import annotations

import numpy as np
import pytest

from models.scheduling.options import PAPER_PPO
from models.scheduling.policy_file import policy_from_bytes
from papers.kept_files import members_of
from papers.rlscheduler.as_published import (
    CURVE_FILE,
    KEPT_TRAININGS,
    NETWORK_FILE,
    PUBLISHED_TRAININGS,
    SHOWN_EPOCHS,
    beside_paper,
    epoch_rows,
    judged_cost,
    published_card,
)
from studies.publishing.results import stored
from tests.shared import shared_file


def test_every_training_is_kept_whole() -> None:
    members = members_of(KEPT_TRAININGS)
    curves = members[CURVE_FILE].decode().splitlines()
    for training in PUBLISHED_TRAININGS:
        lines = [line.split(",") for line in curves if line.startswith(f"{training.name},")]
        assert [int(line[1]) for line in lines] == list(range(1, PAPER_PPO.epochs + 1))
        best = 1 + int(np.argmin([float(line[3]) for line in lines]))
        for which in ("last", "best"):
            weights, card = policy_from_bytes(members[f"{training.name}-{which}.json"])
            assert card == published_card(training, which, best) and len(weights.facts) + len(weights.signals) == 8
    assert len(members) == 2 * len(PUBLISHED_TRAININGS) + len((CURVE_FILE, NETWORK_FILE))


def test_curves_are_means_over_seeds() -> None:
    rows = epoch_rows("a-1,1,9,2\na-2,1,9,4\na-1,2,9,-6\nb-1,1,9,1\n")
    assert rows == {"a": ["3", "6", *["-"] * (len(SHOWN_EPOCHS) - 2)], "b": ["1", *["-"] * (len(SHOWN_EPOCHS) - 1)]}


def test_the_short_table_is_of_the_long_one() -> None:
    tables = stored()
    long, short = (
        [[cell.strip() for cell in line.strip("|").split("|")] for line in tables[f"as_published, {name}"].lines[2:]]
        for name in ("bounded slowdown (V)", "beside the paper")
    )
    assert list(beside_paper(long)) == short
    assert short[1] == ["Lublin-1", "easy", "58.64", "54.00 (SAF)", "68.75 to 78.85", "69.01 to 83.46"]


@pytest.mark.parametrize("log", ["Lublin-1", "SDSC-SP2"])
def test_a_kept_policy_costs_what_the_page_says(log: str) -> None:
    shared_file("traces", "swf", "lublin_256.swf.gz")
    members = members_of(KEPT_TRAININGS)
    trainings = [each for each in PUBLISHED_TRAININGS if (each.log, each.goal, each.filtered) == (log, "bsld", True)]
    costs = [f"{judged_cost(members, each, 'best', 'none'):.2f}" for each in trainings]
    (line,) = [
        line
        for line in stored()["as_published, bounded slowdown (V)"].lines
        if line.startswith(f"| {log} | ours, with the filter, best")
    ]
    assert line.split("|")[3].strip() == ", ".join(costs)
