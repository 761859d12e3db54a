"""The jobs of a log with what happened to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from models.identification.logged_jobs import Holders
from tests.models.identification.hidden import hidden_log


def test_the_first_jobs_keep_their_names_and_columns_have_one_length() -> None:
    log = hidden_log(count=400)
    first = log.first(50)
    assert len(first.jobs) == len(first.wait) == len(first.holders["user"].number) == 50
    assert first.holders["user"].names == log.holders["user"].names
    with pytest.raises(ValueError, match="user has 1 values"):
        replace(log, holders={"user": Holders(np.zeros(1, dtype=np.int64), ("ann",))})
