"""Values of Slurm's configuration have units, and others are refused with file, line and what was expected."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from traces.cluster.notes import Entry
from traces.cluster.remarks import ConfigurationError
from traces.slurm.configuration import units


def entry(text: str) -> Entry:
    return Entry("slurm.conf", 7, "Key", text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 5400), ("10:30", 630), ("01:30:00", 5400), ("7-0", 604800), ("1-02:03", 93780), ("2-00:00:05", 172805)],
)
def test_times(text: str, seconds: int) -> None:
    assert units.span_s(entry(text)) == seconds
    assert units.span_s(entry("UNLIMITED")) is None and units.plain_seconds(entry("30")) == 30


def test_sizes_and_amounts() -> None:
    assert [units.mib_of(entry(text)) for text in ("64000", "64G", "1T", "2048K", "1.5G")] == [
        64000,
        65536,
        1048576,
        2,
        1536,
    ]
    text = "cpu=384,mem=800000M,node=4,gres/gpu=8,gres/gpu:a100=2,license/matlab=3,bb/datawarp=-1"
    assert units.tres_amounts(entry(text)) == {
        "cpu": 384, "mem": 800000, "nodes": 4, "gpu": 8, "gpu:a100": 2, "licence:matlab": 3, "bb/datawarp": -1,
    }  # fmt: skip
    assert units.tres_weights(entry("CPU=1.5,Mem=0.5G,GRES/gpu=-2")) == {"cpu": 1.5, "mem": 0.5 / 1024, "gpu": -2.0}
    text = "gpu:a100:4(S:0-1),gpu:v100:no_consume:2,mps:200,tape"
    assert units.gres_amounts(entry(text)) == ({"a100": 4, "v100": 2}, {"mps": 200, "tape": 1})
    assert units.gres_amounts(entry("gpu:2")) == ({"": 2}, {}) and units.words_of(" a, b,") == ("a", "b")


@pytest.mark.parametrize(
    ("reader", "text", "expected"),
    [
        (units.span_s, "soon", "a time such as 90"),
        (units.yes_or_no, "maybe", "YES or NO"),
        (units.mib_of, "much", "a size such as 64000"),
        (units.tres_amounts, "cpu", "resources such as cpu=384"),
        (units.tres_amounts, "cpu=x", "a number such as 4 or 2K"),
        (units.tres_weights, "CPU=a", "weights such as"),
        (units.gres_amounts, "gpu:a:b:2", "resources such as gpu:4"),
        (lambda e: units.slurm_setting(e, "number"), "x", "a number such as 0.5"),
    ],
)
def test_faults(reader: Callable[[Entry], object], text: str, expected: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^slurm.conf:7: expected {expected}.* as Key, found '{text}'"):
        reader(entry(text))


def test_settings_have_forms() -> None:
    values = {"text": ("CR_Core, X", "cr_core,x"), "bool": ("YES", True), "span": ("1-0", 86400), "seconds": ("30", 30)}
    values |= {"mib": ("2G", 2048), "number": (".5", 0.5), "int": ("-3", -3)}
    assert {form: units.slurm_setting(entry(text), form) for form, (text, _) in values.items()} == {
        form: value for form, (_, value) in values.items()
    }
    assert units.slurm_setting(entry("INFINITE"), "span") == -1
