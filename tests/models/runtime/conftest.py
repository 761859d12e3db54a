"""Rows with all features of one busy random log, made once."""

from __future__ import annotations

import polars as pl
import pytest

from models.runtime.named import PREDICTORS
from tests.models.runtime.rows import Chain, Trial, odd_log


@pytest.fixture(scope="session")
def rows(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """Do not change."""
    return Chain(tmp_path_factory.mktemp("rows"), odd_log(seed=3)).rows()


@pytest.fixture(scope="session")
def trials(rows: pl.DataFrame) -> dict[str, Trial]:
    """Do not change."""
    return {name: Trial(name, rows) for name in PREDICTORS}
