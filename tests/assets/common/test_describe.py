"""What a person sees in the UI: schemas from the statements, tables and pictures."""

from __future__ import annotations

import polars as pl

from assets.common.describe import plot, table, table_metadata
from assets.common.plots import figure


def test_a_table_has_the_columns_and_comments_of_its_statement() -> None:
    metadata = table_metadata("replay.runs")
    columns = {column.name: column for column in metadata["dagster/column_schema"].columns}
    assert columns["average_wait_s"].type == "DOUBLE"
    assert columns["average_wait_s"].description == "mean wait, seconds: start minus submission"
    assert metadata["about"].value.startswith("What-if replays of a source")


def test_a_markdown_table_shows_the_first_rows() -> None:
    rows = pl.DataFrame({"name": ["a|b", None], "value": [0.1234, 123456.7]})
    assert table(rows).value.splitlines() == [
        "| name | value |",
        "| --- | --- |",
        "| a\\|b | 0.123 |",
        "|  | 123,457 |",
    ]
    assert table(rows, most=1).value.endswith("… and 1 more rows")


def test_a_picture_is_inside_the_text() -> None:
    assert plot(figure()[0]).value.startswith("![plot](data:image/png;base64,")


def test_what_a_log_says_is_no_markup() -> None:
    """The UI would load a picture from the network, or show a link of somebody else."""
    rows = pl.DataFrame(
        {"queue": ["![x](http://a.b/c.png)", "<img src=x onerror=alert(1)>", "a\nb | `c` *d*", "a_b-c.d"]}
    )
    assert table(rows).value.splitlines()[2:] == [
        r"| \!\[x\](http://a.b/c.png) |",
        r"| \<img src=x onerror=alert(1)\> |",
        r"| a b \| \`c\` \*d\* |",
        "| a_b-c.d |",
    ]
