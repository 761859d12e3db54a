"""Results that are kept, so that a stopped study goes on."""

from pathlib import Path

import polars as pl
import pytest

from studies.planted import keeping
from studies.planted.effects import SCHEMA

EMPTY = pl.DataFrame(schema=SCHEMA)


def test_what_is_kept_is_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def result(number: int, series: int, of: int) -> keeping.PlantedResult:
        asked.append(number)
        return keeping.PlantedResult({"number": number, "series": series, "of": of}, EMPTY)

    monkeypatch.setattr(keeping, "result_of", result)
    monkeypatch.setattr(keeping, "data_folder", lambda: tmp_path)
    folder = tmp_path / "planted" / keeping.code_key()
    folder.mkdir(parents=True)
    for number in (2, 4):
        keeping.keep_result(folder, 1, number, 9)
    results = list(keeping.planted_results(1, (4, 2), 9))
    assert asked == [2, 4] and [each.facts["number"] for each in results] == [4, 2]
    assert dict(results[0].effects.schema) == SCHEMA


def test_the_key_is_that_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    before = keeping.code_key()
    assert before == keeping.code_key() and len(before) == 12
    monkeypatch.setattr(keeping, "SOURCES", keeping.SOURCES[:1])
    assert keeping.code_key() != before
