"""Features as numbers."""

from __future__ import annotations

import numpy as np
import polars as pl

from models.runtime.predictors.encoding import MOST_WORDS, encoding_of


def test_words_are_numbered_by_how_often_they_come(rows: pl.DataFrame) -> None:
    words = ["b", "b", "a", "c", "c", None, "c"]
    taught = rows[:7].with_columns(pl.Series("queue", words))
    encoding = encoding_of(taught)
    assert encoding.words == {"queue": ["c", "b", "a"]}
    matrix = encoding.matrix(rows[:4].with_columns(pl.Series("queue", ["a", "c", "new", None])))
    column = matrix[:, encoding.features.index("queue")]
    assert column[:2].tolist() == [2, 0] and np.isnan(column[2:]).all()
    many = pl.concat([rows] * 2)[:300].with_columns(pl.Series("queue", [f"q{k:03}" for k in range(300)]))
    assert len(encoding_of(many).words["queue"]) == MOST_WORDS
    procs = matrix[:, encoding.features.index("requested_procs")]
    np.testing.assert_allclose(procs, np.log1p(rows["requested_procs"].to_numpy()[:4]), rtol=1e-6)
