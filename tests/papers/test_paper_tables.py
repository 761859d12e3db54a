"""Every table of a paper is made by something that there is, and its queries are of the warehouse's tables."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from assets.common.storage import open_warehouse
from papers.reproduce import PAPER_TABLES
from tracehouse.cli.parameters.names import ASSET_NAMES

BY_ASSETS = [name for name, table in PAPER_TABLES.items() if table.steps]


def test_each_is_made_in_one_way() -> None:
    for table in PAPER_TABLES.values():
        assert bool(table.steps) != bool(table.study) and bool(table.steps) == bool(table.query)
        assert {step.asset for step in table.steps} <= set(ASSET_NAMES)
        if table.study:
            assert table.study[0].startswith("papers.")  # a wheel has nothing else that prints
            assert importlib.util.find_spec(table.study[0]) is not None


@pytest.mark.parametrize("name", BY_ASSETS)
def test_queries_are_of_the_tables(loaded: tuple[Path, str], name: str) -> None:
    table = PAPER_TABLES[name]
    with open_warehouse().read() as connection:
        assert connection.sql(table.query, params={"source": "mine"}).fetchall() == []
        for step in table.steps:
            assert connection.execute(step.made, {"source": "mine"}).fetchall() == [(0,)]


@pytest.mark.parametrize("name", BY_ASSETS)
def test_settings_are_those_of_the_asset(name: str) -> None:
    from pipelines.definitions import defs

    for step in PAPER_TABLES[name].steps:
        (node,) = [
            node
            for node in defs.resolve_implicit_global_asset_job_def().nodes
            if node.name == step.asset.replace("/", "__")
        ]
        fields = node.definition.config_schema.config_type.fields if step.config else {}
        assert set(step.config) <= set(fields)
