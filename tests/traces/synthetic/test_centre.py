"""What is published of the clusters, and options that cannot be."""

from __future__ import annotations

import pytest

from traces.synthetic.centre import CENTRES, CentreOptions


def test_the_clusters_are_as_published() -> None:
    falcon, lemhi = CENTRES["falcon"], CENTRES["lemhi"]
    assert (falcon.nodes, falcon.procs, falcon.jobs) == (972, 34_992, 11_318_441)
    assert (lemhi.nodes, lemhi.procs, lemhi.jobs) == (504, 20_160, 383_845)
    assert falcon.jobs + lemhi.jobs == 11_702_286
    assert (falcon.days, lemhi.days) == (2141, 342)
    assert round(falcon.jobs / falcon.days) == 5287 and round(lemhi.jobs / lemhi.days) == 1122
    assert falcon.max_walltime_s == lemhi.max_walltime_s == 7 * 24 * 3600
    assert falcon.weeks == 306 and lemhi.weeks == 49


def test_no_number_of_jobs_means_all() -> None:
    assert CentreOptions("lemhi", 1).num_jobs == 383_845
    assert CentreOptions("lemhi", 1, 10).num_jobs == 10


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"model": "eagle"}, "model is 'eagle': choose one of falcon, lemhi"),
        ({"model": 3}, "model is 3: use a text"),
        ({"seed": -1}, "seed is -1: use a whole number from 0"),
        ({"seed": True}, "seed is True: use a whole number"),
        ({"jobs": 383_846}, "jobs is 383846: lemhi has 1 to 383845 jobs"),
        ({"jobs": -1}, "jobs is -1"),
        ({"jobs": 1.5}, "jobs is 1.5: use a whole number"),
        ({"offered_load": 0}, "offered_load is 0: use a number above 0 and up to 1"),
        ({"offered_load": 1.1}, "offered_load is 1.1"),
    ],
)
def test_what_cannot_be_generated_is_refused(options: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        CentreOptions(**{"model": "lemhi", "seed": 1} | options)  # type: ignore[arg-type]
