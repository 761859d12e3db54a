"""True and predicted effects of changes."""

from studies.planted.clusters import PlantedCluster
from studies.planted.effects import SCHEMA, effect_rows, parts_of, predictor_of
from tests.studies.planted.examples import PROCS, small_planted


def test_the_hidden_cluster_itself_predicts_without_an_error_and_a_cluster_without_its_rule_does_not() -> None:
    planted = small_planted()
    rows = effect_rows(
        planted,
        {
            name: predictor_of(cluster, planted.workload)
            for name, cluster in (("exact", planted.cluster), ("plain", PlantedCluster(PROCS)))
        },
    )
    assert dict(rows.schema) == SCHEMA
    exact, plain = (rows.filter(predictor=name) for name in ("exact", "plain"))
    assert exact["logged_s"].equals(exact["replayed_s"]) and exact["true_s"].equals(exact["predicted_s"])
    assert exact["alike"].min() == 1.0 and plain["alike"].max() < 1.0  # type: ignore[operator]
    assert set(rows["change"]) == {"20 % more nodes", "rule relaxed", "another order", "another backfilling"}
    mean = plain.filter(part="all", figure="mean", change="rule relaxed").row(0, named=True)
    assert mean["predicted_s"] == mean["replayed_s"] and mean["true_s"] < mean["logged_s"]  # it has no rule to relax


def test_parts_are_of_the_later_half() -> None:
    workload = small_planted().workload
    parts = list(parts_of(workload))
    for part in ("queue", "user class", "size"):
        assert sum(int(of.sum()) for name, _, of in parts if name == part) == int(workload.later_half.sum())


def test_a_cluster_on_which_jobs_never_start_has_no_rows() -> None:
    planted, narrow = small_planted(), PlantedCluster(PROCS, partitions=(("long", 8),))
    assert not effect_rows(planted, {"none": predictor_of(narrow, planted.workload)}).height
