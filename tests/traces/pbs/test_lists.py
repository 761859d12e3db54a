"""Lists inside the values of a PBS record, against the rules in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from traces.pbs.lists import (
    GPUS,
    MISSING,
    MOST_LISTED_NODES,
    NCPUS,
    PPN,
    different_nodes,
    node_table,
    slots_of,
    sum_of_chunks,
    whole,
)


def bytes_of(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), dtype=np.uint8)


def span(text: str) -> np.ndarray:
    return np.array([0, len(text)], dtype=np.int64)


@pytest.mark.parametrize(
    ("text", "number"), [("0", 0), ("42", 42), ("07", 7), ("", -1), ("-1", -1), ("1x", -1), ("123", -1)]
)
def test_whole_numbers_of_up_to_two_digits(text: str, number: int) -> None:
    assert whole(bytes_of(text), 0, len(text), 2) == number


@pytest.mark.parametrize(
    ("text", "words", "default", "counted", "total"),
    [
        ("2:ncpus=4:mem=1gb+1:ncpus=8", NCPUS, 1, True, 16),
        ("2:ncpus=4+3", NCPUS, 1, True, 11),
        ("2:ppn=12+node01", PPN, 1, True, 25),
        ("(a:ncpus=2+b:ncpus=1)+(c:ncpus=4)", NCPUS, 0, False, 7),
        ("4:ncpus=2:ngpus=1", GPUS, 0, True, 4),
        ("4:gpu=2:gpus=1+1:gpus=x:gpus=3", GPUS, 0, True, 11),
        ("", NCPUS, 1, True, 0),
        ("1234567890:ncpus=1", NCPUS, 1, True, -1),
        ("1:ncpus=1234567890", NCPUS, 1, True, -1),
    ],
)
def test_sums_over_chunks(text: str, words: tuple[np.ndarray, ...], default: int, counted: bool, total: int) -> None:
    assert sum_of_chunks(bytes_of(text), span(text), words, default, counted) == total


@pytest.mark.parametrize(
    ("text", "slots"),
    [("n1/0*4", 4), ("n1/0*4+n2/0-3,7", 9), ("n1/0+n1/1", 2), ("n1", 1), ("n1/0*x", -1), ("", 1)],
)
def test_slots(text: str, slots: int) -> None:
    assert slots_of(bytes_of(text), span(text)) == slots


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("(n1:ncpus=4:mem=1kb+n2:ncpus=4)+(n1:ncpus=4)", 2),
        ("(n1[0]:ncpus=4)+(n1[1]:ncpus=4)+n1", 3),
        ("()+(:ncpus=4)", MISSING),
        ("n1/0*4+n2/0-3,7+n2/8", 2),
        ("n1/0+n1/1", 1),
        ("n1+n2+n1", 2),
        ("n12+n1/2+n2+", 3),
        ("", MISSING),
        ("+/3+", MISSING),
        ("+".join(map(str, range(MOST_LISTED_NODES))) + "+5+0", MOST_LISTED_NODES),
        ("+".join(map(str, range(MOST_LISTED_NODES + 1))), -1),
    ],
    ids=lambda value: str(value)[:30],
)
def test_different_nodes(text: str, nodes: int) -> None:
    assert different_nodes(bytes_of(text), span(text), node_table(), 1) == nodes


def test_one_table_of_nodes_serves_many_lists() -> None:
    table, rng = node_table(), np.random.default_rng(3)
    for stamp in range(1, 300):
        names = [f"r{rng.integers(30)}n{rng.integers(30)}" for _ in range(rng.integers(1, 200))]
        text = "+".join(f"{name}/{k}" for k, name in enumerate(names))
        assert different_nodes(bytes_of(text), span(text), table, stamp) == len(set(names))
