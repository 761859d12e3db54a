"""Each key of Slurm's files that is called modelled changes a replay of a tiny workload, or a list says why no replay can show it."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.replaying.own.slurm.unmodelled import unmodelled_by_slurm
from tests.assets.replaying.own.effects import check_table, places_of, replayed, write_files
from tests.assets.replaying.own.slurm.effects_of_slurm import BETWEEN, SHARED, TABLES, files_of
from traces.cluster.notes import MODELLED, NOT_MODELLED, DescribedCluster
from traces.slurm.configuration.folder import read_slurm_cluster
from traces.slurm.configuration.settings import WORD_LISTS

CASES = [(name, key) for name, table in TABLES.items() for key in table.effects]


def read(folder: Path, places: dict[str, str]) -> DescribedCluster:
    return read_slurm_cluster(write_files(folder / "files", files_of(places)), "c")


@pytest.mark.parametrize("name", TABLES)
def test_each_modelled_key_has_a_case_or_a_reason(name: str) -> None:
    check_table(TABLES[name])


def test_each_list_of_words_has_a_table() -> None:
    follows = {key for key, words in WORD_LISTS.items() if any(row.kind == MODELLED for row in words.values())}
    assert follows == TABLES.keys() & WORD_LISTS.keys()


@pytest.mark.parametrize(("name", "key"), CASES)
def test_two_values_give_two_replays(tmp_path: Path, name: str, key: str) -> None:
    table = TABLES[name]
    described = [read(tmp_path, places_of(table, key, value, BETWEEN)) for value in table.effects[key][:2]]
    one, other = (replayed(each.description, table.effects[key].jobs) for each in described)
    assert one != other


@pytest.mark.parametrize("word", SHARED)
def test_shared_cpus_are_called_not_modelled(tmp_path: Path, word: str) -> None:
    jobs = "0 600 4; 10 600 4; 20 600 4"
    alone, shared = read(tmp_path, {}), read(tmp_path, {"p": f"OverSubscribe={SHARED[word]}"})
    assert replayed(alone.description, jobs) == replayed(shared.description, jobs)
    assert [each.value for each in shared.remarks if each.kind == NOT_MODELLED] == [SHARED[word]]
    (rule,) = unmodelled_by_slurm(shared.description)
    assert rule.startswith(f"oversubscribe={SHARED[word]}: jobs ")
    one = read(tmp_path, {"p": f"OverSubscribe={word.upper()}:1"})
    assert unmodelled_by_slurm(one.description) == []
