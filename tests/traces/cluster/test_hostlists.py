"""Slurm's lists of names, both ways."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traces.cluster.hostlists import MOST_NAMES, HostNames, compress_names, expand_hostlist


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ""),
        ("n1", "n1"),
        ("n[1-3,7]", "n1 n2 n3 n7"),
        ("tux[0-3,12,18-20]", "tux0 tux1 tux2 tux3 tux12 tux18 tux19 tux20"),  # topology.conf(5)
        ("lx[05-07,10]", "lx05 lx06 lx07 lx10"),
        ("n[09-11,099-101]", "n09 n10 n11 n099 n100 n101"),
        ("n[9-11]", "n9 n10 n11"),
        ("r[1-2]n[1-3]", "r1n1 r1n2 r1n3 r2n1 r2n2 r2n3"),
        ("n[1-2]-ib[0,3].x", "n1-ib0.x n1-ib3.x n2-ib0.x n2-ib3.x"),
        ("login, n[2,1] ,gpu-7", "login n2 n1 gpu-7"),
        ("[3-4]", "3 4"),
        (" n[01-2] ", "n01 n02"),
    ],
)
def test_lists_are_expanded_in_their_order(text: str, names: str) -> None:
    assert expand_hostlist(text) == names.split()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n[1-3", r"unclosed bracket in 'n\[1-3': expected a closing one, as in n\[1-3,7\]"),
        ("n[1-3]]", r"a bracket is closed that was not opened in 'n\[1-3\]\]'"),
        ("n[1-[2]]", "a bracket within a bracket"),
        ("n[7-3]", r"reversed range '7-3' in 'n\[7-3\]': expected the lower number first"),
        ("n[]", r"empty range in 'n\[\]': expected numbers and ranges"),
        ("a,n[1,,2]", r"empty range in 'n\[1,,2\]'"),
        ("n[1-]", "'1-' is no range"),
        ("n[a-c]", "'a-c' is no range"),
        ("n[0-10/2]", "'0-10/2' is no range"),
        ("n[8-010]", "range '8-010' in .*: expected two numbers with as many digits"),
        ("n[1-1234567890123456789]", "'1-1234567890123456789' is no range"),
        ("n1,,n2", "a name is missing at a comma of 'n1,,n2': expected names as in n1,n2"),
        (",n1", "a name is missing at a comma"),
        ("n1, ", "a name is missing at a comma"),
        ("n1 n[2-3]", r"'n\[2-3\]' in 'n1 n\[2-3\]': expected a comma before it"),
        ("n [2-3]", r"'\[2-3\]' in 'n \[2-3\]': expected a comma before it"),
        ("n[1-9999999999]", "has more than 1,000,000 names: expected at most that many"),
        ("a[1-1000]b[1-1001]", "has more than 1,000,000 names"),
        ("a[1-600000],b[1-600000]", "has more than 1,000,000 names"),
        ("a[1-9]" * 300, r"'a\[1-9\]a.*\.\.\.' has more than"),
    ],
)
def test_faults_say_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        expand_hostlist(text)


def test_as_many_names_as_are_allowed() -> None:
    assert len(expand_hostlist(f"n[1-{MOST_NAMES}]")) == MOST_NAMES
    assert expand_hostlist("a,n[1-2]", most=3) == ["a", "n1", "n2"]
    with pytest.raises(ValueError, match="more than 2 names"):
        expand_hostlist("a,n[1-2]", most=2)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ("", ""),
        ("n7 n1 n2 n3 n1", "n[1-3,7]"),
        ("n5", "n5"),
        ("n4 n5", "n[4-5]"),
        ("n8 n9 n10 n11", "n[8-11]"),
        ("n08 n09 n10 n8 n9", "n[8-9,08-10]"),
        ("n099 n100 n9 n98", "n[9,98,099-100]"),
        ("n1-ib n2-ib n1", "n1,n[1-2]-ib"),
        ("login c3 c4 login-2", "c[3-4],login,login-2"),
        ("r1n1 r1n2 r2n1 r2n2 r10n1 r10n2", "r[1-2,10]n[1-2]"),
        ("r1n1 r1n2 r2n2", "r1n[1-2],r2n2"),
        ("x1c0b0 x1c0b1 x1c1b0 x1c1b1 x2c0b0 x2c0b1 x2c1b0 x2c1b1", "x[1-2]c[0-1]b[0-1]"),
        ("a1b1 a1b2 a2b1 a2b2 a3b5", "a[1-2]b[1-2],a3b5"),
        ("0 1 2 5", "[0-2,5]"),
        ("node12345678901234567890", "node12345678901234567890"),
    ],
)
def test_names_are_written_short(names: str, text: str) -> None:
    assert compress_names(names.split()) == text
    assert sorted(expand_hostlist(text)) == sorted(set(names.split()))


@pytest.mark.parametrize("name", ["", "n 1", "n,1", "n[1]", "n]"])
def test_names_that_no_list_can_hold(name: str) -> None:
    with pytest.raises(ValueError, match="expected no blank, comma or bracket"):
        compress_names(["n1", name])


def test_names_of_a_machine_are_written_by_place() -> None:
    names = HostNames(["n10", "n9", "login", "n1", "n11"])
    assert names.compress(np.array([4, 0, 1])) == "n[9-11]"
    assert names.compress(np.array([2, 3])) == "login,n1"
    assert names.compress(np.array([], dtype=np.int64)) == ""
    assert HostNames([]).compress(np.array([], dtype=np.int64)) == ""
    with pytest.raises(ValueError, match="'n1' comes twice"):
        HostNames(["n1", "a", "n1"])


PARTS = st.lists(
    st.one_of(st.sampled_from(["n", "r", "-", "."]), st.from_regex(r"\A0{0,2}[0-9]{1,2}\Z")), min_size=1, max_size=5
)
NAMES = st.lists(PARTS.map("".join), unique=True, max_size=60)


@settings(deadline=None)
@given(NAMES)
def test_any_names_and_back(names: list[str]) -> None:
    text = compress_names(names)
    assert sorted(expand_hostlist(text)) == sorted(names)
    assert compress_names(reversed(names)) == text


@settings(deadline=None)
@given(st.sets(st.integers(0, 120), min_size=1), st.integers(1, 3), st.sampled_from(["", "-ib", "x7"]))
def test_padded_numbers_and_back(numbers: set[int], width: int, end: str) -> None:
    """With one padding no range can be longer: two neighbours share one. Their numbers stay in their order."""
    names = [f"n{number:0{width}d}{end}" for number in sorted(numbers)]
    text = compress_names(names)
    assert expand_hostlist(text) == names
    runs = sum(number - 1 not in numbers for number in numbers)
    assert text.count(",") == runs - 1


@settings(deadline=None)
@given(st.text(alphabet="n0129[]-, ", max_size=12))
def test_any_text_is_expanded_or_refused(text: str) -> None:
    try:
        names = expand_hostlist(text, most=1000)
    except ValueError:
        return
    assert all(names) and not any(set(name) & set("[], ") for name in names)
    assert sorted(expand_hostlist(compress_names(names), most=1000)) == sorted(set(names))
