"""Remarks name file, line and effect."""

import pytest

from traces.cluster.remarks import (
    MODELLED,
    NOT_MODELLED,
    UNKNOWN_KEY,
    ConfigurationError,
    Remark,
    remarks_of,
    sources_by_place,
)

REMARKS = (
    Remark("qmgr.txt", 3, "backfill_depth", "1", MODELLED, place="scheduler.backfill_depth"),
    Remark("qmgr.txt", 9, "backfill_depth", "2", MODELLED, place="scheduler.backfill_depth"),
    Remark("sched_config", 7, "load_balancing", "true", NOT_MODELLED, "loaded nodes would get no job"),
    Remark("pbsnodes.json", 0, "colour", "", UNKNOWN_KEY),
)


def test_a_remark_is_one_line_with_its_place() -> None:
    assert str(REMARKS[2]) == "sched_config:7: load_balancing=true: loaded nodes would get no job"
    assert str(REMARKS[3]) == "pbsnodes.json: colour"
    assert remarks_of(REMARKS, NOT_MODELLED, UNKNOWN_KEY) == REMARKS[2:]


def test_the_last_line_is_the_source_of_a_value() -> None:
    assert sources_by_place(REMARKS) == {"scheduler.backfill_depth": "qmgr.txt:9"}


def test_a_kind_is_one_of_the_list() -> None:
    with pytest.raises(ValueError, match="expected a kind of modelled, not modelled, unknown"):
        Remark("f", 1, "k", "v", "odd")


def test_an_error_says_where_what_and_how() -> None:
    error = ConfigurationError("maui.cfg", 4, "a number as MAXPROC, found 'many'", "Write MAXPROC=64 or MAXPROC=64,128")
    assert str(error) == "maui.cfg:4: expected a number as MAXPROC, found 'many'. Write MAXPROC=64 or MAXPROC=64,128"
