"""Tests of studies/publishing: confirmed, experiment_tables, results."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from assets.common.storage import store_model
from models.scheduling.arena import Windows
from models.scheduling.policy_file import policy_to_bytes
from papers.experiment_tables import ExperimentEntry, comparisons, costs_of
from simulator.policies.observation import AGENT_LAYOUTS, blank_network
from studies.publishing import results
from studies.publishing.confirmed import confirmed_table, counted_trainings
from studies.publishing.experiment_tables import verdicts_table
from studies.publishing.results import (
    MARK,
    PACKAGES,
    PAGES,
    PRINTED,
    TABLES_MARK,
    PublishedTable,
    csv_of,
    marked_tables,
    module_of,
    names_of_place,
    published,
    rewritten,
    store,
    stored,
    table_of_place,
    tables_of,
    tables_page,
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

# confirmed: The table of trained policies that were confirmed is counted from the stored tables.

HEADING = ["| policy | wait |", "| --- | --- |"]


def test_a_training_with_the_row_of_its_rule_was_not_confirmed() -> None:
    agents = [
        "| `FCFS, pick`, requested | 5 |",
        "| `ppo, FCFS, pick`, requested, seed 1 and 3 | 5 |",
        "| `ppo, FCFS, pick`, requested, seed 2 | 4 |",
        "| `ppo, FCFS, other`, requested, seed 2 | 1 |",
    ]
    assert counted_trainings(PublishedTable("", "", {}, HEADING + agents), "pick") == (1, 3)
    networks = ["| SAF, predicted | 5 |", "| evolution, predicted | 5 |", "| imitation, predicted, seed 2 | 6 |"]
    assert counted_trainings(PublishedTable("", "", {}, HEADING + networks), "") == (1, 4)


def test_the_stored_table_is_that_of_the_stored_tables() -> None:
    tables = stored()
    table = confirmed_table(tables)
    assert "\n".join(tables["confirmed"].lines) == table
    assert "| all | 0/54 | 2/36 | 0/36 | 2/36 | 3/36 | 0/36 |" in table


# ddppo_tables: Tables of decentralised PPO, from rows of the warehouse.

WINDOWS = Windows(np.arange(5, dtype=np.int64) * 100, 100)
COSTS = np.array([1.0, 2.0, 3.0, 4.0, 5.0])


def entries(goal: str) -> list[ExperimentEntry]:
    """A rule, PPO and DD-PPO of two logs. DD-PPO costs one less than the rule, and on the second log two less."""
    learned = [
        ExperimentEntry(f"{policy}, for {goal}", "requested", log, seed, COSTS - less)
        for policy, log, less in (("ppo", "large", 0.0), ("population", "large", 1.0), ("population", "larger", 2.0))
        for seed in (1, 2)
    ]
    return [ExperimentEntry("SAF", "requested", None, None, COSTS), *learned]


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, tuple[str, str]]:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    costs, differences = [], []
    for goal in ("bsld", "utilisation"):
        labels = {"experiment": "ddppo", "rules": "standard", "backfill": "easy", "goal": goal}
        rivals = [("SAF", "requested"), (f"ppo, for {goal}", "requested")]
        costs.append(costs_of(entries(goal), WINDOWS, labels))
        differences.append(comparisons(entries(goal), WINDOWS, labels, rivals))
    verdict: dict[str, Any] = {
        "experiment": "ddppo", "goal": "bsld", "policy": "population, large, for bsld", "seed": 1, "backfill": "easy",
        "estimates": "requested",
        "average_bounded_slowdown": 12.34, "average_wait_s": 7200.0, "p99_wait_s": 36_000.0, "max_wait_s": 86_400.0, "verdict": "trades",
    }  # fmt: skip
    with warehouse.write() as connection:
        columns = dict(
            connection.sql("SELECT column_name, column_type FROM (DESCRIBE experiments.verdicts)").fetchall()
        )
        numbers = {name: 1 for name, kind in columns.items() if name != "source" and kind in ("DOUBLE", "BIGINT")}
        replace_partition(connection, "experiments.window_costs", "mine", pl.concat(costs))
        replace_partition(connection, "experiments.comparisons", "mine", pl.concat(differences))
        texts = {name: "" for name, kind in columns.items() if name != "source" and kind == "VARCHAR"}
        tuned = verdict | {"policy": "without PBT, large, for bsld"}
        verdicts = pl.DataFrame([texts | numbers | row for row in (verdict, tuned)])
        replace_partition(connection, "experiments.verdicts", "mine", verdicts)
    return warehouse_tables(warehouse)


def test_windows_are_told_with_their_deviation(tables: dict[str, tuple[str, str]]) -> None:
    command, table = tables["ddppo, mine"]
    assert command == "tracehouse run mine --job ddppo_transfer"
    assert table.splitlines() == [
        "| policy | bounded slowdown | wait, s | turnaround, s | utilisation |",
        "| --- | --- | --- | --- | --- |",
        "| SAF | 3.0 ± 1.6 |  |  | -3.000 ± 1.581 |",
        "| our population, large | 2.0 ± 1.6 |  |  | -2.000 ± 1.581 |",
        "| our PPO, large | 3.0 ± 1.6 |  |  | -3.000 ± 1.581 |",
        "| our population, larger | 1.0 ± 1.6 |  |  | -1.000 ± 1.581 |",
    ]


def test_differences_are_paired_and_have_intervals(tables: dict[str, tuple[str, str]]) -> None:
    lines = tables["ddppo differences, mine"][1].splitlines()
    assert (
        lines[0] == "| metric | policy | seeds | minus FCFS's | minus SAF's | minus bounded key's | minus our PPO's |"
    )
    better = "-1.0 [-1.0, -1.0]"
    assert f"| bounded slowdown | our population, large | 2 |  | {better} |  | {better} |" in lines
    assert (
        "| bounded slowdown | our population, larger | 2 |  | -2.0 [-2.0, -2.0] |  |  |" in lines
    )  # it has no PPO of its own
    assert any(line.startswith("| utilisation | our population, large | 2 |  | +1.0000 [") for line in lines)


def test_logs_are_compared_and_replays_judged(tables: dict[str, tuple[str, str]]) -> None:
    assert tables["ddppo by training log"][1].splitlines() == [
        "| judged on | large | larger | larger minus large |",
        "| --- | --- | --- | --- |",
        "| mine | 2.0 | 1.0 | -1.0 [-1.0, -1.0] |",
    ]
    assert tables["ddppo verdicts, mine"][1].splitlines()[2:] == [
        "| our population, large | requested | 12.3 | 2.00 | 10.0 | 1.0 | trades |"
    ]


def test_seeds_of_a_policy_share_a_line_with_the_least_and_the_most() -> None:
    one = {
        "policy": "SAF",
        "estimates": "requested",
        "seed": None,
        "average_bounded_slowdown": 3.0,
        "wait_h": 1.5,
        "p99_wait_h": 20.0,
    }
    one |= {"max_wait_d": 9.0, "verdict": "trades"}
    learned = [
        one | {"policy": "ppo, for bsld", "seed": seed, "wait_h": wait_h, "verdict": verdict}
        for seed, wait_h, verdict in ((2, 10.0, "harms"), (1, 2.0, "harms"), (3, 1.0, "trades"))
    ]
    assert verdicts_table(pl.DataFrame([learned[0], one, *learned[1:]])).splitlines()[2:] == [
        "| our PPO, 3 seeds | requested | 3.0 | 1.00 to 10.00 | 20.0 | 9.0 | 2 harms; 1 trades |",
        "| SAF | requested | 3.0 | 1.50 | 20.0 | 9.0 | trades |",
    ]


# experiment_tables: Tables of the experiments that follow RLScheduler's paper, from rows of the warehouse.


def row(experiment: str, policy: str, cost: float, trained_on: str | None = None, **others: str) -> dict[str, object]:
    """A row of experiments.comparisons; each policy is compared with two rivals."""
    return {
        "experiment": experiment, "rules": "rlscheduler", "backfill": "none", "goal": "bsld", "policy": policy,
        "estimates": "requested", "trained_on": trained_on, "seeds": 3 if trained_on else 1, "windows": 10, "cost": cost,
        "difference": 0.0,
    } | others  # fmt: skip


ROWS = [
    row("published", "SAF", 292.881),
    row("published", "evolution", 264.2, "mine"),
    row("published", "evolution", 66.7, "mine", backfill="easy"),
    row("published", "evolution", -0.82, "mine", goal="utilisation_as_coded"),
    row("published_seen", "evolution", 243.9, "mine"),
    row("transfer", "SAF", 292.881),
    row("transfer", "UNICEP", 22_275.0),
    row("transfer", "evolution", 264.2, "mine"),
    row("transfer", "evolution", 308.9, "other"),
]


@pytest.fixture
def tables_of_experiment_tables(tmp_path: Path) -> dict[str, tuple[str, str]]:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    rivals = pl.concat([pl.DataFrame(ROWS).with_columns(rival=pl.lit(rival)) for rival in ("SAF", "FCFS")])
    curves = pl.DataFrame(
        [
            {
                "experiment": "filtering", "variant": "filtered", "seed": seed, "epoch": epoch, "phase": "all windows",
                "decisions": 1, "sampled_cost": 1.0, "validation_cost": 10.0 * seed + epoch,
            }
            for seed in (1, 2)
            for epoch in (1, 2, 3)
        ]
    )  # fmt: skip
    with warehouse.write() as connection:
        replace_partition(connection, "experiments.comparisons", "mine", rivals)
        replace_partition(connection, "experiments.curves", "mine", curves)
    return warehouse_tables(warehouse)


def test_learned_policies_of_the_published_protocol(tables_of_experiment_tables: dict[str, tuple[str, str]]) -> None:
    command, table = tables_of_experiment_tables["published, mine"]
    assert command == "tracehouse run mine --job experiments (experiments/published)"
    assert table.splitlines() == [
        "| goal | policy | learned from | seeds | none | easy |",
        "| --- | --- | --- | --- | --- | --- |",
        "| bounded slowdown (V) | SAF |  |  | 292.88 |  |",
        "| bounded slowdown (V) | evolution | other jobs | 3 | 264.20 | 66.70 |",
        "| bounded slowdown (V) | evolution | all jobs | 3 | 243.90 |  |",
        "| utilisation (VI) | evolution | other jobs | 3 | 0.820 |  |",
    ]


def test_transfer_names_the_worst_rule(tables_of_experiment_tables: dict[str, tuple[str, str]]) -> None:
    lines = tables_of_experiment_tables["transfer, evolution"][1].splitlines()
    assert lines[0] == "| judged on | mine | other | SAF | worst heuristic |"
    assert lines[2:] == ["| mine, none | 264.2 | 308.9 | 292.9 | 22275.0 (UNICEP) |"]


def test_curves_are_means_over_seeds(tables_of_experiment_tables: dict[str, tuple[str, str]]) -> None:
    lines = tables_of_experiment_tables["curves of filtering, mine"][1].splitlines()
    assert lines[0] == "| epoch | 1 | 2 |"
    assert lines[2] == "| filtered | 16.0 (11.0 to 21.0) | 17.0 (12.0 to 22.0) |"


# results: Published tables: what is stored is on the pages, digit by digit, and says what made it.

MOST_WORDS = 1200
"""Of a page of results, cells of tables counted."""
MOST_WORDS_OF_ALL = 15_000
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
    """Page and name of every table that a page takes from the results, into its text or its page of tables."""
    shown = [(page.name, mark["name"]) for page in PAGES for mark in MARK.finditer(page.read_text())]
    return shown + [
        (page.name, name)
        for page in PAGES
        for each in marked_tables(page.read_text())
        for name in names_of_place(each, stored()).values()
    ]


def test_pages_have_the_numbers_that_are_stored() -> None:
    tables = stored()
    for page in PAGES:
        text = page.read_text()
        assert rewritten(text, tables) == text, f"{page.name}: python -m studies results --pages writes its tables"
        beside = tables_page(page, tables)
        if beside:
            assert beside[0].read_text() == beside[1], f"{beside[0]}: python -m studies results --pages writes it"
            assert f"](tables/{page.name}" in text, f"{page.name} has no link to its tables"


def test_tables_of_one_kind_are_one_table() -> None:
    heading = ["| rule | wait |", "| --- | ---: |"]
    tables = {
        f"waits, {log}": PublishedTable("", "", {}, [*heading, f"| SJF | {wait} |"])
        for log, wait in (("a", "1"), ("b", "2"))
    }
    tables["waits"] = PublishedTable("", "", {}, ["| rule |", "| --- |", "| SAF |"])
    logs, rules = (table_of_place(name, tables) for name in ("waits, {log}", "waits"))
    assert logs.lines == ["| log | rule | wait |", "| --- | --- | ---: |", "| a | SJF | 1 |", "| b | SJF | 2 |"]
    assert rules.lines == ["| rule |", "| --- |", "| SAF |"]
    with pytest.raises(ValueError, match="other columns"):
        table_of_place("wait{which}", tables)
    with pytest.raises(KeyError, match="starts"):
        table_of_place("starts, {log}", tables)


def test_the_page_of_tables(tmp_path: Path) -> None:
    page = tmp_path / "waits.md"
    tables = {f"waits, {log}": PublishedTable("", "", {}, ["| wait |", "| ---: |", "| 1 |"]) for log in "ab"}
    page.write_text("# Waits: how long\n")
    assert tables_page(page, tables) is None
    page.write_text("# Waits: how long\n\n<!-- tables: waits, {log};\nwaits, a -->\n")
    beside = tables_page(page, tables)
    assert beside == (
        tmp_path / "tables" / "waits.md",
        "# Tables: Waits\n\nThe numbers behind [the page](../waits.md).\n\n## waits by log\n\n"
        "| log | wait |\n| --- | ---: |\n| a | 1 |\n| b | 1 |\n\n## waits, a\n\n| wait |\n| ---: |\n| 1 |\n",
    )


def test_a_table_that_nobody_reads_row_by_row_is_printed_by_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"| {k} | a b c d e f g h i j k |" for k in range(31)]
    tables = {"it's long, all": PublishedTable("", "", {}, ["| row | words |", "| --- | --- |", *rows])}
    page = tmp_path / "x.md"
    page.write_text("# X\n\n<!-- tables: it's long, all -->\n")
    beside = tables_page(page, tables)
    assert beside is not None and beside[1].endswith(
        """## it's long, all\n\n31 rows: `python -m studies results --csv 'it'"'"'s long, all'`\n"""
    )
    assert csv_of(tables["it's long, all"]).splitlines()[:2] == ["row,words", "0,a b c d e f g h i j k"]
    monkeypatch.setattr("sys.argv", ["results", "--csv", "searched_orders, on {cluster}"])
    results.main()
    assert capsys.readouterr().out.startswith("cluster,")
    monkeypatch.setattr("sys.argv", ["results", "--csv", "nothing"])
    with pytest.raises(SystemExit):
        results.main()
    assert "no table 'nothing' is stored" in capsys.readouterr().err


def test_pages_of_results_are_short() -> None:
    words = {page.name: len(page.read_text().split()) for page in PAGES if page.parent.name == "results"}
    assert {name: number for name, number in words.items() if number > MOST_WORDS} == {}
    assert sum(words.values()) <= MOST_WORDS_OF_ALL


def test_every_stored_table_is_on_one_page() -> None:
    names = [name for _, name in marks()]
    assert sorted(names) == sorted(stored()), "a table is on no page or on two"
    for start, mark in (("<!-- results:", MARK), ("<!-- tables:", TABLES_MARK)):
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
    assert lines[2] == f"| birch |{' 568 (4,111) |' * 4} +1,739 to +4,380 | 80.1 % |"
