"""Each key of PBS's files that is called modelled changes a replay of a tiny workload, or a list says why no replay can show it."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.replaying.own.pbs.unmodelled import unmodelled_by_pbs
from tests.assets.replaying.own.effects import Table, check_table, places_of, replayed, replayed_in_order, write_files
from tests.assets.replaying.own.pbs.effects_of_pbs import BETWEEN, LARGE_LAST, TABLES, TABLES_OF_MAUI, files_of
from traces.cluster.notes import NOT_MODELLED, DescribedCluster, KnownKey
from traces.cluster.toml_reading import parse_cluster_toml
from traces.cluster.toml_writing import cluster_toml
from traces.pbs.configuration import keys
from traces.pbs.configuration.folder import read_pbs_cluster
from traces.pbs.configuration.scheduler_files import NOT_IN_LOGS

OF_MAUI = [(name, key) for name, table in TABLES_OF_MAUI.items() for key in table.effects]
CASES = [(name, key) for name, table in TABLES.items() for key in table.effects]
WHERE = {"server": keys.SERVER_KEYS, "w": keys.QUEUE_KEYS, "sched": keys.SCHED_KEYS, "config": keys.SCHED_CONFIG_KEYS}
VALUES = {
    **dict.fromkeys(("scheduling", "enabled", "started", "eligible_time_enable", "backfill"), "False"),
    **{key: f"{key}.mem=7gb" for key in ("resources_max", "resources_min", "max_group_res", "max_group_res_soft")},
}
"""Values of keys for which 7 is none, or has no effect."""


def read(folder: Path, places: dict[str, str]) -> DescribedCluster:
    return read_pbs_cluster(write_files(folder / "files", files_of(places)), "c")


@pytest.mark.parametrize("table", [*TABLES.values(), *TABLES_OF_MAUI.values()], ids=[*TABLES, *TABLES_OF_MAUI])
def test_each_modelled_key_has_a_case_or_a_reason(table: Table) -> None:
    check_table(table)


@pytest.mark.parametrize(("name", "key"), CASES)
def test_two_values_give_two_replays(tmp_path: Path, name: str, key: str) -> None:
    table = TABLES[name]
    described = [read(tmp_path, places_of(table, key, value, BETWEEN)) for value in table.effects[key][:2]]
    one, other = (replayed(each.description, table.effects[key].jobs) for each in described)
    assert one != other


@pytest.mark.parametrize(("name", "key"), OF_MAUI)
def test_two_values_of_maui_give_two_replays(tmp_path: Path, name: str, key: str) -> None:
    table = TABLES_OF_MAUI[name]
    described = [read(tmp_path, places_of(table, key, value, BETWEEN)) for value in table.effects[key][:2]]
    assert {each.description.scheduler.name for each in described} == {"maui"}
    one, other = (replayed_in_order(each.description, table.effects[key].jobs) for each in described)
    assert one != other


def left_out(table: dict[str, KnownKey]) -> list[str]:
    return sorted(key for key, row in table.items() if row.kind == NOT_MODELLED and "." not in key)


@pytest.mark.parametrize(("place", "key"), [(place, key) for place, table in WHERE.items() for key in left_out(table)])
def test_each_key_that_is_left_out_is_named_once(tmp_path: Path, place: str, key: str) -> None:
    value = VALUES.get(key, "7")
    described = read(tmp_path, {place: value if "=" in value else f"{key}={value}"})
    stored = parse_cluster_toml(cluster_toml(described), "c.toml").description
    for cluster in (described.description, stored):
        (rule,) = unmodelled_by_pbs(cluster)
        assert rule.startswith(key)


def test_nodes_that_are_away_and_groups_are_named_once(tmp_path: Path) -> None:
    rules = unmodelled_by_pbs(read(tmp_path, {"n1": "state=down", "w": "max_run=[g:PBS_GENERIC=4]"}).description)
    assert [rule.partition("=")[0] for rule in sorted(rules)] == ["max_run", "state"]
    assert unmodelled_by_pbs(read(tmp_path, {"n1": "state=free,job-busy"}).description) == []


@pytest.mark.parametrize("word", NOT_IN_LOGS)
def test_what_no_log_has_orders_no_replay(tmp_path: Path, word: str) -> None:
    one, other = (read(tmp_path, {"config": f'job_sort_key="{word} {way}"'}) for way in ("HIGH", "LOW"))
    assert replayed(one.description, LARGE_LAST) == replayed(other.description, LARGE_LAST)
    assert [rule.partition(":")[0] for rule in unmodelled_by_pbs(one.description)] == [f"job_sort_key={word} HIGH"]
    formula = read(tmp_path, {"server": "job_sort_formula=ncpus + job_priority"}).description
    assert [rule.partition(":")[0] for rule in unmodelled_by_pbs(formula)] == ["job_sort_formula"]
