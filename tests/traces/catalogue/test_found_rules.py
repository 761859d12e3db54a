"""Found rules stand at the end of a cluster's file, once, and go again."""

from __future__ import annotations

from pathlib import Path

import pytest

from traces.catalogue.found_rules import (
    BEGIN,
    adopted_text,
    found_path,
    load_found,
    rule_counts,
    with_found,
    without_found,
)
from traces.cluster.accounts import FOUND, Limit
from traces.cluster.description import ClusterDescription
from traces.cluster.nodes import Node
from traces.cluster.remarks import ConfigurationError, DescribedCluster
from traces.cluster.reservations import AdvanceReservation, Gate
from traces.cluster.toml_reading import parse_cluster_toml
from traces.cluster.toml_writing import cluster_toml, rules_toml

SEEN = ClusterDescription(
    "mine",
    (Node("n1", 4),),
    limits=(Limit("cluster", "", "running", "user", "jobs", 5, "ann", begin_s=3, end_s=9, origin=FOUND),),
    reservations=(AdvanceReservation("b", 5, 6, repeats="weekday", origin=FOUND),),
    gates=(Gate((0,), 5, 6, origin=FOUND),),
)
PLAIN = ClusterDescription("mine", SEEN.nodes, limits=(Limit("cluster", "", "running", "all", "jobs", 9),))


def test_tables_are_replaced_and_taken_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    path = tmp_path / "mine.toml"
    before = cluster_toml(DescribedCluster(PLAIN, ()))
    path.write_text(before)
    text = adopted_text(path, rules_toml(SEEN))
    described = parse_cluster_toml(text, "mine.toml").description
    assert described.limits == (*PLAIN.limits, *SEEN.limits) and described.gates == SEEN.gates
    assert described.reservations == SEEN.reservations and rule_counts(described) == (1, 3)
    assert with_found(text, rules_toml(SEEN)).count(BEGIN) == 1
    assert rule_counts(without_found(described)) == (1, 0)
    assert with_found(text, "").strip() == before.strip()
    with pytest.raises(ConfigurationError):
        adopted_text(path, "[[limits]]\nowner = 5\n")
    assert load_found("mine") is None
    found_path("mine").parent.mkdir(parents=True)
    found_path("mine").write_text(cluster_toml(DescribedCluster(SEEN, ())))
    assert load_found("mine") == SEEN
