"""The registry of run-time models: what a rollback does, and what a lost file, a killed run or two runs at once leave behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from assets.common.storage import store_model
from assets.features.tables import runtime_rows
from assets.predictions import model_registry
from assets.predictions.model_registry import load_champion, roll_back
from models.runtime import challenge as contest
from models.runtime.challenge import Verdict
from tests.assets.predictions.registry import drift_of, kinds, model_file, night, registry, stored
from tests.tiny import assert_same_tables
from warehouse import Warehouse


def test_no_model_yet(warehouse: Warehouse) -> None:
    with pytest.raises(ValueError, match="source 'mine' has no run-time model"):
        load_champion(warehouse, "mine")
    with pytest.raises(ValueError, match="source 'mine' has no run-time model: `tracehouse run mine"):
        roll_back(warehouse, "mine")


def test_rollback_goes_back_step_by_step(warehouse: Warehouse) -> None:
    for predictor in ("requested", "last_two", "user_mean"):
        night(warehouse, predictor)
    assert kinds(warehouse) == [("first", 1, 1), ("promoted", 2, 2), ("promoted", 3, 3)]
    assert roll_back(warehouse, "mine") == (3, 2)
    assert roll_back(warehouse, "mine") == (2, 1)
    with pytest.raises(ValueError, match="has had no champion before version 1: there is nothing to go back to"):
        roll_back(warehouse, "mine")
    assert roll_back(warehouse, "mine", 3) == (1, 3)
    assert roll_back(warehouse, "mine") == (3, 1)
    assert kinds(warehouse)[3:] == [("rolled back", version, version) for version in (2, 1, 3, 1)]
    assert [event["event"] for event in stored(warehouse, "model_events")] == [1, 2, 3, 4, 5, 6, 7]
    assert stored(warehouse, "model_events")[-1]["reason"] == "by hand, instead of version 3"
    assert load_champion(warehouse, "mine")[1].name == "requested"


def test_rollback_to_one_that_was_refused(warehouse: Warehouse) -> None:
    night(warehouse, "user_mean")
    night(warehouse, "requested")
    with pytest.raises(ValueError, match="no champion before version 1"):
        roll_back(warehouse, "mine")
    with pytest.raises(ValueError, match=r"has no version 3\. It has 1, 2"):
        roll_back(warehouse, "mine", 3)
    with pytest.raises(ValueError, match="version 1 is the champion of source 'mine' already"):
        roll_back(warehouse, "mine", 1)
    assert len(kinds(warehouse)) == 2
    assert roll_back(warehouse, "mine", 2) == (1, 2)
    assert roll_back(warehouse, "mine") == (2, 1)


def test_next_challenger_meets_the_champion_that_a_rollback_left(warehouse: Warehouse) -> None:
    night(warehouse, "requested")
    night(warehouse, "user_mean")
    roll_back(warehouse, "mine")
    assert "nothing new: version 2" in night(warehouse, "user_mean")  # the same night does not undo the rollback
    assert "version 3 (last_two): promoted" in night(warehouse, "last_two")  # worse than 2, better than 1


@pytest.mark.parametrize("harm", ["lost", "damaged"])
def test_lost_or_damaged_file(warehouse: Warehouse, harm: str) -> None:
    night(warehouse, "requested")
    night(warehouse, "user_mean")
    path = model_file(warehouse, 2)
    content = path.read_bytes()
    told = "the model file is gone" if harm == "lost" else "is not the one that was trained"

    def do_harm(path: Path) -> None:
        path.unlink() if harm == "lost" else path.write_bytes(content[:-9] + b"?" + content[-8:])

    do_harm(path)
    for use in (lambda: load_champion(warehouse, "mine"), lambda: drift_of(warehouse)):
        with pytest.raises(ValueError, match=told):
            use()
    assert "nothing new: version 2" in night(warehouse, "user_mean")
    assert path.read_bytes() == content  # the same training has made the same file again

    do_harm(path)
    rows = runtime_rows(warehouse, "mine")
    roll_back(warehouse, "mine")
    before = registry(warehouse)
    with pytest.raises(ValueError, match=told):
        roll_back(warehouse, "mine", 2)
    assert_same_tables(before, registry(warehouse))

    do_harm(model_file(warehouse, 1))  # and now no other night can compare with the champion
    said = night(warehouse, "last_two", rows=rows[:-50])
    assert "version 3 (last_two): first, version 1 cannot be used any more: " in said and told in said
    assert load_champion(warehouse, "mine")[0] == 3


def test_file_of_another_tracehouse(warehouse: Warehouse) -> None:
    night(warehouse, "requested")
    other, digest = store_model("mine", "runtime-model", b'{"levels": [0.5]}')
    with warehouse.write() as connection:
        connection.execute("UPDATE predictions.model_versions SET file = ?, sha256 = ?", [other, digest])
    with pytest.raises(ValueError, match="not a run-time predictor of this tracehouse"):
        load_champion(warehouse, "mine")
    assert "first, version 1 cannot be used any more" in night(warehouse, "user_mean")
    with pytest.raises(ValueError, match="not a run-time predictor of this tracehouse"):
        roll_back(warehouse, "mine")


def test_a_version_and_its_event_come_together(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warehouse = Warehouse(file)
    night(warehouse, "requested")
    before = registry(warehouse)
    with monkeypatch.context() as patch:
        broken: Any = None  # no event is without a reason: the version is in when its event fails
        patch.setattr(contest, "judge_predictor", lambda *_: Verdict(True, 1.0, 1.0, 1.0, broken))
        with pytest.raises(duckdb.ConstraintException):
            night(warehouse, "user_mean")
    assert_same_tables(before, registry(warehouse))
    assert "version 2 (user_mean): promoted" in night(warehouse, "user_mean")


def test_rollback_while_a_challenger_is_judged(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    night(warehouse, "requested")
    night(warehouse, "user_mean")
    judged, judge = [], contest.judge_predictor

    def judge_late(*arguments: Any) -> Verdict:
        if not judged:
            roll_back(warehouse, "mine")
        judged.append(judge(*arguments))
        return judged[-1]

    monkeypatch.setattr(contest, "judge_predictor", judge_late)
    assert "version 3 (last_two): promoted" in night(warehouse, "last_two")
    assert [verdict.promote for verdict in judged] == [False, True]
    assert kinds(warehouse)[2:] == [("rolled back", 1, 1), ("promoted", 3, 3)]
    assert [card["version"] for card in stored(warehouse, "model_versions")] == [1, 2, 3]


def test_two_runs_of_the_same_night(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    night(warehouse, "requested")
    judge, inner = contest.judge_predictor, []

    def judge_late(*arguments: Any) -> Verdict:
        monkeypatch.setattr(contest, "judge_predictor", judge)
        inner.append(night(warehouse, "user_mean"))
        return judge(*arguments)

    monkeypatch.setattr(contest, "judge_predictor", judge_late)
    assert night(warehouse, "user_mean") == "nothing new: version 2 was trained and judged on the same jobs"
    assert "version 2 (user_mean): promoted" in inner[0]
    assert kinds(warehouse) == [("first", 1, 1), ("promoted", 2, 2)]


def test_rollback_to_a_file_that_is_removed_meanwhile(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A night removes files that are no longer needed. It must not leave a champion without a file."""
    night(warehouse, "requested")
    night(warehouse, "user_mean")
    before, load = registry(warehouse), model_registry._load

    def load_then_lose(*arguments: Any) -> Any:
        model = load(*arguments)
        model_file(warehouse, 1).unlink()
        return model

    monkeypatch.setattr(model_registry, "_load", load_then_lose)
    with pytest.raises(ValueError, match="have changed this moment"):
        roll_back(warehouse, "mine")
    assert_same_tables(before, registry(warehouse))
