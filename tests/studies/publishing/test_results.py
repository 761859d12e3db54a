"""Published tables: what is stored is on the pages, digit by digit, and says what made it."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from assets.common.storage import store_model
from models.scheduling.policy_file import policy_to_bytes
from simulator.policies.observation import AGENT_LAYOUTS, blank_network
from studies.publishing.results import (
    FILE_MARK,
    MARK,
    PACKAGES,
    PAGES,
    PRINTED,
    PublishedTable,
    csv_text,
    files_of,
    module_of,
    names_in_file,
    published,
    rewritten,
    store,
    stored,
    table_of_file,
    tables_of,
)
from studies.publishing.warehouse_tables import (
    BUNDLED,
    PREDICTED,
    held_out_table,
    of_estimates,
    runtimes_table,
    warehouse_tables,
)
from warehouse import Warehouse, replace_partition

MOST_WORDS = 1200
"""Of a page of results, cells of tables counted."""
MOST_WORDS_OF_ALL = 18_200
PRINTED_TEXT = """
KTH-SP2

| policy | ratio |
| --- | ---: |
| SJF | 0.37 |

Certain after Holm's correction for 1 rules: none.

CTC-SP2

| policy | ratio |
| --- | ---: |
| SJF | 0.53 |
| SAF | 0.40 |
"""


def marks() -> list[tuple[str, str]]:
    """Page and name of every table that a page takes from the results, into its text or a file beside it."""
    shown = [(page.name, mark["name"]) for page in PAGES for mark in MARK.finditer(page.read_text())]
    return shown + [
        (page.name, name)
        for page in PAGES
        for mark in FILE_MARK.finditer(page.read_text())
        for name in names_in_file(mark["name"], stored()).values()
    ]


def test_pages_have_the_numbers_that_are_stored() -> None:
    tables = stored()
    for page in PAGES:
        text = page.read_text()
        assert rewritten(text, tables) == text, f"{page.name}: python -m studies results --pages writes its tables"
        for file, lines in files_of(page, tables).items():
            assert file.read_text() == lines, f"{file.name}: python -m studies results --pages writes it"
            assert f"]({file.name})" in text, f"{file.name}: {page.name} has no link to it"


def test_a_table_as_csv() -> None:
    table = PublishedTable(
        "", "", {}, ["| a, b | c |", "| --- | --- |", "| **1,234** | `x*y**2`, z |", "| 12,345,678 | 0.5 [0, 1] |"]
    )
    assert csv_text(table) == '"a, b",c\n1234,"x*y**2, z"\n12345678,"0.5 [0, 1]"\n'


def test_tables_of_one_kind_share_a_file() -> None:
    heading = ["| rule | wait |", "| --- | ---: |"]
    tables = {
        f"waits, {log}": PublishedTable("", "", {}, [*heading, f"| SJF | {wait} |"])
        for log, wait in (("a", "1"), ("b", "2"))
    }
    tables["waits"] = PublishedTable("", "", {}, ["| rule |", "| --- |", "| SAF |"])
    assert csv_text(table_of_file("waits, {log}", tables)) == "log,rule,wait\na,SJF,1\nb,SJF,2\n"
    assert csv_text(table_of_file("waits", tables)) == "rule\nSAF\n"
    with pytest.raises(ValueError, match="other columns"):
        table_of_file("wait{which}", tables)
    with pytest.raises(KeyError, match="starts"):
        table_of_file("starts, {log}", tables)


def test_pages_of_results_are_short() -> None:
    words = {page.name: len(page.read_text().split()) for page in PAGES if page.parent.name == "results"}
    assert {name: number for name, number in words.items() if number > MOST_WORDS} == {}
    assert sum(words.values()) <= MOST_WORDS_OF_ALL


def test_every_stored_table_is_on_one_page() -> None:
    names = [name for _, name in marks()]
    assert sorted(names) == sorted(stored()), "a table is on no page or on two"
    for start, mark in (("<!-- results:", MARK), ("<!-- csv:", FILE_MARK)):
        for page in PAGES:
            text = page.read_text()
            assert text.count(start) == len(mark.findall(text)), f"{page.name}: a mark is not whole"


def test_every_table_says_what_made_it() -> None:
    for name, table in stored().items():
        assert date.fromisoformat(table.made) > date(2026, 11, 1), name
        assert set(PACKAGES) <= set(table.versions) and {"semantics", "simulator", "python"} <= set(table.versions)
        is_printed = table.command in [f"python -m {module_of(each)}" for each in PRINTED]
        assert is_printed or re.match("tracehouse (vasp )?run", table.command), name
        widths = {line.count("|") for line in table.lines}
        assert len(widths) == 1 and len(table.lines) > 2, name


def test_another_digit_on_a_page_is_seen() -> None:
    page = "<!-- results: one -->\n\n| a |\n| --- |\n| 1.23 |\n\n<!-- end -->\n"
    table = PublishedTable("python -m studies verdicts", "2026-11-23", {}, ["| a |", "| --- |", "| 1.24 |"])
    assert rewritten(page, {"one": table}) == page.replace("1.23", "1.24")
    with pytest.raises(KeyError, match="one"):
        rewritten(page, {})


def test_a_new_place_for_a_table_is_filled_and_nothing_else() -> None:
    place, later = (
        "<!-- results: one -->\n\n{}<!-- end -->\n\nWords.\n\n",
        "<!-- results: two -->\n\n| b |\n\n<!-- end -->\n",
    )
    tables = {name: PublishedTable("", "", {}, [f"| {name} |"]) for name in ("one", "two")}
    filled = place.format("| one |\n\n") + later.replace("| b |", "| two |")
    assert rewritten(place.format("") + later, tables) == filled == rewritten(filled, tables)


def test_tables_of_what_a_benchmark_printed() -> None:
    found = tables_of(PRINTED_TEXT)
    assert found == {
        "KTH-SP2": "| policy | ratio |\n| --- | ---: |\n| SJF | 0.37 |",
        "CTC-SP2": "| policy | ratio |\n| --- | ---: |\n| SJF | 0.53 |\n| SAF | 0.40 |",
    }
    assert tables_of("| a |\n| --- |\n| 1 |") == {"": "| a |\n| --- |\n| 1 |"}


def test_a_table_replaces_that_of_its_name(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    store(
        {"one": published("python -m benchmarks.x", "| 1 |"), "two": published("python -m benchmarks.x", "| 2 |")}, file
    )
    store({"one": published("python -m benchmarks.y", "| 3 |\n")}, file)
    after = stored(file)
    assert after["one"].lines == ["| 3 |"] and after["one"].command == "python -m benchmarks.y"
    assert after["two"].lines == ["| 2 |"] and after["two"].versions["duckdb"]


def test_seeds_with_one_schedule_share_a_line() -> None:
    row = {
        "policy": "SAF", "estimates": "requested", "seed": None, "average_bounded_slowdown": 1.5, "wait_h": 2.0,
        "p99_wait_h": 9.0, "max_wait_d": 1.0, "area_wait_ratio": 1.1, "wide_wait_ratio": None,
        "lost_capacity_change": 0.0104, "verdict": "trades", "typical_slowdown_ratio": 0.5, "typical_slowdown_low": 0.4,
        "typical_slowdown_high": 0.6, "typical_wait_ratio": 0.9, "typical_wait_low": None, "typical_wait_high": None,
    }  # fmt: skip
    ppo = row | {"policy": "ppo"}
    rows = [row, *({**ppo, "seed": seed} for seed in (1, 2)), {**ppo, "seed": 3, "wait_h": 2.5}]
    lines = held_out_table(pl.DataFrame(rows, infer_schema_length=None)).splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:]] == [
        "SAF, requested",
        "ppo, requested, seed 1 and 2",
        "ppo, requested, seed 3",
    ]
    assert lines[2].split("|")[2:-1] == [
        " 1.50 ", " 2.00 ", " 9.00 ", " 1.00 ", " 1.10 ", "  ", " +0.010 ", " trades ", " 0.50 [0.40, 0.60] ", " 0.90 [none] ",
    ]  # fmt: skip


def test_tables_of_agents_say_with_which_times_they_learned() -> None:
    rows = pl.DataFrame({"seed": [None, 1, 2], "estimates": ["requested", "predicted", "actual"]})
    assert of_estimates(rows) == " with actual and predicted times"
    assert of_estimates(rows.with_columns(estimates=pl.lit("requested"))) == of_estimates(rows.head(1)) == ""


def test_a_table_of_inspectors_says_with_which_settings_they_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    rows, labels = [], {"experiment": "inspector", "rules": "rlscheduler", "backfill": "none", "goal": "bsld"}
    for base, seed in (("SJF", 2), ("F1", 1), ("SJF", 1)):
        facts = labels | {"policy": f"ppo, {base}, inspect:accept", "estimates": "requested", "seed": seed}
        facts |= {"best_epoch": 3, "validation_cost": 9.0}
        card = facts | {"parameters": {"ppo": {"epochs": 25}}}
        content = policy_to_bytes(blank_network(AGENT_LAYOUTS["inspector-paper"]), card, "inspect:accept")
        file, sha256 = store_model("mine", f"{base}-{seed}", content)
        rows.append(facts | {"file": file, "sha256": sha256})
    cost = {"cost": 30.0, "difference": -1.5, "difference_low": -2.0, "difference_high": -1.0, "seeds": 3}
    compared = labels | cost | {"policy": "ppo, SJF, inspect:accept", "rival": "SJF, inspect:unfit", "windows": 100}
    compared |= {"estimates": "requested", "rival_estimates": "requested", "rival_cost": 31.5}
    warehouse = Warehouse(tmp_path / "w.duckdb")
    with warehouse.write() as connection:
        columns = [name for name, *_ in connection.execute("DESCRIBE experiments.comparisons").fetchall()]
        comparison = pl.DataFrame([compared]).select(name for name in columns if name in compared)
        replace_partition(connection, "experiments.comparisons", "mine", comparison)
        replace_partition(connection, "experiments.policies", "mine", pl.DataFrame(rows))
    ((command, table),) = warehouse_tables(warehouse).values()
    assert command.endswith(
        "tracehouse run mine --job experiments, with the own_bases F1, SJF, own_epochs 25 and the seeds 1, 2"
    )
    assert "| none | `ppo, SJF, inspect:accept` | 3 | 30.0 | -1.5 [-2.0, -1.0] |" in table


def test_the_table_of_run_times() -> None:
    row = {"median_absolute_error_s": 568.4, "mean_absolute_error_s": 4110.6, "coverage_80": 0.8012}
    gain = {"mae_gain_low_s": 1739.0, "mae_gain_high_s": 4380.0}
    scores = [row | gain | {"source": source, "predictor": name} for source in BUNDLED for name in PREDICTED]
    lines = runtimes_table(pl.DataFrame(scores)).splitlines()
    assert len(lines) == 4
    assert lines[2] == f"| lublin-256 |{' 568 (4,111) |' * 4} +1,739 to +4,380 | 80.1 % |"
