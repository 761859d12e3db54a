"""What `tracehouse cluster identify` prints."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from models.identification.identify import Identification
from models.identification.orders import OrderEvidence
from models.identification.rules import HOURS, ORDER, RUNNING_JOBS, Bound, Evidence, IdentifiedRule, RejectedRule
from models.identification.sentences import sentence_of
from models.judging.fidelity import agreement_of
from tracehouse.text.rules_text import identification_text, identification_values

RULE = IdentifiedRule(RUNNING_JOBS, "user", 10, evidence=Evidence(34, 31))
WAITS = np.arange(200) * 100
SAME = agreement_of(WAITS, WAITS, WAITS)
RESULT = Identification(
    64,
    (replace(RULE, sentence=sentence_of(RULE)),),
    (IdentifiedRule(HOURS, "all", origin="declared"),),
    (RejectedRule(IdentifiedRule(ORDER, "all", word="SJF"), "the waits fit no better"),),
    7,
    400,
    OrderEvidence(0),
    agreement_of(WAITS, WAITS * 0, WAITS),
    SAME,
    SAME,
)


def test_declared_found_and_unknown_are_told_apart() -> None:
    lines = identification_text("mine", RESULT, False, None).splitlines()
    assert lines[0] == "mine: 1 rule found in the first half of the log"
    assert lines[1] == "  1. Each user has at most 10 running jobs: seen for 31 of 34 that could have had more."
    text = "\n".join(lines)
    assert "declared  hours" in text and "found     1 above" in text
    assert "unknown   size, order, backfilling (nothing better than what replays assume); memory" in text
    assert "search    7 of at most 400 replays, 1 candidates rejected" in text and "neighbouring months" in text
    assert "Jobs start in the order of SJF. Rejected: the waits fit no better." in identification_text(
        "mine", RESULT, True, None
    )


def test_values_are_json() -> None:
    rule = replace(RULE, bounds=(Bound("ann", 0, 5),))
    values = json.loads(json.dumps(identification_values(replace(RESULT, rules=(rule,)))))
    assert values["rules"][0]["bounds"] == [{"holder": "ann", "since_s": 0, "value": 5}]
    assert values["rejected"][0]["because"] == "the waits fit no better"
