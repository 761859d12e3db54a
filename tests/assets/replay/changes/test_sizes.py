"""Sizes and loads, as users write them."""

from __future__ import annotations

import pytest

from assets.replay.changes.sizes import parse_load, parse_nodes, parse_procs


@pytest.mark.parametrize(
    ("text", "load"), [("1.1", 1.1), ("2", 2.0), ("+10%", 1.1), ("-20 %", 0.8), (" +12.5% ", 1.125), ("1", 1.0)]
)
def test_a_load_is_a_factor_or_a_change(text: str, load: float) -> None:
    assert parse_load(text) == pytest.approx(load)


@pytest.mark.parametrize("text", ["", "x", "10%", "-1", "1e3", "+10", "%"])
def test_other_loads_are_errors(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected a factor such as 1.1, or a change such as \+10% or -20%"):
        parse_load(text)


@pytest.mark.parametrize(
    ("text", "procs"), [("300", 300), ("+10%", 282), ("-25 %", 192), ("+16", 272), (" -4 ", 252), ("+0.5%", 257)]
)
def test_processors_are_a_number_or_a_change(text: str, procs: int) -> None:
    assert parse_procs(text).of(256) == procs


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected a number such as 300"),
        ("3.5", "or a change such as"),
        ("ten", "'ten'"),
        ("99999999999999999", "at most 1,000,000,000 processors"),
        ("+99999999999999999%", "at most 1,000,000,000 processors"),
        ("-256", "nothing is left of the 256"),
    ],
)
def test_processors_that_are_none(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_procs(text).of(256)


@pytest.mark.parametrize(("text", "procs"), [("-4", 128), ("+1", 288), ("4", 128), ("-25%", 192), ("+10%", 288)])
def test_nodes_have_processors(text: str, procs: int) -> None:
    assert parse_nodes(text).of(256, node_procs=32) == procs
    assert parse_nodes(text, node_procs=32).of(256, node_procs=7) == procs  # what the user says wins


def test_nodes_of_an_unknown_size_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"nodes '-4': it is not known how many processors a node has: give procs_per_node"
    ):
        parse_nodes("-4").of(256)
    with pytest.raises(ValueError, match="nothing is left of the 256 processors"):
        parse_nodes("-8").of(256, node_procs=32)
    with pytest.raises(ValueError, match="nodes 'x': expected a number"):
        parse_nodes("x")


def test_what_the_text_alone_says() -> None:
    assert (parse_procs("300").procs, parse_procs("+4").procs) == (300, None)
    assert (parse_nodes("4", 32).procs, parse_nodes("4").procs, parse_nodes("-4", 32).procs) == (128, None, None)


def test_a_change_of_load_is_one_of_the_base() -> None:
    assert parse_load("+10%", base=2.0) == pytest.approx(2.2)
    assert parse_load("1.1", base=2.0) == pytest.approx(1.1)
